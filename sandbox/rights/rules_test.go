package rights

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// account is the manager's ServiceAccount.
const account = "homelab-autoscaler"

// roles are the manager's, as they are generated. Rules that name the webhook configurations name those of the namespace
// instead, as its webhooks are called in a house of many homes.
func roles(t *testing.T, namespace string) []rbacv1.ClusterRole {
	t.Helper()
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config/rbac/role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var found []rbacv1.ClusterRole
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := documents.Decode(&role); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		for i, rule := range role.Rules {
			if slices.Equal(rule.APIGroups, []string{"admissionregistration.k8s.io"}) {
				role.Rules[i].ResourceNames = []string{namespace}
			}
		}
		found = append(found, role)
	}
}

// admit makes the manager's ServiceAccount in a namespace, binds it to the roles, and returns its access.
func admit(t *testing.T, cp *controlplane.ControlPlane, namespace string, roles []rbacv1.ClusterRole) *rest.Config {
	t.Helper()
	ctx, admin := t.Context(), kubernetes.NewForConfigOrDie(cp.Config())
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := admin.CoreV1().ServiceAccounts(namespace).Create(ctx,
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: account}}, metav1.CreateOptions{})
	must(err)
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: account, Namespace: namespace}}
	for _, role := range roles {
		meta := metav1.ObjectMeta{Name: namespace}
		reference := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: role.Kind, Name: meta.Name}
		if role.Kind == "ClusterRole" {
			_, err = admin.RbacV1().ClusterRoles().Create(ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{})
			must(err)
			_, err = admin.RbacV1().ClusterRoleBindings().Create(ctx,
				&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: reference}, metav1.CreateOptions{})
			must(err)
			continue
		}
		_, err = admin.RbacV1().Roles(namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: role.Rules}, metav1.CreateOptions{})
		must(err)
		_, err = admin.RbacV1().RoleBindings(namespace).Create(ctx,
			&rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects, RoleRef: reference}, metav1.CreateOptions{})
		must(err)
	}
	return as(t, cp, namespace, account)
}

// as is the access of a ServiceAccount, by its token, as a pod of it has.
func as(t *testing.T, cp *controlplane.ControlPlane, namespace, name string) *rest.Config {
	t.Helper()
	admin := kubernetes.NewForConfigOrDie(cp.Config())
	token, err := admin.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reach := rest.AnonymousClientConfig(cp.Config())
	reach.BearerToken, reach.QPS = token.Status.Token, -1
	return reach
}

// The rules are least in what they name, too.
func TestNoRuleIsForEverything(t *testing.T) {
	for _, role := range roles(t, "any") {
		for _, rule := range role.Rules {
			for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs} {
				if slices.Contains(list, "*") {
					t.Errorf("%s has a wildcard: %v", role.Kind, rule)
				}
			}
			reads := slices.ContainsFunc(rule.Verbs, func(verb string) bool { return verb != "create" })
			if slices.Contains(rule.Resources, "secrets") && (role.Kind != "Role" || reads && len(rule.ResourceNames) == 0) {
				t.Errorf("%s may see Secrets that it does not name: %v", role.Kind, rule)
			}
		}
	}
}
