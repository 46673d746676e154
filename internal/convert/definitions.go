package convert

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
)

// MergedDefinitions are the CustomResourceDefinitions of Node and Group with v1alpha1 served beside v2alpha1, and v2alpha1
// stored. Between the two nothing is converted but the version: an object is what its schema lets it be.
func MergedDefinitions() (string, error) {
	var out strings.Builder
	for _, plural := range []string{"groups", "nodes"} {
		name := "infra.homecluster.dev_" + plural + ".yaml"
		text, err := crd.Bases.ReadFile("bases/" + name)
		if err != nil {
			return "", fmt.Errorf("reading our CustomResourceDefinitions: %w", err)
		}
		var definition map[string]any
		if err := yaml.Unmarshal(text, &definition); err != nil {
			return "", fmt.Errorf("reading %s: %w", name, err)
		}
		spec, _ := definition["spec"].(map[string]any)
		versions, _ := spec["versions"].([]any)
		spec["versions"] = append(versions, map[string]any{
			"name": "v1alpha1", "served": true, "storage": false, "deprecated": true,
			"deprecationWarning": "infra.homecluster.dev/v1alpha1 is served for the upgrade to 0.2 only: delete this object",
			"schema":             map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
			"subresources":       map[string]any{"status": map[string]any{}},
		})
		if text, err = yaml.Marshal(definition); err != nil {
			return "", fmt.Errorf("writing %s: %w", name, err)
		}
		out.WriteString("---\n" + string(text))
	}
	return out.String(), nil
}
