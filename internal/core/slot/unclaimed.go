package slot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
)

// unclaimed deals with a machine that is on though nobody asked for it. After a grace the group's policy acts. Once the
// first shutdown Job exists the reversal is owed, and a claim that arrives waits for its end.
func unclaimed(r *run) {
	if r.in.Slot == nil || r.in.NamespaceTerminating || len(r.owing()) > 0 || r.off != nil {
		return
	}
	switch {
	case r.unclaimedOwed():
	case r.owner() != nil:
		r.endUnclaimed("Claimed")
		return
	case r.power != facts.On:
		r.endUnclaimed("Silent")
		return
	}
	if r.slot.Unclaimed == nil {
		r.slot.Unclaimed = &v2.UnclaimedRecord{Since: r.now}
		r.rely()
		r.noteSlot(nil, true, v2.EventUnclaimedMachine, "the machine is on and no claim wants it; "+r.unclaimedFate())
	}
	r.slotCondition(v2.ConditionUnclaimedMachine, metav1.ConditionTrue, "NoLiveClaim",
		"on since "+instant(r.slot.Unclaimed.Since.Time)+" with no claim that wants it")
	if !r.unclaimedOwed() && (r.in.Protected != "" || r.policy.Unclaimed != v2.UnclaimedShutdown) {
		r.giveBack()
		r.slot.Unclaimed.DrainingSince = nil
	}
	if r.in.Protected != "" && !r.unclaimedOwed() {
		return
	}
	if !r.passed(r.unheld(r.slot.Unclaimed.Since.Time).Add(r.policy.UnclaimedGrace)) {
		return
	}
	r.actUnclaimed()
}

// unclaimedFate says what will be done about the machine.
func (r *run) unclaimedFate() string {
	switch {
	case r.in.Protected != "":
		return "it is left on: " + r.in.Protected
	case r.policy.Unclaimed == v2.UnclaimedShutdown:
		return fmt.Sprintf("policy Shutdown switches it off in %s", r.policy.UnclaimedGrace)
	case r.policy.Unclaimed == v2.UnclaimedAdopt:
		return fmt.Sprintf("policy Adopt makes a claim for it in %s, if it is fit to serve", r.policy.UnclaimedGrace)
	default:
		return fmt.Sprintf("policy %s leaves it alone", r.policy.Unclaimed)
	}
}

func (r *run) actUnclaimed() {
	switch {
	case r.unclaimedOwed() || r.policy.Unclaimed == v2.UnclaimedShutdown:
		r.shutUnclaimed()
	case r.policy.Unclaimed == v2.UnclaimedAdopt && !r.hold.Held && r.in.Slot.DeletionTimestamp == nil:
		r.adopt()
	}
}

func (r *run) shutUnclaimed() {
	u := r.slot.Unclaimed
	belief := r.switchOff(&reversal{
		jobs: &u.Jobs, attempts: &u.ShutdownAttempts, lastAttempt: &u.LastShutdownAttemptAt,
		prefix: job.UnclaimedPrefix(r.in.Name, u.Since.Time), drains: true, registered: true,
		drainSince: ptr.Deref(u.DrainingSince, metav1.Time{}).Time,
	})
	switch {
	case belief == nil:
	case r.removes(belief):
		// The record ends once the kubeNode is seen gone: nothing else would remember that it must go.
		r.removeKubeNode()
	default:
		r.settleOff(belief, nil)
		r.endUnclaimed("SwitchedOff")
	}
}

func (r *run) endUnclaimed(reason string) {
	if r.slot.Unclaimed == nil {
		return
	}
	r.slot.Unclaimed = nil
	r.slotReport(v2.ConditionUnclaimedMachine, false, "", "", reason)
}

// adopt makes a claim for a machine that is up and fit to serve: how one installs onto a running cluster. A slot that is
// otherwise not offerable keeps waiting.
func (r *run) adopt() {
	group := r.in.Slot.Labels[v2.LabelGroup]
	offerable := r.in.Group != nil && len(r.unfinished()) == 0 &&
		facts.CoolingOffUntil(r.slot.LastClaim, r.policy, r.in.Now).IsZero()
	if !offerable || !r.kubeletOn {
		return
	}
	r.lift(false)
	if r.patched() || len(r.gateWaits(r.in.KubeNode)) > 0 {
		return
	}
	r.act(CreateClaim{Claim: &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name:      job.UnclaimedPrefix(r.in.Name, r.slot.Unclaimed.Since.Time),
			Namespace: r.in.Namespace,
			Labels:    map[string]string{v2.LabelGroup: group, v2.LabelNode: r.in.Name},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: v2.GroupVersion.String(), Kind: "Node", Name: r.in.Slot.Name, UID: r.in.Slot.UID, Controller: ptr.To(true),
			}},
		},
		Spec: v2.NodeClaimSpec{
			SlotRef:     corev1.ObjectReference{Name: r.in.Name},
			Request:     v2.ClaimRequest{Call: v2.CallCreate, Group: group},
			RequestedAt: &r.now,
			RequestedBy: "adoption of a running machine",
		},
	}})
}
