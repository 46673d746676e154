package slot

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// updateDigest keeps the newest episode on the slot: the story outlives its claim. A claim that never committed is no
// episode and leaves it alone.
func (r *run) updateDigest() {
	for _, c := range r.claims {
		if facts.Committed(c.NodeClaim) {
			if !r.olderThanDigest(c) {
				r.countEpisode(c)
				r.slot.LastClaim = r.digestOf(c)
				return
			}
			break
		}
	}
	r.closeVanished()
}

// tellsOf is whether the digest is of this very claim. A claim that a person, or Git, makes again under its old name is
// another episode: what it asks for was asked later.
func tellsOf(digest *v2.ClaimDigest, c *claim) bool {
	return digest != nil && digest.Name == c.Name &&
		(digest.RequestedAt == nil || digest.RequestedAt.Time.Equal(facts.RequestedAt(c.NodeClaim)))
}

// digestBefore is the digest of the episode before this claim's own.
func (r *run) digestBefore(c *claim) *v2.ClaimDigest {
	if r.in.Slot == nil || tellsOf(r.in.Slot.Status.LastClaim, c) {
		return nil
	}
	return r.in.Slot.Status.LastClaim
}

// countEpisode counts an episode in the write that first tells of it: a crash between the claim's status and the slot's
// must not lose it, or the provider would give the next claim the same name.
func (r *run) countEpisode(c *claim) {
	if !tellsOf(r.slot.LastClaim, c) {
		r.slot.Episode++
	}
	r.slot.Episode = max(r.slot.Episode, c.Spec.Episode)
}

// olderThanDigest is whether the digest tells of a later request than this claim: a late write from an older episode
// must not rewrite the story.
func (r *run) olderThanDigest(c *claim) bool {
	digest := r.slot.LastClaim
	if digest == nil || tellsOf(digest, c) || digest.RequestedAt == nil {
		return false
	}
	return facts.RequestedAt(c.NodeClaim).Before(digest.RequestedAt.Time)
}

func (r *run) digestOf(c *claim) *v2.ClaimDigest {
	requestedAt := metav1.NewTime(facts.RequestedAt(c.NodeClaim))
	request := c.Spec.Request
	if by := c.Status.CreatedBy; by != nil {
		request.Call, request.Delta = by.Call, by.Delta
	}
	digest := &v2.ClaimDigest{
		Name:        c.Name,
		Slot:        r.in.Name,
		Phase:       c.Status.Phase,
		Attempt:     c.Status.Attempt,
		Request:     request,
		RequestedBy: c.Spec.RequestedBy,
		EndedBy:     c.Status.EndedBy,
		Reason:      c.Status.Reason,
		RequestedAt: &requestedAt,
		ReadyAt:     c.Status.ReadyAt,
		FinishedAt:  c.Status.FinishedAt,
	}
	if c.Status.ReadyAt == nil {
		digest.DeadlineAt = c.Spec.DeadlineAt
	}
	if facts.Terminal(c.NodeClaim) && c.Status.ReadyAt == nil && facts.BootNeverRan(c.Status.Jobs) {
		// The pool's fault, not the machine's: it does not count towards the streak.
		digest.Attempt = max(0, digest.Attempt-1)
	}
	if r.forgiven(c) {
		digest.Attempt = 0
	}
	return digest
}

// forgiven is whether a person cleared the streak that ended with this claim, which the claim still counts and the slot no
// longer does. Only a streak can be told from a first boot that never ran and was not counted.
func (r *run) forgiven(c *claim) bool {
	was := r.slot.LastClaim
	return tellsOf(was, c) && was.Attempt == 0 && was.Phase == v2.ClaimFailed &&
		c.Status.Phase == v2.ClaimFailed && c.Status.Attempt > 1
}

// closeVanished ends the digest of an episode whose claim is gone without an end: somebody took the finalizer off.
func (r *run) closeVanished() {
	digest := r.slot.LastClaim
	if digest == nil || digest.Phase == v2.ClaimFailed || digest.Phase == v2.ClaimCompleted {
		return
	}
	if i := slices.IndexFunc(r.claims, func(c *claim) bool { return c.Name == digest.Name }); i < 0 {
		r.assume(Absence{Kind: KindClaim, Name: digest.Name})
	} else if tellsOf(digest, r.claims[i]) {
		return
	}
	digest.Phase, digest.Reason, digest.FinishedAt = v2.ClaimFailed, v2.ReasonDeletedByHand, &r.now
}
