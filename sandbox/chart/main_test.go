package chart_test

import (
	"context"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// The package's control plane begins without our kinds: they come with the chart.
func TestMain(m *testing.M) { controlplane.Main(m, controlplane.Options{WithoutKinds: true}) }

// cluster is the API server, and an administrator's ways to it.
type cluster struct {
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
	objects dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{cp: controlplane.ForTest(t)}
	kinds, err := discovery.NewDiscoveryClientForConfig(c.config())
	if err == nil {
		c.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
		c.clients, err = kubernetes.NewForConfig(c.config())
	}
	if err == nil {
		c.objects, err = dynamic.NewForConfig(c.config())
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// config is an administrator's, in no hurry to be polite.
func (c *cluster) config() *rest.Config {
	config := c.cp.Config()
	config.QPS = -1
	return config
}

// of is where objects of a kind are.
func (c *cluster) of(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	kind := object.GroupVersionKind()
	mapping, err := c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		c.mapper.Reset()
		mapping, err = c.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.objects.Resource(mapping.Resource).Namespace(object.GetNamespace()), nil
	}
	return c.objects.Resource(mapping.Resource), nil
}

// apply does what kubectl apply --server-side does, and takes no unknown or doubled field.
func (c *cluster) apply(ctx context.Context, object *unstructured.Unstructured, dryRun ...string) error {
	resource, err := c.of(object)
	if err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	text, err := object.MarshalJSON()
	if err != nil {
		return err
	}
	force := true
	if _, err := resource.Patch(ctx, object.GetName(), types.ApplyPatchType, text, metav1.PatchOptions{
		FieldManager: "kubectl", Force: &force, FieldValidation: metav1.FieldValidationStrict, DryRun: dryRun,
	}); err != nil {
		return fmt.Errorf("%s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// namespace makes a namespace that stays.
func (c *cluster) namespace(t testing.TB, name string, labels map[string]string) {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("Namespace")
	object.SetName(name)
	object.SetLabels(labels)
	if err := c.apply(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}
