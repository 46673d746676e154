package gitops_test

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) { house.Main(m, 1) }

// What Argo CD writes onto what it applies, and by which it knows what to prune.
const (
	trackingLabel      = "app.kubernetes.io/instance"
	trackingAnnotation = "argocd.argoproj.io/tracking-id"
)

// TestGitFindsNothingToChangeInAMachinesLife applies a group and a slot as a GitOps tool does, and applies them again at
// every stage of the machine's life: nothing may differ. What the operator makes must not look as if it came from Git.
func TestGitFindsNothingToChangeInAMachinesLife(t *testing.T) {
	h := git{Home: house.New(t).Home(t, house.Options{})}
	h.manifests = []*unstructured.Unstructured{h.manifest("Group", house.Pool), h.manifest("Node", h.Machine)}
	h.sync()
	h.Manage(h.ControlPlane.Config())
	h.Eventually("the slot being looked at", func(ctx context.Context) string {
		if slot, err := h.Slot(ctx); err != nil || slot.Status.Phase == "" {
			return "not yet"
		}
		return ""
	})
	h.findsNothing("before its first claim")
	h.Ask("by-hand", 0)
	h.Await(machineroom.PoweredOn)
	h.findsNothing("while it boots")
	h.Eventually("the claim being ready", func(ctx context.Context) string {
		if claim, err := h.Claim(ctx, "by-hand"); err != nil || claim == nil || claim.Status.Phase != v2.ClaimReady {
			return "it is not"
		}
		return ""
	})
	h.findsNothing("while it serves")
	h.nothingLooksApplied()
	h.TakeBack("by-hand")
	h.Await(machineroom.PoweredOff)
	h.Eventually("the slot resting", func(ctx context.Context) string {
		if slot, err := h.Slot(ctx); err != nil || slot.Status.Phase != v2.SlotOff {
			return "it does not"
		}
		return ""
	})
	h.findsNothing("after its life")
}

// git is a home whose group and slot come from Git.
type git struct {
	*house.Home
	manifests []*unstructured.Unstructured
}

// manifest is an object as it would stand in Git: what the API server filled in is left out.
func (g git) manifest(kind, name string) *unstructured.Unstructured {
	g.T.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(v2.GroupVersion.WithKind(kind))
	if err := g.Client.Get(g.T.Context(), client.ObjectKey{Namespace: g.Namespace, Name: name}, object); err != nil {
		g.T.Fatal(err)
	}
	written := &unstructured.Unstructured{Object: map[string]any{"spec": object.Object["spec"]}}
	written.SetGroupVersionKind(object.GroupVersionKind())
	written.SetNamespace(g.Namespace)
	written.SetName(name)
	labels := map[string]string{trackingLabel: "machines"}
	maps.Copy(labels, object.GetLabels())
	written.SetLabels(labels)
	written.SetAnnotations(map[string]string{trackingAnnotation: "machines:" + kind + "/" + name})
	return written
}

func (g git) apply(manifest *unstructured.Unstructured, how ...client.ApplyOption) *unstructured.Unstructured {
	g.T.Helper()
	object := manifest.DeepCopy()
	how = append(how, client.FieldOwner("argocd-controller"), client.ForceOwnership)
	if err := g.Client.Apply(g.T.Context(), client.ApplyConfigurationFromUnstructured(object), how...); err != nil {
		g.T.Fatal(err)
	}
	return object
}

func (g git) sync() {
	g.T.Helper()
	for _, manifest := range g.manifests {
		g.apply(manifest)
	}
}

// findsNothing compares each object with what it would be after another sync.
func (g git) findsNothing(when string) {
	g.T.Helper()
	for _, manifest := range g.manifests {
		would := g.apply(manifest, client.DryRunAll)
		is := &unstructured.Unstructured{}
		is.SetGroupVersionKind(manifest.GroupVersionKind())
		if err := g.Client.Get(g.T.Context(), client.ObjectKeyFromObject(manifest), is); err != nil {
			g.T.Fatal(err)
		}
		for _, fields := range []func(*unstructured.Unstructured) any{
			func(o *unstructured.Unstructured) any { return o.Object["spec"] },
			func(o *unstructured.Unstructured) any { return o.GetLabels() },
			func(o *unstructured.Unstructured) any { return o.GetAnnotations() },
			func(o *unstructured.Unstructured) any { return o.GetGeneration() },
		} {
			if diff := cmp.Diff(fields(is), fields(would)); diff != "" {
				g.T.Errorf("%s, Git would change %s %s (-is +would be):\n%s", when, is.GetKind(), is.GetName(), diff)
			}
		}
	}
}

// nothingLooksApplied: what the operator made has an owner and none of the marks by which a tool prunes.
func (g git) nothingLooksApplied() {
	g.T.Helper()
	var claims v2.NodeClaimList
	var jobs batchv1.JobList
	var kubeNode corev1.Node
	for _, list := range []client.ObjectList{&claims, &jobs} {
		if err := g.Client.List(g.T.Context(), list, client.InNamespace(g.Namespace)); err != nil {
			g.T.Fatal(err)
		}
	}
	if err := g.Client.Get(g.T.Context(), client.ObjectKey{Name: g.Machine}, &kubeNode); err != nil {
		g.T.Fatal(err)
	}
	made := []client.Object{&kubeNode}
	for i := range claims.Items {
		made = append(made, &claims.Items[i])
	}
	for i := range jobs.Items {
		made = append(made, &jobs.Items[i])
	}
	if len(made) < 3 {
		g.T.Errorf("only %d objects were made", len(made))
	}
	for _, object := range made {
		if object.GetLabels()[trackingLabel] == "machines" || object.GetAnnotations()[trackingAnnotation] != "" {
			g.T.Errorf("%T %s carries the marks of its slot", object, object.GetName())
		}
		if object != client.Object(&kubeNode) && metav1.GetControllerOf(object) == nil {
			g.T.Errorf("%T %s has no owner", object, object.GetName())
		}
	}
}
