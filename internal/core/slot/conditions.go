package slot

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func (r *run) claimCondition(c *claim, kind string, status metav1.ConditionStatus, reason, message string) bool {
	return meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: c.Generation, LastTransitionTime: r.now,
	})
}

func (r *run) slotCondition(kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&r.slot.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message,
		ObservedGeneration: r.in.Slot.Generation, LastTransitionTime: r.now,
	})
}

// slotReport sets a condition that is worth showing only once it has been true: absent means never.
func (r *run) slotReport(kind string, holds bool, reason, message, otherwise string) {
	switch {
	case holds:
		r.slotCondition(kind, metav1.ConditionTrue, reason, message)
	case meta.FindStatusCondition(r.slot.Conditions, kind) != nil:
		r.slotCondition(kind, metav1.ConditionFalse, otherwise, "")
	}
}

// conditionReason is the reason of a condition, or empty when it is not there.
func conditionReason(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// registered is whether the claim's boot was seen to register: its kubelet reported after the boot committed.
func registered(c *claim) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v2.ConditionRegistered)
}
