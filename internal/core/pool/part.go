package pool

import (
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Part is one slot's share in its group's summary: whatever can be said of the slot without a look at the others. It
// holds until an object behind it changes, or until ValidUntil.
type Part struct {
	// Standing is the slot's state, as far as its own claims tell: a failed boot is not in it.
	Standing
	// ID is the id under which the machine is listed; empty when it is Idle.
	ID string
	// Refusal says why the slot is not offerable; nil: it is, unless its failed boot still counts.
	Refusal *Refusal
	// Shaped is whether the slot is the group's own and it is known what its machine offers.
	Shaped bool
	// Failed is a boot that failed and that nobody has answered, or nil. Whether it counts is for the group to say.
	Failed *v2.NodeClaim
	// ValidUntil is when time alone may change the part; zero: only a changed object does.
	ValidUntil time.Time
}

// PartOf judges one slot. Of the view everything counts but its slots.
func PartOf(v View, s Slot) Part {
	part := Part{Standing: s.StandingIn(v.Name), Refusal: Offerable(v, s), Shaped: v.shaped(s), Failed: failedBoot(v, s)}
	if part.State != Idle {
		part.ID = s.InstanceID(part.Claim)
	}
	if part.Refusal != nil {
		part.ValidUntil = part.Refusal.Until
	}
	if part.Failed != nil {
		part.ValidUntil = earlier(part.ValidUntil, part.Failed.Status.FinishedAt.Add(v.Policy.ErroredFor))
	}
	return part
}

// Instance is the machine as the group lists it; false when it does not.
func (p Part) Instance(slot string) (Instance, bool) {
	return Instance{ID: p.ID, Slot: slot, Standing: p.Standing}, p.State != Idle
}

// Tally counts parts as they come and go, so that the change of one slot costs the same in a group of any size.
type Tally struct {
	// Slots is how many parts there are; the rest is as in Summary.
	Slots, Target, Ready, Offerable int32
	// Shaped is how many parts have a known shape. With none there is no template.
	Shaped int32
	// Failed is how many parts have a failed boot. Unless it is zero, Target and Offerable depend on how the parts stand
	// to each other, and only Sum can tell them.
	Failed int32
}

// Add counts a part in.
func (t *Tally) Add(p Part) { t.count(p, 1) }

// Remove counts a part out that was counted in.
func (t *Tally) Remove(p Part) { t.count(p, -1) }

func (t *Tally) count(p Part, by int32) {
	t.Slots += by
	if p.State == Creating || p.State == Running {
		t.Target += by
	}
	if p.State == Running {
		t.Ready += by
	}
	if p.Refusal == nil {
		t.Offerable += by
	}
	if p.Shaped {
		t.Shaped += by
	}
	if p.Failed != nil {
		t.Failed += by
	}
}

// Bounds are the least and the largest size told to the client (see Summary).
func Bounds(group *v2.Group, target, offerable int32) (least, most int32) {
	most = target + offerable
	if group != nil {
		least = min(max(group.Spec.MinSize, 0), most)
	}
	return least, most
}

// earlier is the earlier of two times, of which a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
