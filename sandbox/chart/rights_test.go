package chart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// managerRules are what the chart grants the manager, by the kind of the role.
func managerRules(t *testing.T, values map[string]any) map[string][]rbacv1.PolicyRule {
	t.Helper()
	rendered, rules := chart.Render(t, values), map[string][]rbacv1.PolicyRule{}
	for _, kind := range []string{"ClusterRole", "Role"} {
		rules[kind] = typed[rbacv1.ClusterRole](t, rendered.Get(t, kind, release+"-manager")).Rules // a Role has the same fields
	}
	return rules
}

func TestTheChartGrantsWhatIsGenerated(t *testing.T) {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "config/rbac/role.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	generated := map[string][]rbacv1.PolicyRule{}
	for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var role rbacv1.ClusterRole
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
			t.Fatal(err)
		}
		generated[role.Kind] = role.Rules
	}
	if diff := cmp.Diff(generated, managerRules(t, map[string]any{})); diff != "" {
		t.Error(diff)
	}
}

// What the values switch off needs no right.
func TestTheChartGrantsNothingForWhatIsOff(t *testing.T) {
	const (
		leases  = "leases"
		secrets = "secrets"
		hooks   = "mutatingwebhookconfigurations validatingwebhookconfigurations"
		tokens  = "tokenreviews"
		reviews = "subjectaccessreviews"
	)
	own := setting{"tls.source": "secret", "tls.secret.name": "mine", "tls.secret.caBundle": someAuthority}
	for name, test := range map[string]struct {
		values setting
		off    []string
	}{
		"everything is on":                    {setting{}, nil},
		"no election":                         {setting{"controllerManager.leaderElection.enable": false}, []string{leases}},
		"no webhook":                          {setting{"webhook.enable": false}, []string{hooks}},
		"plaintext metrics":                   {setting{"metrics.insecure": true}, []string{tokens, reviews}},
		"no metrics":                          {setting{"metrics.enable": false}, []string{tokens, reviews}},
		"neither webhook nor guarded metrics": {setting{"webhook.enable": false, "metrics.insecure": true}, []string{secrets, hooks, tokens, reviews}},
		"somebody else's certificate":         {own, []string{secrets, hooks}},
		"cert-manager's certificate":          {setting{"tls.source": "certManager"}, []string{secrets, hooks}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			granted := map[string]bool{}
			for _, rules := range managerRules(t, merged(withoutCRDs, test.values)) {
				for _, rule := range rules {
					granted[strings.Join(rule.Resources, " ")] = true
				}
			}
			want := map[string]bool{leases: true, secrets: true, hooks: true, tokens: true, reviews: true}
			for _, resources := range test.off {
				want[resources] = false
			}
			for resources, on := range want {
				if granted[resources] != on {
					t.Errorf("%s: granted %v, want %v", resources, granted[resources], on)
				}
			}
		})
	}
}
