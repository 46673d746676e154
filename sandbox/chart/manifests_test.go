package chart_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	runtimeschema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"

	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

var definitions = runtimeschema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// Whoever does without Helm applies the same: the plain manifests are the chart's, with their namespace.
func TestPlainManifestsAreTheChartAndApply(t *testing.T) {
	c := newCluster(t)
	c.cp.ResetAfter(t)
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "install.yaml")
	if out, err := exec.CommandContext(t.Context(), filepath.Join(root, "hack/manifests"), path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plain := chart.Parse(t, string(text))
	if first := plain[0]; first.GetKind() != "Namespace" || first.GetName() != namespace {
		t.Fatalf("the first object is %s %s", first.GetKind(), first.GetName())
	}
	rendered := chart.Render(t, map[string]any{}, "--no-hooks")
	if len(plain) != len(rendered)+1 {
		t.Fatalf("%d plain manifests, the chart has %d", len(plain)-1, len(rendered))
	}
	for i, object := range plain[1:] {
		want := rendered[i].DeepCopy().Object
		got := object.DeepCopy().Object
		if object.GetKind() == "Secret" { // keys are made anew every time
			delete(want, "data")
			delete(got, "data")
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s:\n%s", object.GetKind(), object.GetName(), diff)
		}
	}
	t.Cleanup(func() { c.dropDefinitions(t) })
	for _, object := range plain {
		if err := c.apply(t.Context(), object); err != nil {
			t.Error(err)
		}
	}
}

// dropDefinitions removes the definitions, which a release that is installed later wants to make itself.
func (c *cluster) dropDefinitions(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	for _, plural := range []string{"groups", "nodes", "nodeclaims"} {
		resource, name := c.objects.Resource(definitions), plural+".infra.homecluster.dev"
		if err := resource.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) {
			_, err := resource.Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		}); err != nil {
			t.Errorf("%s does not go: %v", name, err)
		}
	}
}
