package slot

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func (r *run) claimCondition(c *claim, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&c.Status.Conditions, metav1.Condition{
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
		r.slotCondition(kind, metav1.ConditionFalse, otherwise, otherwiseSentence(kind))
	}
}

// otherwiseSentence says of a condition that no longer holds what that means.
func otherwiseSentence(kind string) string {
	return map[string]string{
		v2.ConditionHeld:                  "nobody holds the slot",
		v2.ConditionProtected:             "nothing is to be done to the machine that it had to be kept from",
		v2.ConditionGroupMissing:          "the group exists",
		v2.ConditionGroupChangePending:    "the slot's label and its claim name one group",
		v2.ConditionCoolingOff:            "the slot may be offered again",
		v2.ConditionNodeReadinessTaints:   "the kubeNode carries no readiness taint of the group",
		v2.ConditionProviderIDMismatch:    "the kubeNode carries the providerID that the slot declares",
		v2.ConditionCapacityDrift:         "the machine allocates what the slot declares",
		v2.ConditionMarkedForDeletionByCA: "the kubeNode carries no mark of a scale-down",
		v2.ConditionPowerConflict:         "the kubelet and the machine's switch agree",
		v2.ConditionUnclaimedMachine:      "the machine is wanted by a claim, or is not on",
	}[kind]
}

// conditionReason is the reason of a condition, or empty when it is not there.
func conditionReason(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Reason
	}
	return ""
}

// conditionMessage is what a condition says, or empty when it is not there.
func conditionMessage(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}

// registered is whether the claim's boot was seen to register: its kubelet reported after the boot committed.
func registered(c *claim) bool {
	return meta.IsStatusConditionTrue(c.Status.Conditions, v2.ConditionRegistered)
}
