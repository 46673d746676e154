package slot

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

const drainedClaim = "worker-01-a"

// drain has a machine that serves one pod given back, and answers what is decided once it is cordoned.
func drain(t *testing.T, prepare func(*world, *corev1.Pod)) (*world, Decision) {
	t.Helper()
	w := newWorld(t)
	w.newClaim(drainedClaim)
	w.settle()
	w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
	w.kubelet(corev1.ConditionTrue)
	w.settle()
	w.newPod("web")
	prepare(w, w.pods[0])
	w.delete(w.claim(drainedClaim))
	w.commit(w.step())
	if !w.kubeNode.Spec.Unschedulable {
		t.Fatal("the kubeNode is not cordoned first")
	}
	return w, w.step()
}

// TestADrainEvictsWhatWouldNotComeBack holds the drain to the rules that kubectl drain has for a DaemonSet's pods, the
// kubelet's own, and such that have ended.
func TestADrainEvictsWhatWouldNotComeBack(t *testing.T) {
	controlledBy := func(kind string, controller bool) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: "web", UID: "1", Controller: &controller}}
		}
	}
	tests := map[string]struct {
		pod              func(*corev1.Pod)
		evicted, waitsOn bool
	}{
		"a pod of nobody":                         {func(*corev1.Pod) {}, true, true},
		"a ReplicaSet's pod":                      {controlledBy("ReplicaSet", true), true, true},
		"a pod that a DaemonSet does not control": {controlledBy("DaemonSet", false), true, true},
		"a DaemonSet's pod":                       {controlledBy("DaemonSet", true), false, false},
		"a pod from the kubelet's own files": {func(p *corev1.Pod) {
			p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "1"}
		}, false, false},
		"a pod that has done its work":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, false, false},
		"a pod that has failed":             {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, false, false},
		"a pod that runs":                   {func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }, true, true},
		"a pod that is going is waited for": {func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{} }, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, d := drain(t, func(_ *world, p *corev1.Pod) { test.pod(p) })
			evicted := false
			for _, action := range d.Actions {
				_, evicts := action.(Evict)
				evicted = evicted || evicts
			}
			if waitsOn := len(creates(d)) == 0; evicted != test.evicted || waitsOn != test.waitsOn {
				t.Errorf("evicted %t, waited for %t, want %t, %t", evicted, waitsOn, test.evicted, test.waitsOn)
			}
		})
	}
}

// TestADrainNamesTheBudgetThatHoldsAPodBack and no other.
func TestADrainNamesTheBudgetThatHoldsAPodBack(t *testing.T) {
	const name = "keep-two"
	tests := map[string]struct {
		budget func(*policyv1.PodDisruptionBudget)
		named  bool
	}{
		"it allows none":             {func(*policyv1.PodDisruptionBudget) {}, true},
		"it allows one":              {func(b *policyv1.PodDisruptionBudget) { b.Status.DisruptionsAllowed = 1 }, false},
		"it is of another namespace": {func(b *policyv1.PodDisruptionBudget) { b.Namespace = "other" }, false},
		"it is of other pods": {func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector.MatchLabels = map[string]string{"app": "db"}
		}, false},
		"it selects by an expression": {func(b *policyv1.PodDisruptionBudget) {
			b.Spec.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "app", Operator: metav1.LabelSelectorOpExists}}}
		}, true},
		"it selects everything": {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = &metav1.LabelSelector{} }, true},
		"it selects nothing":    {func(b *policyv1.PodDisruptionBudget) { b.Spec.Selector = nil }, false},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			_, d := drain(t, func(w *world, _ *corev1.Pod) {
				w.newBudget("web")
				w.budgets[0].Name = name
				test.budget(w.budgets[0])
			})
			drained := meta.FindStatusCondition(d.Claims[0].Status.Conditions, v2.ConditionDrained)
			if drained == nil || strings.Contains(drained.Message, name) != test.named {
				t.Errorf("the condition is %+v, to name the budget: %t", drained, test.named)
			}
		})
	}
}
