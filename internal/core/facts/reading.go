package facts

import (
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Reading is what the machine's own switch says of its power. Its zero value is unknown.
type Reading struct {
	// State is on, off or unknown. Unknown is never read as off.
	State v2.PowerState
	// Since is when the switch was first heard to say so, of the readings that have said so, or nothing, ever since.
	Since time.Time
	// At is when the switch was asked, by the observer's clock.
	At time.Time
}

// ReadingOf is the reading that the slot's status holds; none is unknown.
func ReadingOf(slot *v2.Node) Reading {
	if slot == nil || slot.Status.PowerReading == nil {
		return Reading{}
	}
	r := slot.Status.PowerReading
	return Reading{State: r.State, Since: r.Since.Time, At: r.ObservedAt.Time}
}

// Fresh is the reading, or unknown when it is older than the policy allows. One from the future is unknown as well: its
// clock is wrong, so that nobody knows how old it is, and it would stay fresh for ever.
func (r Reading) Fresh(now time.Time, p policy.Policy) Reading {
	age := now.Sub(r.At)
	if r.State == "" || age > p.ReadingMaxAge || age < -p.ClockSkew {
		return Reading{State: v2.PowerUnknown, Since: r.Since, At: r.At}
	}
	return r
}

// GoesStale is when a fresh reading begins to count as unknown; zero: it is unknown already.
func (r Reading) GoesStale(p policy.Policy) time.Time {
	if r.State != v2.PowerOn && r.State != v2.PowerOff {
		return time.Time{}
	}
	return r.At.Add(p.ReadingMaxAge + time.Second)
}

// SaysOffAfter is whether the switch said off after t. The observer's clock is not ours, so that after is later by more than
// the two may differ. While the kubelet reports, which a switch that is wrong about its machine contradicts, the switch must
// have turned to off since then: one that has said off all along says nothing about what was done to the machine.
func (r Reading) SaysOffAfter(t time.Time, kubeletOn bool, p policy.Policy) bool {
	said := r.At
	if kubeletOn {
		said = r.Since
	}
	return r.State == v2.PowerOff && said.After(t.Add(p.ClockSkew))
}
