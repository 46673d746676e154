package webhook_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/webhook"
)

// hooks are all webhooks of both configurations: as far as these tests go, the kinds have the same fields.
func hooks(t *testing.T) []admissionv1.ValidatingWebhook {
	t.Helper()
	var all []admissionv1.ValidatingWebhook
	for document := range strings.SplitSeq(string(webhook.Configurations), "\n---\n") {
		var configuration admissionv1.ValidatingWebhookConfiguration
		if err := yaml.UnmarshalStrict([]byte(document), &configuration); err != nil {
			t.Fatal(err)
		}
		all = append(all, configuration.Webhooks...)
	}
	if len(all) < 4 {
		t.Fatalf("only %d webhooks were found", len(all))
	}
	return all
}

// A delete, the write of a status or of a finalizer passes whatever the manager thinks of the object.
func TestNothingIsAskedThatEndsAnObject(t *testing.T) {
	for _, hook := range hooks(t) {
		for _, rule := range hook.Rules {
			for _, operation := range rule.Operations {
				if operation != admissionv1.Create && operation != admissionv1.Update {
					t.Errorf("%s is asked about %s", hook.Name, operation)
				}
			}
			if slices.ContainsFunc(rule.Resources, func(r string) bool { return strings.ContainsAny(r, "/*") }) {
				t.Errorf("%s is asked about %v", hook.Name, rule.Resources)
			}
			if slices.Contains(rule.Operations, admissionv1.Update) && len(hook.MatchConditions) == 0 {
				t.Errorf("%s is asked about metadata", hook.Name)
			}
		}
	}
}

func TestNobodyIsStoppedByAManagerThatIsDown(t *testing.T) {
	for _, hook := range hooks(t) {
		if hook.FailurePolicy == nil || *hook.FailurePolicy != admissionv1.Ignore {
			t.Errorf("%s: failure policy %v", hook.Name, hook.FailurePolicy)
		}
		if hook.TimeoutSeconds == nil || *hook.TimeoutSeconds > 3 {
			t.Errorf("%s: cluster-autoscaler does not wait so long", hook.Name)
		}
		want := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: hook.ClientConfig.Service.Namespace}}
		if diff := cmp.Diff(want, hook.NamespaceSelector); diff != "" {
			t.Errorf("%s is asked about other namespaces than its manager's:\n%s", hook.Name, diff)
		}
	}
}
