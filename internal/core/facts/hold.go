package facts

import (
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Hold is a person's word that no power operation may start on a slot.
type Hold struct {
	// Held is whether the hold is in force.
	Held bool
	// Why is what a person wrote, or which field holds.
	Why string
	// Until is when it ends by itself; zero: not by itself.
	Until time.Time
}

// HoldOf reads spec.suspend and the hold annotations. An unreadable hold-until holds.
func HoldOf(slot *v2.Node, now time.Time) Hold {
	if slot == nil {
		return Hold{}
	}
	if slot.Spec.Suspend {
		return Hold{Held: true, Why: "spec.suspend is true"}
	}
	why, ok := slot.Annotations[v2.AnnotationHold]
	if !ok {
		return Hold{}
	}
	if why == "" {
		why = "annotation " + v2.AnnotationHold
	}
	text, ok := slot.Annotations[v2.AnnotationHoldUntil]
	if !ok {
		return Hold{Held: true, Why: why}
	}
	until, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return Hold{Held: true, Why: why + " (" + v2.AnnotationHoldUntil + " " + text + " is not an RFC 3339 time)"}
	}
	return Hold{Held: now.Before(until), Why: why, Until: until}
}
