package apitest

import (
	"os"
	"path/filepath"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// The samples, and the manifests that people of earlier versions have in Git, apply as kubectl applies them: on the
// server, and strictly.
func TestExamplesApplyUnderStrictValidation(t *testing.T) {
	cp := controlplane.ForTest(t)
	objects, err := dynamic.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	resources := map[string]string{"Group": "groups", "Node": "nodes", "NodeClaim": "nodeclaims"}
	for _, folder := range []string{"testdata", "../../config/samples"} {
		namespace := cp.Namespace(t) // both have a worker-01
		files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil || len(files) < 3 {
			t.Fatalf("%s has %d manifests: %v", folder, len(files), err)
		}
		for _, file := range files {
			t.Run(filepath.Base(folder)+" "+filepath.Base(file), func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				var object unstructured.Unstructured
				if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
					t.Fatal(err)
				}
				object.SetNamespace(namespace)
				raw, err := object.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				resource := v2.GroupVersion.WithResource(resources[object.GetKind()])
				if _, err := objects.Resource(resource).Namespace(namespace).Patch(t.Context(), object.GetName(), types.ApplyYAMLPatchType,
					raw, metav1.PatchOptions{FieldManager: "kubectl", FieldValidation: metav1.FieldValidationStrict}); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
