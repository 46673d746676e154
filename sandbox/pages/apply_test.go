package pages

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

func TestMain(m *testing.M) { controlplane.Main(m) }

// TestWhatCanBeCopiedApplies applies it as kubectl does: on the server, strictly, and here without keeping it.
func TestWhatCanBeCopiedApplies(t *testing.T) {
	cp := controlplane.ForTest(t)
	c, err := client.New(cp.Config(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	namespace := cp.Namespace(t)
	for _, o := range objects(t) {
		t.Run(o.String(), func(t *testing.T) {
			copied := o.DeepCopy()
			copied.SetNamespace(namespace)
			raw, err := copied.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Patch(t.Context(), copied, client.RawPatch(types.ApplyYAMLPatchType, raw), &client.PatchOptions{
				FieldManager: "kubectl", DryRun: []string{metav1.DryRunAll},
				Raw: &metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict},
			}); err != nil {
				t.Error(err)
			}
		})
	}
}
