package pool

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// inChoosingOrder sorts slots into the order in which they are handed out: fewest recent failures first, then cheapest,
// then least recently used, then by name. Never by chance: two providers agree, and a person can foretell.
func inChoosingOrder(v View, slots []Slot) {
	slices.SortFunc(slots, func(a, b Slot) int {
		return cmp.Or(
			cmp.Compare(recentFailures(v, a), recentFailures(v, b)),
			comparePrice(a, b),
			lastUsed(a).Compare(lastUsed(b)),
			strings.Compare(a.Name, b.Name),
		)
	})
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
func comparePrice(a, b Slot) int {
	aRate, aPriced := hourlyRate(a)
	bRate, bPriced := hourlyRate(b)
	switch {
	case aPriced && bPriced:
		return cmp.Compare(aRate, bRate)
	case aPriced:
		return -1
	case bPriced:
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
