package pool

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// inChoosingOrder is the slots in the order in which they are handed out: fewest recent failures first, then cheapest,
// then least recently used, then by name. Never by chance: two providers agree, and a person can foretell.
func inChoosingOrder(v View, slots []Slot) []Slot {
	candidates := make([]candidate, len(slots))
	for i, s := range slots {
		rate, priced := hourlyRate(s)
		candidates[i] = candidate{slot: s, failures: recentFailures(v, s), rate: rate, priced: priced, used: lastUsed(s)}
	}
	slices.SortFunc(candidates, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.failures, b.failures),
			comparePrice(a, b),
			a.used.Compare(b.used),
			strings.Compare(a.slot.Name, b.slot.Name),
		)
	})
	var ordered []Slot
	for _, c := range candidates {
		ordered = append(ordered, c.slot)
	}
	return ordered
}

// candidate is a slot with what it is chosen by, read once.
type candidate struct {
	slot     Slot
	failures int32
	rate     float64
	priced   bool
	used     time.Time
}

// recentFailures is the streak of failures the slot's newest episode ended with, forgotten after the longest cool-off.
func recentFailures(v View, s Slot) int32 {
	digest := s.Object.Status.LastClaim
	if digest == nil || digest.Phase != v2.ClaimFailed || digest.FinishedAt == nil ||
		digest.Reason == v2.ReasonSuperseded || digest.Reason == v2.ReasonAttemptLimitExceeded ||
		!v.Now.Before(digest.FinishedAt.Add(v.Policy.CoolOffMax)) {
		return 0
	}
	return max(1, facts.Streak(digest))
}

// comparePrice puts the cheaper slot first and one without a price last.
func comparePrice(a, b candidate) int {
	switch {
	case a.priced && b.priced:
		return cmp.Compare(a.rate, b.rate)
	case a.priced:
		return -1
	case b.priced:
		return 1
	}
	return 0
}

// lastUsed is the last time the slot's machine was asked for or seen in use; zero: never.
func lastUsed(s Slot) time.Time {
	status := s.Object.Status
	var last time.Time
	note := func(at time.Time) {
		if at.After(last) {
			last = at
		}
	}
	if status.LastStartupTime != nil {
		note(status.LastStartupTime.Time)
	}
	if status.LastShutdownTime != nil {
		note(status.LastShutdownTime.Time)
	}
	if digest := status.LastClaim; digest != nil {
		if digest.RequestedAt != nil {
			note(digest.RequestedAt.Time)
		}
		if digest.FinishedAt != nil {
			note(digest.FinishedAt.Time)
		}
	}
	return last
}
