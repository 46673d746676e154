package pool

import (
	"slices"
	"strings"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Cancellation is what a decrease takes back. Each unit is one machine.
type Cancellation struct {
	// Errored are failed boots that stop counting once status.endedBy says who answered them.
	Errored []*v2.NodeClaim
	// Pending are the wanted claims to delete, per machine, oldest first; usually one each.
	Pending [][]*v2.NodeClaim
}

// Size is how many machines fewer the target counts afterwards.
func (c Cancellation) Size() int { return len(c.Errored) + len(c.Pending) }

// PlanDecrease is what a decrease by delta (negative) takes back: failed boots that still count, then pending claims,
// oldest first, capped to what there is. A boot that was committed is never taken, and neither is a machine that runs.
func PlanDecrease(v View, delta int32) (Cancellation, error) {
	if delta >= 0 {
		return Cancellation{}, Faultf(Malformed, "delta must be negative, is %d", delta)
	}
	sum := Summarize(v)
	if sum.Target == 0 {
		return Cancellation{}, nil
	}
	errored, pending, booting := sum.cancelable(v)
	if len(errored)+len(pending) == 0 {
		return Cancellation{}, Faultf(Busy, "group %s has nothing to cancel: %d booting, %d ready, none pending; "+
			"a boot ends by its own deadline, a machine by NodeGroupDeleteNodes", v.Name, booting, sum.Ready)
	}
	// In 64 bits, where the negation of every delta exists.
	wanted := -int64(delta)
	plan := Cancellation{Errored: firstOf(errored, wanted)}
	plan.Pending = firstOf(pending, wanted-int64(len(plan.Errored)))
	if after := sum.Target - int32(plan.Size()); len(plan.Pending) > 0 && after < sum.Min {
		return Cancellation{}, Faultf(Refused, "group %s would have %d machines, below its minSize of %d",
			v.Name, after, v.Group.Spec.MinSize)
	}
	return plan, nil
}

// cancelable is what a decrease may take, in order, and how many boots it may not.
func (s *Summary) cancelable(v View) (errored []*v2.NodeClaim, pending [][]*v2.NodeClaim, booting int) {
	for _, instance := range s.Instances {
		switch {
		case instance.State == Errored:
			errored = append(errored, instance.Claim)
		case instance.State == Creating && instance.Phase == v2.ClaimPending && !v.find(instance.Slot).bought(instance.Claim):
			claims, _ := v.find(instance.Slot).wanted()
			slices.SortFunc(claims, older)
			pending = append(pending, claims)
		case instance.State == Creating:
			booting++
		}
	}
	slices.SortFunc(errored, older)
	slices.SortFunc(pending, func(a, b []*v2.NodeClaim) int { return older(a[0], b[0]) })
	return errored, pending, booting
}

// bought is whether the claim's own startup Job is under way, though its status may not say so: it was stripped.
func (s Slot) bought(claim *v2.NodeClaim) bool {
	return strings.HasPrefix(s.UnfinishedJob, claim.Name+"-up-")
}

func older(a, b *v2.NodeClaim) int {
	if c := facts.Older(a, b); c != 0 {
		return c
	}
	return strings.Compare(string(a.UID), string(b.UID))
}

func firstOf[T any](list []T, n int64) []T { return list[:min(max(n, 0), int64(len(list)))] }
