package gitops_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/hack/docs"
)

// object is the page's YAML block of a kind.
func object[T any](t *testing.T, kind string) T {
	t.Helper()
	page, err := docs.Read("../../docs/gitops.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range page.Blocks {
		if block.Language() == "yaml" && strings.Contains(block.Text, "\nkind: "+kind+"\n") {
			var read T
			if err := yaml.UnmarshalStrict([]byte(block.Text), &read); err != nil {
				t.Fatalf("%s:%d: %v", page.File, block.Line, err)
			}
			return read
		}
	}
	t.Fatalf("%s shows no %s", page.File, kind)
	panic("unreachable")
}

// shown is one object's health by both tools. Flux has no word for what is suspended.
type shown struct{ argo, flux string }

// agree are the words of both that mean the same.
var agree = map[string]string{"Healthy": "Current", "Suspended": "Current", "Progressing": "InProgress", "Degraded": "Failed"}
