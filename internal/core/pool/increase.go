package pool

import (
	"fmt"
	"strings"
)

// maxNamed bounds how many slots a message names.
const maxNamed = 8

// PlanIncrease is the slots to take for delta more machines: all that are offerable, in the order in which to try them,
// so that whoever loses one to another provider goes on with the next.
func PlanIncrease(v View, delta int32) ([]Slot, error) {
	if delta <= 0 {
		return nil, Faultf(Malformed, "delta must be positive, is %d", delta)
	}
	sum := Summarize(v)
	if int(delta) > len(sum.Offerable) {
		return nil, Faultf(Refused, "no free node slot: group %s is asked for %d more, %d of its %d slots are offerable%s",
			v.Name, delta, len(sum.Offerable), len(v.own()), sum.obstacles())
	}
	return sum.Offerable, nil
}

// obstacles lists why slots are not offerable, for a message.
func (s *Summary) obstacles() string {
	var b strings.Builder
	for i, refused := range s.Unoffered {
		if i == maxNamed {
			fmt.Fprintf(&b, "; and %d more", len(s.Unoffered)-maxNamed)
			break
		}
		fmt.Fprintf(&b, "; %s: %s", refused.Slot, refused.Detail())
	}
	return b.String()
}
