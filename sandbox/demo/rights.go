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

// managerUser is who the manager is to the API server, and the name of its roles.
const managerUser = "homelab-autoscaler"

// managerRights is where the manager's roles are, generated from its code.
const managerRights = "config/rbac/role.yaml"

// admit gives the manager an identity of its own with the rights that are generated for it and no others, and returns
// the path of its kubeconfig: what would be refused at home is refused here.
func (s *Sandbox) admit(ctx context.Context) (string, error) {
	if err := s.grant(ctx); err != nil {
		return "", fmt.Errorf("granting the manager its rights: %w", err)
	}
	config, err := s.plane.UserConfig(managerUser)
	if err != nil {
		return "", err
	}
	path := filepath.Join(s.Dir, "manager.kubeconfig")
	return path, s.plane.WriteKubeconfig(path, config)
}

func (s *Sandbox) grant(ctx context.Context) error {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, managerRights))
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
			return fmt.Errorf("reading %s: %w", managerRights, err)
		}
		if err := s.bind(ctx, role); err != nil {
			return err
		}
	}
}

// bind creates the role, cluster-wide or in its namespace as its kind says, and binds the manager to it.
func (s *Sandbox) bind(ctx context.Context, role *rbacv1.Role) error {
	manager := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: managerUser}}
	meta := metav1.ObjectMeta{Name: role.Name, Namespace: role.Namespace}
	reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: role.Name}
	if role.Kind == "ClusterRole" {
		return errors.Join(
			s.Client.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}),
			s.Client.Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: manager, RoleRef: reference}))
	}
	return errors.Join(
		s.Client.Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}),
		s.Client.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: manager, RoleRef: reference}))
}
