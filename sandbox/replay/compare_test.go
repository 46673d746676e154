package replay

import (
	"maps"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// picture is what is compared of a world: everything but what an API server numbers by itself.
type picture struct {
	Group    bool
	Slot     *slotPicture
	Claims   map[string]claimPicture
	Jobs     map[string]jobPicture
	KubeNode *kubeNodePicture
}

// metaPicture is compared of every object of ours.
type metaPicture struct {
	Created     metav1.Time
	Generation  int64
	Deleting    bool
	Finalizers  []string
	Annotations map[string]string
}

type slotPicture struct {
	Meta   metaPicture
	Status v2.NodeStatus
}

type claimPicture struct {
	Meta   metaPicture
	Spec   v2.NodeClaimSpec
	Status v2.NodeClaimStatus
}

type jobPicture struct {
	Deleting  bool
	Operation string
	TTL       *int32
	Reading   facts.JobReading
}

type kubeNodePicture struct {
	Labels, Annotations map[string]string
	ProviderID          string
	Unschedulable       bool
	Taints              []corev1.Taint
	Ready               corev1.ConditionStatus
}

// pictureOf is the model's picture.
func pictureOf(o *model.Objects) picture {
	p := picture{Group: o.Group != nil, Claims: map[string]claimPicture{}, Jobs: map[string]jobPicture{}}
	if o.Slot != nil {
		p.Slot = &slotPicture{metaOf(o.Slot), o.Slot.Status}
	}
	for _, c := range o.Claims {
		p.Claims[c.Name] = claimPicture{metaOf(c), c.Spec, c.Status}
	}
	for _, j := range o.Jobs {
		p.Jobs[j.Name] = jobOf(j)
	}
	p.KubeNode = kubeNodeOf(o.KubeNode)
	return p
}

// picture is the API server's.
func (v *view) picture() picture {
	p := picture{Group: len(v.groups) > 0, Claims: map[string]claimPicture{}, Jobs: map[string]jobPicture{}}
	if n := named(v.slots, machine); n != nil {
		p.Slot = &slotPicture{metaOf(n), n.Status}
	}
	for i := range v.claims {
		p.Claims[v.claims[i].Name] = claimPicture{metaOf(&v.claims[i]), v.claims[i].Spec, v.claims[i].Status}
	}
	for i := range v.jobs {
		j := slot.Job{Job: &v.jobs[i]}
		if pod := named(v.pods, "pod-of-"+string(j.UID)); pod != nil {
			j.Pods = []*corev1.Pod{pod}
		}
		p.Jobs[j.Name] = jobOf(j)
	}
	p.KubeNode = kubeNodeOf(named(v.kubeNodes, machine))
	return p
}

func metaOf(object client.Object) metaPicture {
	return metaPicture{
		Created: object.GetCreationTimestamp(), Generation: object.GetGeneration(), Deleting: object.GetDeletionTimestamp() != nil,
		Finalizers: object.GetFinalizers(), Annotations: object.GetAnnotations(),
	}
}

func jobOf(j slot.Job) jobPicture {
	return jobPicture{
		Deleting: j.DeletionTimestamp != nil, Operation: j.Labels[v2.LabelOperation], TTL: j.Spec.TTLSecondsAfterFinished,
		Reading: facts.ReadJob(j.Job, j.Pods),
	}
}

func kubeNodeOf(n *corev1.Node) *kubeNodePicture {
	if n == nil {
		return nil
	}
	labels := maps.Clone(n.Labels)
	if labels[v2.LabelNamespace] != "" {
		labels[v2.LabelNamespace] = "ours" // each world has its own
	}
	p := &kubeNodePicture{
		Labels: labels, Annotations: n.Annotations, ProviderID: n.Spec.ProviderID, Unschedulable: n.Spec.Unschedulable, Taints: n.Spec.Taints,
	}
	if ready := facts.ReadyCondition(n); ready != nil {
		p.Ready = ready.Status
	}
	return p
}

// likeness is when two pictures are the same: uids are compared by whether there is one, since each world has its own.
var likeness = cmp.Options{
	cmpopts.EquateEmpty(),
	cmp.Comparer(func(a, b types.UID) bool { return (a == "") == (b == "") }),
	cmp.Comparer(func(a, b metav1.Time) bool { return a.Time.Equal(b.Time) }),
}

// compare fails the history at the first difference.
func (h *home) compare(o *model.Objects) {
	h.t.Helper()
	if diff := cmp.Diff(pictureOf(o), h.now.picture(), likeness); diff != "" {
		h.t.Fatalf("the API server's world differs (-model +API server):\n%s\n%s", diff, h.story())
	}
}

func (h *home) same(what string, got, want []string) {
	h.t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		h.t.Fatalf("the manager %s otherwise (-model +manager):\n%s\n%s", what, diff, h.story())
	}
}

// story is the history so far.
func (h *home) story() string { return strings.Join(h.lines, "\n") }
