package admission_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// kubectl apply -f config/samples takes the files by name; each must find what it needs.
func TestEverySampleAppliesTenSecondsAfterTheStart(t *testing.T) {
	h := newHome(t)
	begun := time.Now()
	h.manage(h.address)
	h.asked()
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s until the webhook answered", took)
	}
	files, err := filepath.Glob("../../config/samples/*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("%d samples: %v", len(files), err)
	}
	strict := client.WithFieldValidation(h.client, metav1.FieldValidationStrict)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(text, &object.Object); err != nil {
			t.Fatal(err)
		}
		object.SetNamespace(h.namespace)
		if err := strict.Create(t.Context(), object, client.FieldOwner("kubectl-client-side-apply")); err != nil {
			t.Errorf("%s: %v", filepath.Base(file), err)
		}
		if told := h.warnings.take(); len(told) > 0 {
			t.Errorf("%s: warned of %q", filepath.Base(file), told)
		}
		if deadline, _, _ := unstructured.NestedString(object.Object, "spec", "deadlineAt"); object.GetKind() == "NodeClaim" && deadline == "" {
			t.Errorf("%s: nobody completed it", filepath.Base(file))
		}
	}
}
