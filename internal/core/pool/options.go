package pool

import (
	"fmt"
	"math"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Options are how a group is scaled, in the client's terms. A nil duration is one the client did not send.
type Options struct {
	ScaleDownUtilizationThreshold    float64
	ScaleDownGpuUtilizationThreshold float64
	ScaleDownUnneededTime            *time.Duration
	ScaleDownUnreadyTime             *time.Duration
	MaxNodeProvisionTime             *time.Duration
	ZeroOrMaxNodeScaling             bool
	IgnoreDaemonSetsUtilization      bool
}

// OptionsFor is the client's defaults with the group's wishes on top, or a NotOffered fault when there are none: an
// answer that changes nothing would still cost a client from 1.35 on the start-up time of its nodes.
//
// The provision time told is the longest boot plus a margin, so that our deadline comes before the client's and the
// client hears of a failed boot instead of timing it out. A client before 1.29 sends no provision time, has none, and
// treats Unimplemented as an error; it always gets an answer.
func OptionsFor(v View, defaults *Options) (Options, error) {
	told := v.Policy.EffectiveBudget() + v.Policy.ClientMargin
	if defaults == nil {
		return Options{}, Faultf(Malformed, "the request carries no defaults")
	}
	if defaults.ScaleDownUnneededTime == nil || defaults.ScaleDownUnreadyTime == nil {
		return Options{}, Faultf(Malformed, "the defaults carry no unneeded or no unready time")
	}
	options := *defaults
	if defaults.MaxNodeProvisionTime == nil || *defaults.MaxNodeProvisionTime < told {
		options.MaxNodeProvisionTime = &told
	}
	options.override(v)
	if options.same(*defaults) {
		return Options{}, Faultf(NotOffered, "group %s leaves its options to the client", v.Name)
	}
	return options, nil
}

func (o *Options) override(v View) {
	if v.Group == nil {
		return
	}
	spec := v.Group.Spec
	setFraction(&o.ScaleDownUtilizationThreshold, spec.ScaleDownUtilizationThreshold)
	setFraction(&o.ScaleDownGpuUtilizationThreshold, spec.ScaleDownGpuUtilizationThreshold)
	setDuration(&o.ScaleDownUnneededTime, spec.ScaleDownUnneededTime)
	setDuration(&o.ScaleDownUnreadyTime, spec.ScaleDownUnreadyTime)
	if spec.ZeroOrMaxNodeScaling != nil {
		o.ZeroOrMaxNodeScaling = *spec.ZeroOrMaxNodeScaling
	}
	if spec.IgnoreDaemonSetsUtilization != nil {
		o.IgnoreDaemonSetsUtilization = *spec.IgnoreDaemonSetsUtilization
	}
}

func (o Options) same(as Options) bool {
	return o.ScaleDownUtilizationThreshold == as.ScaleDownUtilizationThreshold &&
		o.ScaleDownGpuUtilizationThreshold == as.ScaleDownGpuUtilizationThreshold &&
		sameDuration(o.ScaleDownUnneededTime, as.ScaleDownUnneededTime) &&
		sameDuration(o.ScaleDownUnreadyTime, as.ScaleDownUnreadyTime) &&
		sameDuration(o.MaxNodeProvisionTime, as.MaxNodeProvisionTime) &&
		o.ZeroOrMaxNodeScaling == as.ZeroOrMaxNodeScaling &&
		o.IgnoreDaemonSetsUtilization == as.IgnoreDaemonSetsUtilization
}

func sameDuration(a, b *time.Duration) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func setDuration(to **time.Duration, from *metav1.Duration) {
	if from != nil && from.Duration >= 0 {
		*to = new(from.Duration)
	}
}

// setFraction leaves the default where the group's number cannot be read; Broken says so on the group.
func setFraction(to *float64, from string) {
	if from == "" {
		return
	}
	if fraction, err := parseFraction(from); err == nil {
		*to = fraction
	}
}

func parseFraction(text string) (float64, error) {
	fraction, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(fraction) || fraction < 0 || fraction > 1 {
		return 0, fmt.Errorf("%q is not a number from 0 to 1", text)
	}
	return fraction, nil
}

// Broken says what is wrong with the group itself, or nil. A broken group is not offered to the client, and spoils no
// answer about another.
func Broken(v View) error {
	if v.Group == nil {
		return nil
	}
	spec := v.Group.Spec
	for _, threshold := range []struct{ field, value string }{
		{"spec.scaleDownUtilizationThreshold", spec.ScaleDownUtilizationThreshold},
		{"spec.scaleDownGpuUtilizationThreshold", spec.ScaleDownGpuUtilizationThreshold},
	} {
		if threshold.value == "" {
			continue
		}
		if _, err := parseFraction(threshold.value); err != nil {
			return fmt.Errorf("reading %s: %w", threshold.field, err)
		}
	}
	if spec.MinSize < 0 {
		return fmt.Errorf("reading spec.minSize: %d is negative", spec.MinSize)
	}
	if err := v.Policy.Validate(); err != nil {
		return fmt.Errorf("reading spec.timeouts: %w", err)
	}
	return nil
}
