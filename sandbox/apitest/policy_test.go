package apitest

import (
	"bytes"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/config/admission"
)

// claimPolicy is the policy on claims.
func claimPolicy(t *testing.T) admissionregistrationv1.ValidatingAdmissionPolicySpec {
	t.Helper()
	text, err := admission.Policies.ReadFile("claims.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy admissionregistrationv1.ValidatingAdmissionPolicy
	if err := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096).Decode(&policy); err != nil {
		t.Fatal(err)
	}
	return policy.Spec
}

func TestAClaimMustNotSayTwoThings(t *testing.T) {
	c, namespace := server(t)
	enforced(t, c, namespace, true)
	tests := map[string]struct{ path, value, want string }{
		"the label of another slot": {"metadata.labels", "{infra.homecluster.dev/node: worker-02}",
			"metadata.labels[infra.homecluster.dev/node] is 'worker-02' and spec.slotRef.name is 'worker-01': give both the slot's name, or leave the label out"},
		"the label of another group": {"metadata.labels", "{group: others}",
			"metadata.labels[group] is 'others' and spec.request.group is 'pool': give both the Group's name, or leave the label out"},
		"a slot of another namespace": {"spec.slotRef.namespace", "others",
			"spec.slotRef.namespace is 'others': a claim asks for a slot of its own namespace, " + namespace + "; leave the field out"},
	}
	judged := map[string]bool{}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			subject, _, _ := strings.Cut(tt.want, " ")
			judged[subject] = true
			good := parse(t, smallest["NodeClaim"])
			good.SetNamespace(namespace)
			good.SetName("claim-" + strings.ReplaceAll(name[len(name)-9:], " ", ""))
			bad := func(object *unstructured.Unstructured) *unstructured.Unstructured {
				return &unstructured.Unstructured{Object: put(object.Object, path(tt.path), parsed(t, tt.value)).(map[string]any)}
			}
			verdict(t, c.Create(t.Context(), bad(good), client.DryRunAll), tt.want)
			if err := c.Create(t.Context(), good); err != nil {
				t.Fatal(err)
			}
			verdict(t, c.Update(t.Context(), bad(good)), tt.want)
		})
	}
	for _, validation := range claimPolicy(t).Validations {
		if subject, _, _ := strings.Cut(validation.Message, " "); !judged[subject] {
			t.Errorf("no case breaks %q", validation.Message)
		}
	}
}

// A claim whose labels are wrong since before is not held to them: TestWhatEarlierSchemasTookCanStillEnd lets it end. It may
// also be mended, and a right one be relabelled.
func TestAClaimsOtherLabelsAreFree(t *testing.T) {
	c, namespace := server(t)
	enforced(t, c, namespace, true)
	claim := parse(t, smallest["NodeClaim"])
	claim.SetNamespace(namespace)
	if err := c.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	for _, labels := range []string{
		`{"group": "pool"}`, `{"infra.homecluster.dev/node": "worker-01"}`, `{"app": "x"}`, `{"group": null}`, `{"infra.homecluster.dev/node": ""}`,
	} {
		text := `{"metadata": {"labels": ` + labels + `}}`
		if err := c.Patch(t.Context(), claim.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text))); err != nil {
			t.Errorf("the labels %s: %v", labels, err)
		}
	}
}
