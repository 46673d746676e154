package controlplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"homecluster.dev/autoscaler/config/admission"
)

// InstallPolicies installs or updates the project's ValidatingAdmissionPolicies with their bindings. The API server
// enforces them some moments later.
func (cp *ControlPlane) InstallPolicies(ctx context.Context) error {
	objects, err := dynamic.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	files, err := fs.Glob(admission.Policies, "*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := admission.Policies.ReadFile(file)
		if err != nil {
			return err
		}
		if err := applyAll(ctx, objects, text); err != nil {
			return fmt.Errorf("installing %s: %w", file, err)
		}
	}
	return nil
}

// applyAll applies every document of a file.
func applyAll(ctx context.Context, objects dynamic.Interface, text []byte) error {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for {
		var object unstructured.Unstructured
		if err := documents.Decode(&object.Object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		resource, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
		if _, err := objects.Resource(resource).Apply(ctx, object.GetName(), &object,
			metav1.ApplyOptions{FieldManager: fieldManager, Force: true}); err != nil {
			return fmt.Errorf("applying %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
}
