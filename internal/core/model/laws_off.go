package model

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// believesAtOnce is the other half of the off rule: offByJob and switchForbids say when off must not be believed, this
// says when it must be. It has the rule once more, written from the design's page and not from the code.
func believesAtOnce(in slot.Input, d slot.Decision) string {
	if in.Slot == nil || in.NamespaceTerminating {
		return ""
	}
	c := newestOwing(in)
	if c == nil {
		return ""
	}
	why := evidentlyOff(in, c.Status.Jobs)
	// A Job that is seen only now to have ended well is given its own time to settle.
	if why == "" || evidentlyOff(in, statusAfter(d, c).Jobs) == "" {
		return ""
	}
	off := meta.FindStatusCondition(statusAfter(d, c).Conditions, v2.ConditionMachineObservedOff)
	if off == nil || !slices.Contains(words("ObservedOff NothingBought"), off.Reason) {
		return wrong("claim %s: %s", c.Name, why)
	}
	return ""
}

// newestOwing is the claim that keeps the reversal's record.
func newestOwing(in slot.Input) *v2.NodeClaim {
	var newest *v2.NodeClaim
	for _, c := range in.Claims {
		if facts.OwesReversal(c, in.Slot) && (newest == nil || facts.Older(newest, c) < 0) {
			newest = c
		}
	}
	return newest
}

// evidentlyOff says which of the three clauses holds, on what had been saved before this observation.
func evidentlyOff(in slot.Input, jobs []v2.JobRecord) string {
	first, succeeded := shutdowns(jobs)
	since := func(t, start time.Time) bool { return !t.Before(start) }
	switch settled := in.Now.Add(-in.Policy.ShutdownSettle); {
	case first.IsZero() || fresh(in) == v2.PowerOn:
		return ""
	case fresh(in) == v2.PowerOff && newsOfOff(in, first):
		return "its switch says off"
	case facts.KubeletOn(in.KubeNode) || in.Slot.Status.PowerState == v2.PowerOn || in.Slot.Status.PowerStateSince == nil:
		return ""
	case since(in.Slot.Status.PowerStateSince.Time, first):
		if since(settled, in.Slot.Status.PowerStateSince.Time) {
			return "it fell silent and has settled"
		}
	case !succeeded.IsZero() && since(settled, succeeded):
		return "it is silent, and a shutdown Job has succeeded"
	}
	return ""
}

// switchTellsNews judges reversals that end on the word of the switch alone.
func switchTellsNews(in slot.Input, d slot.Decision) string {
	if d.Slot == nil || d.Slot.Status.PowerState != v2.PowerOff || d.Slot.Status.PowerSource != v2.PowerSourceOutOfBand {
		return ""
	}
	for _, c := range d.Claims {
		if ends(c) != "ObservedOff" || newerOwes(d, c.Claim) {
			continue
		}
		if first, _ := shutdowns(c.Status.Jobs); fresh(in) != v2.PowerOff || !newsOfOff(in, first) {
			return wrong("claim %s", c.Claim.Name)
		}
	}
	return ""
}

// newsOfOff is whether the switch was asked, and while the kubelet reports turned to off, surely later than the Job's start:
// later by more than two clocks may differ.
func newsOfOff(in slot.Input, first time.Time) bool {
	reading := in.Slot.Status.PowerReading
	surely := first.Add(in.Policy.ClockSkew)
	if facts.KubeletOn(in.KubeNode) && !reading.Since.After(surely) {
		return false
	}
	return reading.ObservedAt.After(surely)
}

// shutdowns is when the first shutdown Job started and when the last that succeeded ended.
func shutdowns(records []v2.JobRecord) (first, succeeded time.Time) {
	for _, r := range records {
		if r.Operation != v2.OperationShutdown {
			continue
		}
		if first.IsZero() && r.StartedAt != nil {
			first = r.StartedAt.Time
		}
		if r.Outcome == v2.JobSucceeded && r.FinishedAt != nil {
			succeeded = r.FinishedAt.Time
		}
	}
	return first, succeeded
}
