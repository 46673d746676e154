package model

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// stepLaws: what holds of every answer of Step by its form.
func stepLaws() []Law {
	return []Law{
		{Name: "a wake is in the future", decision: func(in slot.Input, d slot.Decision) string {
			if !d.Wake.IsZero() && !d.Wake.After(in.Now) {
				return wrong("at %s it wakes at %s", in.Now, d.Wake)
			}
			return ""
		}},
		{Name: "a condition that is written has a reason, a message and a time", decision: conditionsInFull},
		{Name: "a decision that writes nothing says nothing", decision: func(_ slot.Input, d slot.Decision) string {
			if d.Empty() && len(d.Notes) > 0 {
				return d.Notes[0].Reason
			}
			return ""
		}},
	}
}

func conditionsInFull(_ slot.Input, d slot.Decision) string {
	for _, c := range d.Claims {
		if bad := incomplete(c.Status.Conditions); bad != "" {
			return wrong("%s of claim %s", bad, c.Claim.Name)
		}
	}
	if d.Slot != nil {
		if bad := incomplete(d.Slot.Status.Conditions); bad != "" {
			return wrong("%s of the slot", bad)
		}
	}
	return ""
}

// incomplete names a condition that lacks something; empty: none does.
func incomplete(conditions []metav1.Condition) string {
	for _, c := range conditions {
		if c.Reason == "" || c.Message == "" || c.LastTransitionTime.IsZero() {
			return c.Type
		}
	}
	return ""
}

// noteLaws: each transition is told once, and nothing else is told.
func noteLaws() []Law {
	return []Law{
		{Name: "every move of a claim has its one event, and every event its move", decision: claimNotes},
		{Name: "every transition of a slot has its one event, and every event its transition", decision: slotNotes},
	}
}

// expected counts the events that a decision must carry.
type expected map[string]int

func (e expected) of(reason string, holds bool) {
	if holds {
		e[reason]++
	}
}

// judge compares with the notes of those reasons that the decision carries.
func (e expected) judge(d slot.Decision, reasons ...string) string {
	for _, reason := range reasons {
		got := 0
		for _, note := range d.Notes {
			if note.Reason == reason {
				got++
			}
		}
		if got != e[reason] {
			return wrong("%d events %s for %d transitions", got, reason, e[reason])
		}
	}
	return ""
}

func claimNotes(_ slot.Input, d slot.Decision) string {
	e := expected{}
	handover := false
	for _, c := range d.Claims {
		handover = handover || c.Status.Reason == v2.ReasonSuperseded && !facts.Terminal(c.Claim) && facts.Committed(c.Claim)
	}
	for _, c := range d.Claims {
		before, after := facts.Phase(c.Claim), c.Status.Phase
		cancelled := c.Status.EndedBy != nil && c.Status.EndedBy.By != "deletion of slot "+machine
		e.of(v2.EventClaimCreated, c.Claim.Status.CreatedBy == nil && c.Status.CreatedBy != nil)
		e.of(v2.EventClaimCancelled, c.Claim.Status.EndedBy == nil && cancelled)
		if before == after {
			continue
		}
		e.of(v2.EventClaimBooting, after == v2.ClaimBooting && !handover)
		e.of(v2.EventClaimReady, after == v2.ClaimReady && !handover || after == v2.ClaimReady && noted(d, v2.EventClaimReady, c.Claim))
		e.of(v2.EventClaimSuperseded, after == v2.ClaimFailed && c.Status.Reason == v2.ReasonSuperseded)
		e.of(v2.EventClaimFailed, after == v2.ClaimFailed && c.Status.Reason != v2.ReasonSuperseded)
		e.of(v2.EventClaimCompleted, after == v2.ClaimCompleted && !cancelled && before != v2.ClaimPending)
	}
	return e.judge(d, v2.EventClaimCreated, v2.EventClaimCancelled, v2.EventClaimBooting, v2.EventClaimReady,
		v2.EventClaimSuperseded, v2.EventClaimFailed, v2.EventClaimCompleted)
}

