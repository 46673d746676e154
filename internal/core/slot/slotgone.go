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
	why := "slot " + r.in.Name + " is gone; its machine was left as it is"
	if r.in.NamespaceTerminating {
		why = "namespace " + r.in.Namespace + " is being deleted; the machine was left as it is"
	} else if len(r.claims) > 0 {
		r.assume(Absence{Kind: KindSlot, Name: r.in.Name})
	}
	for _, c := range r.claims {
		if facts.Live(c.NodeClaim) {
			r.move(c, v2.ClaimFailed, v2.ReasonSlotDeleted, why)
			r.noteClaim(c, true, v2.EventClaimFailed, string(v2.ReasonSlotDeleted)+": "+why)
		}
		r.dropFinalizer(c)
	}
}
