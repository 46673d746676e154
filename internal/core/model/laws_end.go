package model

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// endLaws: nothing ends that should not, and nothing is forgotten.
func endLaws() []Law {
	return []Law{
		{Name: "a ready claim is never ended by a boot's deadline", decision: noLateDeadline},
		{Name: "a claim's phase moves only along the table", change: legalMoves},
		{Name: "a committed claim has our finalizer", change: guarded},
		{Name: "a slot with a committed machine has our finalizer", change: slotGuarded},
		{Name: "no finalizer is put on what is being deleted", decision: noLateFinalizer},
		{Name: "a claim that owes a reversal is let go only when its machine is off, or taken for off", decision: owesUntilOff},
		{Name: "an ended claim says when it ended and whether it had a machine", change: endsInFull},
		{Name: "the digest tells of the newest committed claim", change: digestIsTrue},
		{Name: "a claim does not vanish before its end is in the digest", change: digestFirst},
		{Name: "no claim is released while its slot is there", change: releasedInVain},
	}
}

func noLateDeadline(_ slot.Input, d slot.Decision) string {
	for _, c := range d.Claims {
		if facts.Phase(c.Claim) != v2.ClaimReady || c.Status.Phase != v2.ClaimFailed {
			continue
		}
		switch c.Status.Reason {
		case v2.ReasonDeadlineExceeded, v2.ReasonStuckTransition, v2.ReasonReadinessGateTimeout,
			v2.ReasonStartupJobFailed, v2.ReasonStartupJobTimeout, v2.ReasonAttemptLimitExceeded:
			return wrong("claim %s: %s", c.Claim.Name, c.Status.Reason)
		}
	}
	return ""
}

// legalMoves has the phase table once more, written from the API's page and not from the code.
func legalMoves(t *Transition) string {
	for _, after := range t.After.Claims {
		for _, before := range t.Before.Claims {
			from, to := facts.Phase(before), facts.Phase(after)
			if before.UID != after.UID || from == to {
				continue
			}
			legal := map[v2.ClaimPhase]string{v2.ClaimPending: "booting ready completed failed",
				v2.ClaimBooting: "ready completed failed", v2.ClaimReady: "completed failed"}[from]
			if !slices.Contains(words(legal), string(to)) {
				return wrong("claim %s from %s to %s", after.Name, from, to)
			}
		}
	}
	return ""
}

func guarded(t *Transition) string {
	if t.After.Ghost.Stripped {
		return ""
	}
	for _, c := range t.After.Claims {
		if facts.Live(c) && facts.Committed(c) && !facts.HasFinalizer(c) {
			return wrong("claim %s is %s without it", c.Name, c.Status.Phase)
		}
	}
	return ""
}

func slotGuarded(t *Transition) string {
	n := t.After.Slot
	if !t.Fresh || t.Refused != nil || n == nil || n.DeletionTimestamp != nil || slices.Contains(n.Finalizers, v2.FinalizerSlot) || !t.Complete {
		return ""
	}
	for _, c := range t.After.Claims {
		if facts.Live(c) && facts.Committed(c) || facts.OwesReversal(c, n) {
			return wrong("claim %s is %s", c.Name, c.Status.Phase)
		}
	}
	return ""
}

func noLateFinalizer(_ slot.Input, d slot.Decision) string {
	for _, f := range d.Finalizers {
		if f.Claim != nil && f.Claim.DeletionTimestamp != nil || f.Slot != nil && f.Slot.DeletionTimestamp != nil {
			return "it is being deleted"
		}
	}
	return ""
}

func owesUntilOff(in slot.Input, d slot.Decision) string {
	if in.Slot == nil || in.NamespaceTerminating {
		return ""
	}
	for _, removal := range d.Removals {
		drop, ok := removal.(slot.DropFinalizer)
		if !ok || drop.Claim == nil || !facts.OwesReversal(drop.Claim, in.Slot) {
			continue
		}
		status := statusAfter(d, drop.Claim)
		if status.Reason == v2.ReasonSuperseded && slices.ContainsFunc(in.Claims, func(c *v2.NodeClaim) bool {
			return facts.Older(drop.Claim, c) < 0 && facts.Committed(c) && (facts.Wanted(c, in.Slot) || facts.OwesReversal(c, in.Slot))
		}) {
			continue // its machine was taken over before it was marked
		}
		off := meta.FindStatusCondition(status.Conditions, v2.ConditionMachineObservedOff)
		if off == nil || !slices.Contains(words("ObservedOff AssumedOff Released NothingBought"), off.Reason) {
			return wrong("claim %s", drop.Claim.Name)
		}
	}
	return ""
}

func endsInFull(t *Transition) string {
	if !t.Fresh || !t.Complete {
		return ""
	}
	for _, c := range t.After.Claims {
		if facts.Terminal(c) && (c.Status.FinishedAt == nil || meta.FindStatusCondition(c.Status.Conditions, v2.ConditionMachineCommitted) == nil) {
			return wrong("claim %s is %s", c.Name, c.Status.Phase)
		}
	}
	return ""
}

func digestIsTrue(t *Transition) string {
	if !t.Fresh || !t.Complete || t.After.Slot == nil || t.In.Slot == nil {
		return ""
	}
	digest := t.After.Slot.Status.LastClaim
	newest := newestCommitted(t.In.Claims)
	if newest != nil && t.After.claim(newest.Name) == nil {
		return "" // it went in this very commit; the next one tells of what is left
	}
	newest = newestCommitted(t.After.Claims)
	switch {
	case digest == nil && newest != nil:
		return wrong("claim %s is %s, and there is none", newest.Name, newest.Status.Phase)
	case newest == nil || digest.Name != newest.Name && !facts.RequestedAt(newest).After(digest.RequestedAt.Time):
		return "" // it tells of a later request, whose claim is gone
	case digest.Name != newest.Name || digest.Phase != newest.Status.Phase || digest.Reason != newest.Status.Reason:
		return wrong("claim %s is %s (%s), it says %s is %s (%s)", newest.Name, newest.Status.Phase, newest.Status.Reason,
			digest.Name, digest.Phase, digest.Reason)
	}
	return ""
}

func newestCommitted(claims []*v2.NodeClaim) *v2.NodeClaim {
	var newest *v2.NodeClaim
	for _, c := range claims {
		if facts.Committed(c) && (newest == nil || facts.Older(newest, c) < 0) {
			newest = c
		}
	}
	return newest
}

func digestFirst(t *Transition) string {
	if t.Decision == nil || t.After.Slot == nil || t.After.Terminating {
		return ""
	}
	digest := t.After.Slot.Status.LastClaim
	for _, c := range t.Before.Claims {
		if !facts.Committed(c) || t.After.claim(c.Name) != nil {
			continue
		}
		if digest == nil || digest.Name == c.Name && digest.Phase != v2.ClaimFailed && digest.Phase != v2.ClaimCompleted {
			return wrong("claim %s", c.Name)
		}
	}
	return ""
}

// releasedInVain judges what lands, on the world as it was: a lagging cache may well show no slot. A leader that is paused
// after it has looked, while a person makes the slot again, releases the former slot's claim: no look can prevent that, and
// the new slot starts with none.
func releasedInVain(t *Transition) string {
	if t.Decision == nil || t.In.Slot != nil || t.Before.Slot == nil || t.Move.Event == resume {
		return ""
	}
	for _, c := range t.After.Claims {
		if before := t.Before.claim(c.Name); before != nil && facts.Live(before) && facts.Terminal(c) {
			return wrong("claim %s is %s (%s)", c.Name, c.Status.Phase, c.Status.Reason)
		}
	}
	return ""
}
