package slot

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

func (r *run) reportConditions() {
	r.reportGroup()
	r.reportCoolOff()
	r.reportKubeNode()
	r.reportScaleDownTaint()
	r.reportPowerConflict()
	r.slotReport(v2.ConditionProtected, r.in.Protected != "" && r.slot.Unclaimed != nil, "Protected", r.in.Protected, "NotConcerned")
}

func (r *run) reportGroup() {
	label := r.in.Slot.Labels[v2.LabelGroup]
	r.slotReport(v2.ConditionGroupMissing, r.in.Group == nil, "GroupMissing",
		fmt.Sprintf("group %q does not exist; the machine is left as it is", facts.GroupOf(r.in.Slot, r.in.Claims)), "GroupExists")
	owner := r.owner()
	pending := owner != nil && owner.Spec.Request.Group != label
	message := ""
	if pending {
		message = fmt.Sprintf("the label says %q; claim %s keeps the machine in %q until it ends", label, owner.Name, owner.Spec.Request.Group)
	}
	r.slotReport(v2.ConditionGroupChangePending, pending, "ClaimOfAnotherGroup", message, "GroupAgrees")
}

func (r *run) reportCoolOff() {
	until := facts.CoolingOffUntil(r.slot.LastClaim, r.policy, r.in.Now)
	message := ""
	if !until.IsZero() {
		r.wake(until)
		message = fmt.Sprintf("%d boots in a row failed, the last with %s; not offered until %s; to offer it now, patch its status.lastClaim.attempt to 0",
			r.slot.LastClaim.Attempt, r.slot.LastClaim.Reason, instant(until))
		if !meta.IsStatusConditionTrue(r.slot.Conditions, v2.ConditionCoolingOff) {
			r.noteSlot(nil, true, v2.EventCoolingOff, message)
		}
	}
	r.slotReport(v2.ConditionCoolingOff, !until.IsZero(), "BootsFailing", message, "Offerable")
}

// reportKubeNode compares the kubeNode with what the slot declares. It keeps its last word while the kubelet is silent.
func (r *run) reportKubeNode() {
	if !r.kubeletOn {
		return
	}
	taints := facts.GateTaints(r.in.KubeNode, r.policy)
	names := make([]string, 0, len(taints))
	for _, taint := range taints {
		names = append(names, taint.ToString())
	}
	r.slotReport(v2.ConditionNodeReadinessTaints, len(taints) > 0, "TaintsPresent", strings.Join(names, ", "), "Clear")

	carried, declared := r.in.KubeNode.Spec.ProviderID, facts.DeclaredProviderID(r.in.Slot)
	r.reportDrift(v2.ConditionProviderIDMismatch, v2.EventProviderIDMismatch, carried != "" && carried != declared, "OtherProviderID",
		fmt.Sprintf("kubeNode carries providerID %q, the slot declares %q; the kubeNode's counts", carried, declared), "Agrees")
	drift := r.capacityDrift()
	r.reportDrift(v2.ConditionCapacityDrift, v2.EventCapacityDrift, drift != "", "LessThanDeclared", drift, "Agrees")
}

// reportDrift sets a condition and says so once, when it becomes true.
func (r *run) reportDrift(kind, event string, holds bool, reason, message, otherwise string) {
	if holds && !meta.IsStatusConditionTrue(r.slot.Conditions, kind) {
		r.noteSlot(r.owner(), true, event, message)
	}
	r.slotReport(kind, holds, reason, message, otherwise)
}

// capacityDrift names the declared resources of which the machine allocates less: pods that fit the template would not
// fit the machine.
func (r *run) capacityDrift() string {
	var drifts []string
	for name, declared := range r.in.Slot.Spec.NodeCapacity {
		if has := r.in.KubeNode.Status.Allocatable[name]; has.Cmp(declared) < 0 {
			drifts = append(drifts, fmt.Sprintf("%s: declared %s, allocatable %s", name, declared.String(), has.String()))
		}
	}
	slices.Sort(drifts)
	return strings.Join(drifts, "; ")
}

// reportScaleDownTaint shows cluster-autoscaler's mark, and says once when it stands on a ready, wanted machine for so
// long that nobody will act on it.
func (r *run) reportScaleDownTaint() {
	marked := r.in.KubeNode != nil && hasTaint(r.in.KubeNode, facts.TaintToBeDeleted)
	if marked && conditionReason(r.slot.Conditions, v2.ConditionMarkedForDeletionByCA) == reasonStale {
		return // said once, and it keeps its message
	}
	r.slotReport(v2.ConditionMarkedForDeletionByCA, marked, "Marked", "kubeNode carries "+facts.TaintToBeDeleted, "NotMarked")
	c := r.wanted()
	if !marked || c == nil || c.Status.Phase != v2.ClaimReady {
		return
	}
	since := conditionSince(r.slot.Conditions, v2.ConditionMarkedForDeletionByCA, metav1.ConditionTrue)
	if r.passed(since.Add(r.policy.StaleTaint)) {
		message := fmt.Sprintf("kubeNode carries %s since %s, but no DeleteNodes came", facts.TaintToBeDeleted, instant(since))
		r.slotCondition(v2.ConditionMarkedForDeletionByCA, metav1.ConditionTrue, reasonStale, message)
		r.noteSlot(c, true, v2.EventStaleScaleDownTaint, message)
	}
}

const reasonStale = "Stale"

// reportPowerConflict waits until kubelet and switch have disagreed for a while: Unknown, then True.
func (r *run) reportPowerConflict() {
	if !r.kubeletOn || r.reading.State != v2.PowerOff {
		r.slotReport(v2.ConditionPowerConflict, false, "", "", "Agree")
		return
	}
	message := "the kubelet reports, but the machine's switch says off; the kubelet's word counts"
	if meta.IsStatusConditionTrue(r.slot.Conditions, v2.ConditionPowerConflict) {
		return
	}
	since := conditionSince(r.slot.Conditions, v2.ConditionPowerConflict, metav1.ConditionUnknown)
	if !since.IsZero() && r.passed(since.Add(r.policy.PowerConflict)) {
		r.slotCondition(v2.ConditionPowerConflict, metav1.ConditionTrue, "Disagree", message)
		return
	}
	r.slotCondition(v2.ConditionPowerConflict, metav1.ConditionUnknown, "Disagree", message)
	if since.IsZero() {
		r.wake(r.in.Now.Add(r.policy.PowerConflict))
	}
}
