package story

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestWhatTheSwitchSaidIsToldWithItsAgeAndSource(t *testing.T) {
	read := func(state v2.PowerState, ago time.Duration, why string) *v2.PowerReading {
		return &v2.PowerReading{State: state, Since: *at(-60), ObservedAt: metav1.NewTime(noon.Add(ago)), Source: "ipmi 10.0.0.5:623", Message: why}
	}
	const its = "Its switch (ipmi 10.0.0.5:623) "
	tests := map[string]struct {
		reading *v2.PowerReading
		want    string
	}{
		"nobody reads it": {nil, ""},
		"off":             {read(v2.PowerOff, -40*time.Second, ""), its + "says off, asked 40s ago, the same since 2026-01-01T11:00:00Z"},
		"an old on":       {read(v2.PowerOn, -6*time.Minute, ""), its + "says on, asked 6m0s ago, which is too long ago to count; does the power observer run?"},
		"one that hangs": {read(v2.PowerUnknown, -time.Minute, "chassis status: unreachable: no answer"),
			its + "cannot be read: chassis status: unreachable: no answer, asked 1m0s ago"},
		"one from the future": {read(v2.PowerOn, time.Hour, ""), its + "says on at a time that has not come: a clock is wrong, so that it counts for nothing"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slot := slotWith(func(s *v2.Node) { s.Status.PowerReading = test.reading })
			if diff := cmp.Diff(test.want, Of(slot, nil, nil, noon).Reading); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAConflictSaysWhereToLook(t *testing.T) {
	slot := slotWith(func(s *v2.Node) {
		s.Status.PowerReading = &v2.PowerReading{State: v2.PowerOff, Since: *at(-9), ObservedAt: *at(-1), Source: "http plug.lan"}
		s.Status.Conditions = []metav1.Condition{{Type: v2.ConditionPowerConflict, Status: metav1.ConditionTrue}}
	})
	want := []string{"kubelet and switch disagree: look which machine http plug.lan really switches; the kubelet's word counts"}
	if diff := cmp.Diff(want, Of(slot, nil, nil, noon).Do); diff != "" {
		t.Error(diff)
	}
}
