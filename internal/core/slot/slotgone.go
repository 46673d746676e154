package slot

import (
	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// slotGone releases the claims of a slot that does not exist, and everything in a namespace that is going away: there is
// nothing left to run a Job with. The claim itself is the record; no digest can be kept.
func slotGone(r *run) {
	if r.in.Slot != nil && !r.in.NamespaceTerminating {
		return
	}
	if !r.in.NamespaceTerminating && len(r.claims) > 0 {
		r.assume(Absence{Kind: KindSlot, Name: r.in.Name})
	}
	for _, c := range r.claims {
		if facts.Live(c.NodeClaim) {
			why := r.nowhere(c)
			r.move(c, v2.ClaimFailed, v2.ReasonSlotDeleted, why)
			r.noteClaim(c, true, v2.EventClaimFailed, string(v2.ReasonSlotDeleted)+": "+why)
		}
		r.dropFinalizer(c)
	}
}

// nowhere says why the claim has no slot, and what became of its machine. Nobody can tell a slot that was deleted from a
// name that was never one, but a claim that bought nothing has no machine to worry about.
func (r *run) nowhere(c *claim) string {
	left := "nothing was bought"
	if facts.Committed(c.NodeClaim) {
		left = "its machine was left as it is"
	}
	switch {
	case r.in.NamespaceTerminating:
		return "namespace " + r.in.Namespace + " is being deleted; " + left
	case facts.Committed(c.NodeClaim):
		return "slot " + r.in.Name + " is gone; " + left
	}
	return "there is no slot " + r.in.Name + " in namespace " + r.in.Namespace + "; " + left + "; kubectl get slot lists what there is"
}
