package rights

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"homecluster.dev/autoscaler/sandbox/chart"
)

// role is a set of rules, cluster-wide or of a namespace.
type role struct {
	kind, name string
	rules      []rbacv1.PolicyRule
}

// boundTo are the roles that a ServiceAccount is bound to.
func boundTo(t *testing.T, clients kubernetes.Interface, namespace, account string) []role {
	t.Helper()
	var found []role
	api, ctx := clients.RbacV1(), t.Context()
	is := func(subject rbacv1.Subject) bool {
		return subject.Kind == rbacv1.ServiceAccountKind && subject.Namespace == namespace && subject.Name == account
	}
	everywhere, err := api.ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range everywhere.Items {
		if slices.ContainsFunc(binding.Subjects, is) {
			given, err := api.ClusterRoles().Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, role{"ClusterRole", given.Name, given.Rules})
		}
	}
	here, err := api.RoleBindings("").List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, binding := range here.Items {
		if slices.ContainsFunc(binding.Subjects, is) {
			given, err := api.Roles(binding.Namespace).Get(ctx, binding.RoleRef.Name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, role{"Role", given.Name, given.Rules})
		}
	}
	return found
}

// The rules are least in what they name, too.
func TestNoRuleIsForEverything(t *testing.T) {
	roles := 0
	for _, object := range chart.Render(t, map[string]any{}) {
		if kind := object.GetKind(); kind != "ClusterRole" && kind != "Role" || object.GetName() != chart.Release+"-manager" {
			continue
		}
		roles++
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatal(err)
		}
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
	if roles != 2 {
		t.Errorf("the chart has %d roles for the manager, want 2", roles)
	}
}
