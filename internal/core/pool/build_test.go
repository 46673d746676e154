package pool

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// noon is now in every test that does not say otherwise.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return &metav1.Time{Time: noon.Add(d)} }

func group(edits ...func(*v2.Group)) *v2.Group {
	g := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "home", Generation: 3}}
	for _, edit := range edits {
		edit(g)
	}
	return g
}

func slot(name string, edits ...func(*v2.Node)) *v2.Node {
	s := &v2.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "home", UID: types.UID("uid-" + name), Labels: map[string]string{v2.LabelGroup: "g"},
	}}
	s.Spec.KubernetesNodeName = "k-" + name
	s.Spec.NodeCapacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// claim is made a minute ago; its name is <slot>-<n> and a higher n is newer by a second.
func claim(slot string, n int, phase v2.ClaimPhase, edits ...func(*v2.NodeClaim)) *v2.NodeClaim {
	c := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: fmt.Sprintf("%s-%d", slot, n), Namespace: "home", UID: types.UID(fmt.Sprintf("uid-%s-%d", slot, n)),
		CreationTimestamp: *at(-time.Minute + time.Duration(n)*time.Second),
	}}
	c.Spec.SlotRef.Name = slot
	c.Spec.Request = v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "g", Delta: 1}
	c.Status.Phase = phase
	if phase == v2.ClaimBooting || phase == v2.ClaimReady {
		c.Finalizers = []string{v2.FinalizerNodeClaim}
	}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func of(group string) func(*v2.NodeClaim) {
	return func(c *v2.NodeClaim) { c.Spec.Request.Group = group }
}

func marked(c *v2.NodeClaim) { c.Spec.Request.Call = v2.CallDeleteNodes }

func deleted(c *v2.NodeClaim) { c.DeletionTimestamp = at(-time.Second) }

// failed is a boot that failed ten seconds ago, its reversal over.
func failed(reason v2.ClaimReason) func(*v2.NodeClaim) {
	return func(c *v2.NodeClaim) {
		c.Status.Phase, c.Status.Reason, c.Status.FinishedAt = v2.ClaimFailed, reason, at(-10*time.Second)
	}
}

func stillReversing(c *v2.NodeClaim) {
	c.Finalizers = []string{v2.FinalizerNodeClaim}
	c.Status.Conditions = []metav1.Condition{{Type: v2.ConditionMachineCommitted, Status: metav1.ConditionTrue}}
}

func suspended(s *v2.Node) { s.Spec.Suspend = true }

func kubeNode(slot string, ready corev1.ConditionStatus, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "k-" + slot},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}},
	}
}

// view assembles the objects for group g at noon.
func view(objects ...metav1.Object) View {
	from := Objects{KubeNodes: map[string]*corev1.Node{}}
	for _, object := range objects {
		switch o := object.(type) {
		case *v2.Group:
			from.Group = o
		case *v2.Node:
			from.Slots = append(from.Slots, o)
		case *v2.NodeClaim:
			from.Claims = append(from.Claims, o)
		case *corev1.Node:
			from.KubeNodes[o.Name] = o
		default:
			from.Jobs = append(from.Jobs, asJob(object))
		}
	}
	return Assemble(noon, "home", "g", policy.Default(), from)
}

func failuresOf(n int32, ago time.Duration) func(*v2.Node) {
	return func(s *v2.Node) {
		s.Status.LastClaim = &v2.ClaimDigest{
			Phase: v2.ClaimFailed, Attempt: n, Reason: v2.ReasonDeadlineExceeded, FinishedAt: at(-ago),
		}
	}
}

func price(hourly string) func(*v2.Node) {
	return func(s *v2.Node) { s.Spec.Pricing = &v2.Pricing{HourlyRate: hourly, PodRate: "0.01"} }
}
