package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// managerRights and observerRights are where the roles of the two programs are, generated from their code.
const (
	managerRights  = "config/rbac/role.yaml"
	observerRights = "config/rbac/observer/role.yaml"
)

// admit gives a program an identity of its own, with the rights that are generated for it, those that are added where it is
// installed, and no others, and returns the path of its kubeconfig: what would be refused at home is refused here.
func (s *Sandbox) admit(ctx context.Context, program, rights string, added ...rbacv1.PolicyRule) (string, error) {
	if err := s.grant(ctx, program, rights, added); err != nil {
		return "", fmt.Errorf("granting %s its rights: %w", program, err)
	}
	config, err := s.plane.UserConfig(program)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, program+".kubeconfig")
	return path, s.plane.WriteKubeconfig(path, config)
}

func (s *Sandbox) grant(ctx context.Context, program, rights string, added []rbacv1.PolicyRule) error {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, rights))
	if err != nil {
		return err
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		// One of the two kinds a role file has; their fields are the same.
		role := &rbacv1.Role{}
		if err := documents.Decode(role); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("reading %s: %w", rights, err)
		}
		if role.Kind == "Role" {
			role.Rules = append(role.Rules, added...)
		}
		if err := s.bind(ctx, role, program); err != nil {
			return err
		}
	}
}

// bind creates the role, cluster-wide or in its namespace as its kind says, and binds the program to it.
func (s *Sandbox) bind(ctx context.Context, role *rbacv1.Role, program string) error {
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: program}}
	meta := metav1.ObjectMeta{Name: role.Name, Namespace: role.Namespace}
	reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}
	if role.Kind == "ClusterRole" {
		return errors.Join(
			s.Client.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}),
			s.Client.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: reference}))
	}
	return errors.Join(
		s.Client.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}),
		s.Client.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: reference}))
}
