package pool

import (
	"cmp"
	"slices"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// BootFault is why a machine did not come up, in the client's terms.
type BootFault struct {
	// Code is one word, the claim's reason.
	Code string
	// Message is a sentence.
	Message string
}

// bootFailures are the reasons that end a boot which was tried. A claim that lost its slot, or was refused before
// anything was bought, is not one.
var bootFailures = []v2.ClaimReason{
	v2.ReasonDeadlineExceeded, v2.ReasonStartupJobFailed, v2.ReasonStartupJobTimeout,
	v2.ReasonReadinessGateTimeout, v2.ReasonStuckTransition,
}

// erroredBoots are the failed claims that stay in the target, by slot. A client ties its back-off to the target: while
// another slot can serve, a failed boot leaves it at once, and the client asks again and gets that slot. When none can,
// or when the fault is the pool's and the next slot would fail alike, the failure is shown until somebody answers it:
// for ErroredFor, until the client takes it away, or until a claim of the group is made after it.
func erroredBoots(v View, parts []Part) map[string]*v2.NodeClaim {
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.Failed != nil }) {
		return nil
	}
	since, errored := requests(v), map[string]*v2.NodeClaim{}
	offerable := 0
	for _, part := range parts {
		if part.Refusal == nil {
			offerable++
		}
	}
	for i, part := range parts {
		claim := part.Failed
		if claim == nil || since.madeBesides(claim, claim.Status.FinishedAt.Time) {
			continue
		}
		others := offerable
		if part.Refusal == nil {
			others--
		}
		if others == 0 || facts.BootNeverRan(claim.Status.Jobs) {
			errored[v.Slots[i].Name] = claim
		}
	}
	return errored
}

// failedBoot is the slot's newest failed boot that nobody has answered, or nil. Where no client asks, nobody is shown it.
func failedBoot(v View, s Slot) *v2.NodeClaim {
	if v.Group == nil || Engine(v.Group) != v2.EngineClusterAutoscaler || s.Object == nil || s.Object.DeletionTimestamp != nil {
		return nil
	}
	if _, wanted := s.wanted(); wanted != nil {
		return nil
	}
	claim := facts.Newest(s.Claims)
	if claim == nil || claim.Spec.Request.Group != v.Name || facts.Marked(claim, s.Object) ||
		claim.Status.Phase != v2.ClaimFailed || facts.ReachedReady(claim) || claim.Status.EndedBy != nil ||
		!slices.Contains(bootFailures, claim.Status.Reason) || claim.Status.FinishedAt == nil {
		return nil
	}
	if !v.Now.Before(claim.Status.FinishedAt.Add(v.Policy.ErroredFor)) {
		return nil
	}
	return claim
}

// newestRequests are the two newest claims of a group, which is enough to leave one out.
type newestRequests [2]*v2.NodeClaim

func requests(v View) (newest newestRequests) {
	for _, s := range v.Slots {
		for _, claim := range s.Claims {
			switch {
			case claim.Spec.Request.Group != v.Name:
			case newest[0] == nil || facts.Older(newest[0], claim) < 0:
				newest = newestRequests{claim, newest[0]}
			case newest[1] == nil || facts.Older(newest[1], claim) < 0:
				newest[1] = claim
			}
		}
	}
	return newest
}

// madeBesides is whether a claim other than that one was made at the time or later.
func (n newestRequests) madeBesides(claim *v2.NodeClaim, at time.Time) bool {
	other := n[0]
	if other == claim {
		other = n[1]
	}
	return other != nil && !other.CreationTimestamp.Time.Before(at)
}

func faultOf(claim *v2.NodeClaim) *BootFault {
	return &BootFault{
		Code:    cmp.Or(string(claim.Status.Reason), "BootFailed"),
		Message: cmp.Or(claim.Status.Message, "claim "+claim.Name+" failed to boot slot "+claim.Spec.SlotRef.Name),
	}
}
