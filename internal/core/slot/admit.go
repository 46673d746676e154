package slot

import (
	"fmt"
	"strings"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// admit makes our first entry on a claim: who asked first, before a DeleteNodes overwrites it, and the attempt so far.
func (r *run) admit(c *claim) {
	if r.in.Slot == nil || !facts.Live(c.NodeClaim) {
		return
	}
	c.Status.ObservedGeneration = c.Generation
	if c.Status.CreatedBy != nil {
		return
	}
	request := c.Spec.Request
	if request.Call == v2.CallDeleteNodes {
		// The mark came before our first entry. Only the provider records one, and it asks with IncreaseSize.
		request.Call = v2.CallIncreaseSize
	}
	c.Status.CreatedBy = &v2.ClaimOrigin{Call: request.Call, Group: request.Group, Delta: request.Delta}
	if c.Status.Phase == "" {
		c.Status.Phase = v2.ClaimPending
	}
	streak := facts.Streak(r.digestBefore(c))
	if c.Status.Attempt == 0 {
		c.Status.Attempt = streak
	}
	r.noteClaim(c, false, v2.EventClaimCreated, fmt.Sprintf("%s; attempt %d of this slot; deadline %s",
		describeRequest(c), streak+1, r.deadlineOf(c).UTC().Format(time.RFC3339)))
}

func describeRequest(c *claim) string {
	by := c.Spec.RequestedBy
	if by == "" {
		by = "somebody"
	}
	text := fmt.Sprintf("%s asked with %s", by, c.Spec.Request.Call)
	if c.Spec.Request.Delta != 0 {
		text += fmt.Sprintf(" (%+d)", c.Spec.Request.Delta)
	}
	if len(c.Spec.Request.Nodes) > 0 {
		text += " of " + strings.Join(c.Spec.Request.Nodes, ", ")
	}
	return text + " for group " + c.Spec.Request.Group
}
