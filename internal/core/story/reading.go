package story

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// tellReading says what the machine's own switch said last, how long ago, and whether that still counts.
func (s *Story) tellReading(slot *v2.Node, now time.Time) {
	r := slot.Status.PowerReading
	if r == nil {
		return
	}
	state := "says " + string(r.State)
	if r.State == v2.PowerUnknown {
		state = "cannot be read: " + r.Message
	}
	s.Reading = fmt.Sprintf("Its switch (%s) %s, asked %s ago", r.Source, state, now.Sub(r.ObservedAt.Time).Round(time.Second))
	switch known, fresh := facts.ReadingOf(slot), facts.ReadingOf(slot).Fresh(now, policy.Default()); {
	case known.State == v2.PowerUnknown:
	case fresh.State == v2.PowerUnknown && known.At.After(now):
		s.Reading = fmt.Sprintf("Its switch (%s) says %s at a time that has not come: a clock is wrong, so that it counts for nothing", r.Source, r.State)
	case fresh.State == v2.PowerUnknown:
		s.Reading += ", which is too long ago to count; does the power observer run?"
	default:
		s.Reading += fmt.Sprintf(", the same since %s", r.Since.UTC().Format(time.RFC3339))
	}
	if meta.IsStatusConditionTrue(slot.Status.Conditions, v2.ConditionPowerConflict) {
		s.do("kubelet and switch disagree: look which machine %s really switches; the kubelet's word counts", r.Source)
	}
}
