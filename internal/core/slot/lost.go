package slot

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// lost watches a ready machine that is silent. Its clock is on the claim, so that a restart of the manager does not
// restart it; a machine that comes back heals. Only the kubelet counts here.
func lost(r *run) {
	c := r.wanted()
	if c == nil || r.in.Slot == nil || r.in.NamespaceTerminating || facts.Phase(c.NodeClaim) != v2.ClaimReady {
		return
	}
	if r.kubeletOn {
		if !conditionSince(c.Status.Conditions, v2.ConditionMachineObservedOff, metav1.ConditionTrue).IsZero() {
			r.claimCondition(c, v2.ConditionMachineObservedOff, metav1.ConditionFalse, "KubeletReports", "the machine came back")
		}
		r.claimCondition(c, v2.ConditionReady, metav1.ConditionTrue, "Ready", c.Status.Message)
		return
	}
	r.claimCondition(c, v2.ConditionMachineObservedOff, metav1.ConditionTrue, "KubeletSilent",
		fmt.Sprintf("kubeNode %s is silent", r.in.Slot.Spec.KubernetesNodeName))
	r.claimCondition(c, v2.ConditionReady, metav1.ConditionFalse, "KubeletSilent", "the machine is silent")
	since := conditionSince(c.Status.Conditions, v2.ConditionMachineObservedOff, metav1.ConditionTrue)
	if r.hold.Held || !r.passed(r.unheld(since).Add(r.policy.MachineGoneAfter())) {
		return
	}
	r.machineGone(c, fmt.Sprintf("silent since %s, longer than %s", instant(since), r.policy.MachineGoneAfter()))
}

// machineGone ends a ready claim whose machine is lost. While it is silent nothing is owed and the slot is free at once.
// Where its switch says on, or only the kubeNode object was deleted, the machine may well run: then it is switched off.
func (r *run) machineGone(c *claim, why string) {
	r.d.Brake = true
	r.fail(c, v2.ReasonMachineGone, why)
	r.rely()
	switch {
	case r.reading.State == v2.PowerOn:
		r.claimCondition(c, v2.ConditionMachineObservedOff, metav1.ConditionFalse, "SwitchSaysOn", "silent, but its switch says on: switching it off")
	case r.in.KubeNode == nil:
		r.claimCondition(c, v2.ConditionMachineObservedOff, metav1.ConditionUnknown, "KubeNodeDeleted",
			"the kubeNode object was deleted, so the kubelet cannot report: switching it off")
	default:
		r.dropFinalizer(c)
	}
}
