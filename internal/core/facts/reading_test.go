package facts

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

func TestAReadingOfUnknownAgeIsUnknownNeverOff(t *testing.T) {
	p := policy.Default()
	tests := map[string]struct {
		slot *v2.Node
		want v2.PowerState
	}{
		"no slot":                              {nil, v2.PowerUnknown},
		"a slot that nobody reads":             {&v2.Node{}, v2.PowerUnknown},
		"one of just now":                      {read(v2.PowerOff, 0), v2.PowerOff},
		"one as old as it may be":              {read(v2.PowerOff, -p.ReadingMaxAge), v2.PowerOff},
		"one a second older":                   {read(v2.PowerOff, -p.ReadingMaxAge-time.Second), v2.PowerUnknown},
		"one by a clock that is a little fast": {read(v2.PowerOn, p.ClockSkew), v2.PowerOn},
		"one from the future":                  {read(v2.PowerOn, p.ClockSkew+time.Second), v2.PowerUnknown},
		"one that says nothing":                {read("", 0), v2.PowerUnknown},
		"one that says that it is not known":   {read(v2.PowerUnknown, 0), v2.PowerUnknown},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := ReadingOf(test.slot).Fresh(noon, p); got.State != test.want {
				t.Errorf("it counts as %s, want %s", got.State, test.want)
			}
		})
	}
}

// read is a slot whose switch was read at a time from noon, and has always said so.
func read(state v2.PowerState, at time.Duration) *v2.Node {
	observed := metav1.NewTime(noon.Add(at))
	return &v2.Node{Status: v2.NodeStatus{PowerReading: &v2.PowerReading{State: state, Since: observed, ObservedAt: observed}}}
}

func TestOffCountsWhenItIsNewsOfTheShutdown(t *testing.T) {
	p := policy.Default()
	late := noon.Add(p.ClockSkew + time.Second)
	tests := map[string]struct {
		reading   Reading
		kubeletOn bool
		want      bool
	}{
		"it turned to off since":                              {Reading{v2.PowerOff, late, late}, true, true},
		"it has said off all along, and the kubelet reports":  {Reading{v2.PowerOff, noon.Add(-time.Hour), late}, true, false},
		"it has said off all along, and the kubelet is quiet": {Reading{v2.PowerOff, noon.Add(-time.Hour), late}, false, true},
		"it was asked before":                                 {Reading{v2.PowerOff, noon.Add(-time.Hour), noon}, false, false},
		"it was asked after, by no more than clocks differ":   {Reading{v2.PowerOff, noon, noon.Add(p.ClockSkew)}, false, false},
		"it says on":      {Reading{v2.PowerOn, late, late}, false, false},
		"it says nothing": {Reading{v2.PowerUnknown, late, late}, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.reading.SaysOffAfter(noon, test.kubeletOn, p); got != test.want {
				t.Errorf("it counts: %t, want %t", got, test.want)
			}
		})
	}
}

func TestAReadingGoesStaleOnceItCountsAsUnknown(t *testing.T) {
	p := policy.Default()
	for _, state := range []v2.PowerState{v2.PowerOn, v2.PowerOff, v2.PowerUnknown} {
		r := Reading{State: state, At: noon}
		stale := r.GoesStale(p)
		if stale.IsZero() != (state == v2.PowerUnknown) {
			t.Fatalf("%s goes stale at %v", state, stale)
		}
		if stale.IsZero() {
			continue
		}
		if r.Fresh(stale.Add(-time.Second), p).State != state || r.Fresh(stale, p).State != v2.PowerUnknown {
			t.Errorf("%s is not fresh until %v and unknown from then on", state, stale)
		}
	}
}
