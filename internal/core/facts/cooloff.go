package facts

import (
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Streak is how many boots in a row the slot has spent without reaching ready, from the digest of its newest episode.
func Streak(digest *v2.ClaimDigest) int32 {
	if digest == nil || digest.ReadyAt != nil {
		return 0
	}
	return digest.Attempt
}

// CoolingOffUntil is when the slot may be offered again after a streak of failed boots; zero: it is not cooling off.
// It is a pure function of the digest, so that setting lastClaim.attempt to 0 clears it.
func CoolingOffUntil(digest *v2.ClaimDigest, p policy.Policy, now time.Time) time.Time {
	if digest == nil || digest.Phase != v2.ClaimFailed || digest.FinishedAt == nil {
		return time.Time{}
	}
	wait := p.CoolOff(Streak(digest))
	until := digest.FinishedAt.Add(wait)
	if wait == 0 || !now.Before(until) {
		return time.Time{}
	}
	return until
}
