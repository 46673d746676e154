package slot

import (
	"fmt"
	"strings"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// cancel records who ended a live claim, finishes a delete that was marked but not made, and lets a pending claim go:
// nothing is in flight for it. A booting or ready claim is reversed by a later stage.
func cancel(r *run) {
	if r.in.Slot == nil {
		return
	}
	for _, c := range r.claims {
		if !facts.Live(c.NodeClaim) || !facts.Marked(c.NodeClaim, r.in.Slot) {
			continue
		}
		if c.Spec.Request.Call == v2.CallDeleteNodes && c.DeletionTimestamp == nil {
			r.remove(DeleteClaim{Claim: c.seen})
		}
		if c.Status.EndedBy == nil {
			c.Status.EndedBy = r.endOf(c)
			if c.Status.EndedBy.By != r.bySlot() {
				r.noteClaim(c, false, v2.EventClaimCancelled, "cancelled by "+describeEnd(c.Status.EndedBy))
			}
		}
		if facts.Phase(c.NodeClaim) == v2.ClaimPending {
			r.move(c, v2.ClaimCompleted, r.endReason(c), "cancelled before anything was bought")
			r.dropFinalizer(c)
		}
	}
}

// endOf reads from the marks who ended the claim.
func (r *run) endOf(c *claim) *v2.ClaimEnd {
	switch {
	case c.Spec.Request.Call == v2.CallDeleteNodes:
		return &v2.ClaimEnd{Call: v2.CallDeleteNodes, Nodes: c.Spec.Request.Nodes, By: c.Spec.RequestedBy}
	case c.DeletionTimestamp == nil && r.in.Slot.DeletionTimestamp != nil:
		return &v2.ClaimEnd{Call: v2.CallDelete, By: r.bySlot()}
	default:
		return &v2.ClaimEnd{Call: v2.CallDelete, By: "deletion of the claim"}
	}
}

// bySlot is who ended a claim that goes down with its slot. That is no cancel: the claim's own request still stood.
func (r *run) bySlot() string { return "deletion of slot " + r.in.Name }

// endReason is the reason with which a claim that was ended on purpose completes.
func (r *run) endReason(c *claim) v2.ClaimReason {
	if r.in.Slot != nil && r.in.Slot.DeletionTimestamp != nil {
		return v2.ReasonSlotDeleted
	}
	switch {
	case c.Status.EndedBy != nil && c.Status.EndedBy.Call == v2.CallDeleteNodes:
		return v2.ReasonNodeDeleted
	case c.Status.EndedBy != nil && c.Status.EndedBy.Call == v2.CallDecreaseTargetSize:
		return v2.ReasonCancelledByDecreaseTargetSize
	default:
		return v2.ReasonDeletedByHand
	}
}

func describeEnd(end *v2.ClaimEnd) string {
	text := string(end.Call)
	if len(end.Nodes) > 0 {
		text += " of " + strings.Join(end.Nodes, ", ")
	}
	if end.By != "" {
		text += fmt.Sprintf(" (%s)", end.By)
	}
	return text
}
