// Package facts reads single objects: what a claim, a kubeNode, a Job, a hold or a power reading says, and no more.
//
// Pure: every function is a reading of its arguments. The core's decisions and the provider's answers both stand on
// these readings, so that "live", "wanted" or "on" means one thing.
package facts

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Phase is the claim's phase; the empty phase reads as pending.
func Phase(c *v2.NodeClaim) v2.ClaimPhase {
	if c.Status.Phase == "" {
		return v2.ClaimPending
	}
	return c.Status.Phase
}

// Live is whether the claim may own its slot: pending, booting or ready.
func Live(c *v2.NodeClaim) bool { return !Terminal(c) }

// Terminal is whether the claim has ended.
func Terminal(c *v2.NodeClaim) bool {
	return c.Status.Phase == v2.ClaimFailed || c.Status.Phase == v2.ClaimCompleted
}

// Marked is whether the claim is unwanted: DeleteNodes is recorded on it, or it or its slot is being deleted.
// A nil slot (it is gone) marks as a deletion does.
func Marked(c *v2.NodeClaim, slot *v2.Node) bool {
	return c.Spec.Request.Call == v2.CallDeleteNodes || c.DeletionTimestamp != nil ||
		slot == nil || slot.DeletionTimestamp != nil
}

// Wanted is whether a machine is wanted because of this claim: it is live and not marked.
func Wanted(c *v2.NodeClaim, slot *v2.Node) bool { return Live(c) && !Marked(c, slot) }

// Committed is whether the claim bought a machine: booting, ready, or ended with MachineCommitted.
func Committed(c *v2.NodeClaim) bool {
	switch Phase(c) {
	case v2.ClaimBooting, v2.ClaimReady:
		return true
	case v2.ClaimPending:
		return false
	}
	return meta.IsStatusConditionTrue(c.Status.Conditions, v2.ConditionMachineCommitted)
}

// OwesReversal is whether a machine must still be switched off because of this claim: it is committed, marked or
// ended, and holds our finalizer. A claim whose machine was handed over owes nothing, nor does one whose machine was
// lost while silent (Lost).
func OwesReversal(c *v2.NodeClaim, slot *v2.Node) bool {
	if !HasFinalizer(c) || !Committed(c) {
		return false
	}
	if Live(c) {
		return Marked(c, slot)
	}
	return c.Status.Reason != v2.ReasonSuperseded && !Lost(c)
}

// Lost is whether the claim ended MachineGone with nothing to switch off. A MachineGone claim whose machine may still
// run (its switch says on, or only its kubeNode object was deleted) is not lost: MachineObservedOff is then not True.
func Lost(c *v2.NodeClaim) bool {
	return Terminal(c) && c.Status.Reason == v2.ReasonMachineGone &&
		meta.IsStatusConditionTrue(c.Status.Conditions, v2.ConditionMachineObservedOff)
}

// HasFinalizer is whether the object carries the claim's finalizer.
func HasFinalizer(c *v2.NodeClaim) bool { return slices.Contains(c.Finalizers, v2.FinalizerNodeClaim) }

// Older orders objects by (creationTimestamp, name): negative when a is older than b.
func Older(a, b metav1.Object) int {
	at, bt := a.GetCreationTimestamp(), b.GetCreationTimestamp()
	if c := at.Time.Compare(bt.Time); c != 0 {
		return c
	}
	return strings.Compare(a.GetName(), b.GetName())
}

// NewestLive is the newest live claim, marked or not: it owns the slot. Nil when there is none.
func NewestLive(claims []*v2.NodeClaim) *v2.NodeClaim {
	var newest *v2.NodeClaim
	for _, c := range claims {
		if Live(c) && (newest == nil || Older(newest, c) < 0) {
			newest = c
		}
	}
	return newest
}

// Newest is the newest claim of any phase, or nil.
func Newest(claims []*v2.NodeClaim) *v2.NodeClaim {
	var newest *v2.NodeClaim
	for _, c := range claims {
		if newest == nil || Older(newest, c) < 0 {
			newest = c
		}
	}
	return newest
}

// RequestedAt is where the claim's budget begins: the earlier of its own requestedAt and its creation.
func RequestedAt(c *v2.NodeClaim) time.Time {
	created := c.CreationTimestamp.Time
	if at := c.Spec.RequestedAt; at != nil && at.Time.Before(created) {
		return at.Time
	}
	return created
}

// ReachedReady is whether the claim was ever ready.
func ReachedReady(c *v2.NodeClaim) bool {
	return c.Status.Phase == v2.ClaimReady || c.Status.ReadyAt != nil
}

// GroupOf is the group that governs the slot now: the live claim's until it ends, else the slot's label.
func GroupOf(slot *v2.Node, claims []*v2.NodeClaim) string {
	if live := NewestLive(claims); live != nil && live.Spec.Request.Group != "" {
		return live.Spec.Request.Group
	}
	if slot == nil {
		if newest := Newest(claims); newest != nil {
			return newest.Spec.Request.Group
		}
		return ""
	}
	return slot.Labels[v2.LabelGroup]
}