// noted is whether the decision carries that event on the claim.
func noted(d slot.Decision, reason string, c *v2.NodeClaim) bool {
	for _, note := range d.Notes {
		if note.Reason == reason && note.Claim == c {
			return true
		}
	}
	return false
}

func slotNotes(in slot.Input, d slot.Decision) string {
	if in.Slot == nil {
		return ""
	}
	e := expected{}
	boots, readies, firstDowns, assumed := 0, 0, 0, 0
	for _, note := range d.Notes {
		switch note.Reason {
		case v2.EventClaimBooting:
			boots++
		case v2.EventClaimReady:
			readies++
		}
	}
	for _, job := range created(d, shutdown) {
		if firstOfReversal(d, job.Name) {
			firstDowns++
		}
	}
	after := in.Slot.Status
	if d.Slot != nil {
		after = d.Slot.Status
	}
	if assumes(in, d, after) {
		assumed++
	}
	e[v2.EventScaleUpRequested], e[v2.EventScaleUpCompleted] = boots, readies
	e[v2.EventScaleDownRequested], e[v2.EventMachineAssumedOff] = firstDowns, assumed
	e.of(v2.EventUnclaimedMachine, in.Slot.Status.Unclaimed == nil && after.Unclaimed != nil)
	cools := func(s v2.NodeStatus) bool { return meta.IsStatusConditionTrue(s.Conditions, v2.ConditionCoolingOff) }
	e.of(v2.EventCoolingOff, !cools(in.Slot.Status) && cools(after))
	for _, c := range d.Claims {
		e.of(v2.EventReadinessGateTimeout, c.Status.Reason == v2.ReasonReadinessGateTimeout && !facts.Terminal(c.Claim))
	}
	return e.judge(d, v2.EventScaleUpRequested, v2.EventScaleUpCompleted, v2.EventScaleDownRequested,
		v2.EventMachineAssumedOff, v2.EventUnclaimedMachine, v2.EventCoolingOff, v2.EventReadinessGateTimeout)
}

// assumes is whether a reversal ends in this decision with the machine taken for off.
func assumes(in slot.Input, d slot.Decision, after v2.NodeStatus) bool {
	for _, removal := range d.Removals {
		drop, ok := removal.(slot.DropFinalizer)
		if !ok || drop.Claim == nil {
			continue
		}
		off := meta.FindStatusCondition(statusAfter(d, drop.Claim).Conditions, v2.ConditionMachineObservedOff)
		if off != nil && off.Reason == "AssumedOff" && facts.OwesReversal(drop.Claim, in.Slot) {
			return true
		}
	}
	before := in.Slot.Status
	return before.Unclaimed != nil && len(before.Unclaimed.Jobs) > 0 && after.Unclaimed == nil &&
		after.PowerSource == v2.PowerSourceAssumed && before.PowerSource != v2.PowerSourceAssumed
}

// firstOfReversal is whether the Job's record is new in this decision, and the first of a reversal that is told. One that
// is made again after a crash was recorded, and told, before; the reversal of a failed boot is told with its failure.
func firstOfReversal(d slot.Decision, name string) bool {
	for _, c := range d.Claims {
		if hasRecord(c.Status.Jobs, name) {
			failedBoot := c.Status.Phase == v2.ClaimFailed && c.Status.ReadyAt == nil
			return !hasShutdown(c.Claim.Status.Jobs) && !failedBoot
		}
	}
	if d.Slot == nil || d.Slot.Status.Unclaimed == nil || !hasRecord(d.Slot.Status.Unclaimed.Jobs, name) {
		return false
	}
	old := d.Slot.Slot.Status.Unclaimed
	return old == nil || !hasShutdown(old.Jobs)
}

func hasShutdown(records []v2.JobRecord) bool {
	return slices.ContainsFunc(records, func(r v2.JobRecord) bool { return r.Operation == v2.OperationShutdown })
}

func hasRecord(records []v2.JobRecord, name string) bool {
	for i := range records {
		if records[i].Name == name {
			return true
		}
	}
	return false
}
