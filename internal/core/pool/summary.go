package pool

import (
	"slices"
	"strings"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Summary is a group in numbers and lists: everything the read calls are answered from.
type Summary struct {
	// Target is how many machines the group is meant to have: those creating, errored or running.
	Target int32
	// Min and Max are the bounds told to the client. Max is Target plus what is offerable, so that no increase the
	// client may ask for fails for a reason known beforehand; Min is the floor of the spec, within Max.
	Min, Max int32
	// Ready is how many machines run.
	Ready int32
	// Instances are the listed machines, by slot name.
	Instances []Instance
	// Offerable are the slots that may be handed out, in the order in which they will be.
	Offerable []Slot
	// Unoffered says of every other slot what stands in its way, by slot name.
	Unoffered []Unoffered
	// ValidUntil is when time alone may change the summary; zero: only a changed object does.
	ValidUntil time.Time
}

// Unoffered is a slot that is not offerable.
type Unoffered struct {
	// Slot is the slot's name.
	Slot string
	*Refusal
}

// Instance is one listed machine.
type Instance struct {
	// ID is the providerID its kubeNode carries or will carry.
	ID string
	// Slot is the slot's name.
	Slot string
	Standing
	// Fault is why an errored machine will not come up; nil for every other state.
	Fault *BootFault
}

// Counted is whether the instance counts towards the target.
func (i Instance) Counted() bool { return i.State != Deleting }

// InstanceOf is the instance of a slot, if the group lists one.
func (s *Summary) InstanceOf(slot string) (Instance, bool) {
	i, found := slices.BinarySearchFunc(s.Instances, slot, func(i Instance, slot string) int { return strings.Compare(i.Slot, slot) })
	if !found {
		return Instance{}, false
	}
	return s.Instances[i], true
}

// Summarize reads the view once.
func Summarize(v View) *Summary {
	parts := make([]Part, len(v.Slots))
	for i, s := range v.Slots {
		parts[i] = PartOf(v, s)
	}
	return Sum(v, parts)
}

// Sum puts the parts of the view's slots together, in their order.
func Sum(v View, parts []Part) *Summary {
	sum := &Summary{Instances: make([]Instance, 0, len(parts)), Unoffered: make([]Unoffered, 0, len(parts))}
	errored := erroredBoots(v, parts)
	for i, s := range v.Slots {
		failed := errored[s.Name]
		sum.add(v, s, parts[i], failed)
		switch {
		case parts[i].Refusal != nil:
			sum.refuse(s, parts[i].Refusal)
		case failed != nil:
			sum.refuse(s, &Refusal{Obstacle: ObstacleErrored, name: failed.Name})
		default:
			sum.Offerable = append(sum.Offerable, s)
		}
	}
	sum.Offerable = inChoosingOrder(v, sum.Offerable)
	sum.Min, sum.Max = Bounds(v.Group, sum.Target, int32(len(sum.Offerable)))
	return sum
}

func (s *Summary) refuse(slot Slot, refusal *Refusal) {
	s.Unoffered = append(s.Unoffered, Unoffered{Slot: slot.Name, Refusal: refusal})
	s.until(refusal.Until)
}

// add lists the slot's machine, if the group has one.
func (s *Summary) add(v View, slot Slot, part Part, errored *v2.NodeClaim) {
	instance, listed := part.Instance(slot.Name)
	if errored != nil {
		instance.Standing = Standing{State: Errored, Phase: v2.ClaimFailed, Claim: errored}
		instance.ID, instance.Fault, listed = slot.InstanceID(errored), faultOf(errored), true
		s.until(errored.Status.FinishedAt.Add(v.Policy.ErroredFor))
	}
	if !listed {
		return
	}
	s.Instances = append(s.Instances, instance)
	if instance.Counted() {
		s.Target++
	}
	if instance.State == Running {
		s.Ready++
	}
}

func (s *Summary) until(at time.Time) { s.ValidUntil = earlier(s.ValidUntil, at) }
