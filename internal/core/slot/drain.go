package slot

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// drainRetry is how long to wait before an eviction that a budget refused is tried again.
const drainRetry = 10 * time.Second

const reasonDrainTimeout = "DrainTimeout"

// drained evicts the pods of a machine that is on and served, and reports whether the shutdown may go on: nothing is
// left to evict, or the time for it is over. A silent machine is not drained: nobody there would hear it.
func (r *run) drained(v *reversal) bool {
	if !v.drains || !r.kubeletOn {
		r.notDrained(v)
		return true
	}
	left := r.podsToDrain()
	if len(left) == 0 {
		r.drainCondition(v, metav1.ConditionTrue, "Drained", "no pods are left to evict")
		return true
	}
	if r.passed(r.drainStart(v).Add(r.policy.Drain)) {
		v.left = fmt.Sprintf("gave up draining after %s with pods left: %s", r.policy.Drain, r.describeLeft(left))
		r.drainCondition(v, metav1.ConditionFalse, reasonDrainTimeout, v.left)
		return true
	}
	r.draining(v, left)
	if v.claim == nil && v.drainSince.IsZero() {
		r.slot.Unclaimed.DrainingSince = &r.now // a claim's condition Drained says it
	}
	for _, pod := range left {
		if pod.DeletionTimestamp == nil {
			r.act(Evict{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID})
		}
	}
	r.wake(r.in.Now.Add(drainRetry))
	return false
}

// notDrained says why a machine is not drained, unless there is already something to say of its drain.
func (r *run) notDrained(v *reversal) {
	if v.claim == nil || conditionReason(v.claim.Status.Conditions, v2.ConditionDrained) != "" {
		return
	}
	why := "the machine is silent: nobody there would hear an eviction"
	if !facts.ReachedReady(v.claim.NodeClaim) {
		why = "the machine never was ready, so it had no pods to lose"
	}
	r.drainCondition(v, metav1.ConditionUnknown, "NotDrained", why)
}

// draining shows what is left, and tells once when a budget holds pods back: nobody but its owner can let them go.
func (r *run) draining(v *reversal, left []*corev1.Pod) {
	reason, message := "Draining", "evicting "+r.describeLeft(left)
	if !slices.ContainsFunc(left, func(pod *corev1.Pod) bool { return r.blockedBy(pod) != "" }) {
		r.drainCondition(v, metav1.ConditionFalse, reason, message)
		return
	}
	reason = "HeldBack"
	if v.claim != nil && conditionReason(v.claim.Status.Conditions, v2.ConditionDrained) != reason {
		r.noteSlot(v.claim, true, v2.EventScaleDownDeferred, fmt.Sprintf("%s; the machine goes down without them %s",
			message, instant(r.drainStart(v).Add(r.policy.Drain))))
	}
	r.drainCondition(v, metav1.ConditionFalse, reason, message)
}

// drainStart is from when the time for the drain counts.
func (r *run) drainStart(v *reversal) time.Time {
	if v.drainSince.IsZero() {
		return r.in.Now
	}
	return r.unheld(v.drainSince)
}

func (r *run) drainCondition(v *reversal, status metav1.ConditionStatus, reason, message string) {
	if v.claim != nil {
		r.claimCondition(v.claim, v2.ConditionDrained, status, reason, message)
	}
}

// podsToDrain are the pods that a drain evicts, in a fixed order: not those that a DaemonSet or the kubelet itself would
// bring back, and not those that have ended.
func (r *run) podsToDrain() []*corev1.Pod {
	var left []*corev1.Pod
	for _, pod := range r.in.Pods {
		_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
		owner := metav1.GetControllerOf(pod)
		daemon := owner != nil && owner.Kind == "DaemonSet"
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if !mirror && !daemon && !ended {
			left = append(left, pod)
		}
	}
	slices.SortFunc(left, func(a, b *corev1.Pod) int {
		return strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name)
	})
	return left
}

// describeLeft names the pods left, at most a few, and the budgets that allow no eviction.
func (r *run) describeLeft(left []*corev1.Pod) string {
	const most = 5
	var words []string
	for _, pod := range left[:min(most, len(left))] {
		word := pod.Namespace + "/" + pod.Name
		if budget := r.blockedBy(pod); budget != "" {
			word += " (held back by PodDisruptionBudget " + budget + ")"
		}
		words = append(words, word)
	}
	if more := len(left) - most; more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return strings.Join(words, ", ")
}

// blockedBy names the PodDisruptionBudget that allows no disruption of the pod now.
func (r *run) blockedBy(pod *corev1.Pod) string {
	for _, budget := range r.in.Budgets {
		if budget.Namespace != pod.Namespace || budget.Status.DisruptionsAllowed > 0 {
			continue
		}
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err == nil && selector.Matches(labels.Set(pod.Labels)) {
			return budget.Name
		}
	}
	return ""
}
