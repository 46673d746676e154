package gitops_test

import (
	"slices"
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
	var read T
	i := slices.IndexFunc(page.Blocks, func(b docs.Block) bool {
		return b.Language() == "yaml" && strings.Contains(b.Text, "\nkind: "+kind+"\n")
	})
	if i < 0 {
		t.Fatalf("%s shows no %s", page.File, kind)
	}
	if err := yaml.UnmarshalStrict([]byte(page.Blocks[i].Text), &read); err != nil {
		t.Fatalf("%s:%d: %v", page.File, page.Blocks[i].Line, err)
	}
	return read
}

// shown is one object's health by both tools. Flux has no word for what is suspended.
type shown struct{ argo, flux string }

// agree are the words of both that mean the same.
var agree = map[string]string{"Healthy": "Current", "Suspended": "Current", "Progressing": "InProgress", "Degraded": "Failed"}
