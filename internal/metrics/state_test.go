package metrics

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func aSlot(edit func(*v2.Node)) v2.Node {
	slot := v2.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "slot", Labels: map[string]string{v2.LabelGroup: "arm"}}}
	slot.Status.Phase, slot.Status.PowerState = v2.SlotOff, v2.PowerOff
	if edit != nil {
		edit(&slot)
	}
	return slot
}

func aClaim(edit func(*v2.NodeClaim)) v2.NodeClaim {
	claim := v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n1-abc", CreationTimestamp: metav1.NewTime(noon)}}
	claim.Spec.SlotRef.Name, claim.Spec.Request.Group, claim.Status.Phase = "n1", "arm", v2.ClaimReady
	if edit != nil {
		edit(&claim)
	}
	return claim
}

func registryOf(t *testing.T, pool **Pool) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	if err := registry.Register(NewState(func(context.Context) (*Pool, error) { return *pool, nil })); err != nil {
		t.Fatal(err)
	}
	return registry
}

func TestStateTellsWhatTheObjectsSay(t *testing.T) {
	at := metav1.NewTime(noon)
	tests := map[string]struct {
		pool Pool
		// want is the series of interest, as a scrape shows them.
		want string
	}{
		"a slot is off because nobody wants it": {
			Pool{Slots: []v2.Node{aSlot(nil)}},
			`slot_phase{group="arm",phase="booting",slot="n1"} 0
slot_phase{group="arm",phase="draining",slot="n1"} 0
slot_phase{group="arm",phase="off",slot="n1"} 1
slot_phase{group="arm",phase="pending",slot="n1"} 0
slot_phase{group="arm",phase="ready",slot="n1"} 0
slot_power_state{group="arm",slot="n1",state="off"} 1
slot_power_state{group="arm",slot="n1",state="on"} 0
slot_power_state{group="arm",slot="n1",state="unknown"} 0
slot_wanted{group="arm",slot="n1"} 0
slot_unclaimed{group="arm",slot="n1"} 0`,
		},
		"a live claim makes its slot wanted": {
			Pool{Slots: []v2.Node{aSlot(nil)}, Claims: []v2.NodeClaim{aClaim(nil)}},
			`slot_wanted{group="arm",slot="n1"} 1
claim_phase{claim="n1-abc",group="arm",phase="ready",slot="n1"} 1
claim_phase{claim="n1-abc",group="arm",phase="failed",slot="n1"} 0
claim_requested_timestamp_seconds{claim="n1-abc",group="arm",slot="n1"} 1.7672688e+09`,
		},
		"a marked claim wants nothing, and its shutdown attempts count": {
			Pool{Slots: []v2.Node{aSlot(nil)}, Claims: []v2.NodeClaim{aClaim(func(c *v2.NodeClaim) {
				c.Spec.Request.Call, c.Status.ShutdownAttempts, c.Finalizers = v2.CallDeleteNodes, 2, []string{v2.FinalizerNodeClaim}
			})}},
			`slot_wanted{group="arm",slot="n1"} 0
slot_shutdown_attempts{group="arm",slot="n1"} 2`,
		},
		"the deadline of a boot, and none once it ended": {
			Pool{Claims: []v2.NodeClaim{
				aClaim(func(c *v2.NodeClaim) { c.Status.Phase, c.Spec.DeadlineAt = v2.ClaimBooting, &at }),
				aClaim(func(c *v2.NodeClaim) { c.Name, c.Status.Phase, c.Spec.DeadlineAt = "n1-old", v2.ClaimFailed, &at }),
			}},
			`claim_deadline_timestamp_seconds{claim="n1-abc",group="arm",slot="n1"} 1.7672688e+09`,
		},
		"what the machine costs": {
			Pool{Slots: []v2.Node{aSlot(func(s *v2.Node) {
				s.Spec.Pricing, s.Spec.Watts = &v2.Pricing{HourlyRate: "0.05", PodRate: "0"}, new(int32(65))
			})}},
			`slot_hourly_rate{group="arm",slot="n1"} 0.05
slot_watts{group="arm",slot="n1"} 65`,
		},
		"a slot that is kept back": {
			Pool{Slots: []v2.Node{aSlot(func(s *v2.Node) {
				s.Status.Conditions = []metav1.Condition{{Type: v2.ConditionCoolingOff, Status: metav1.ConditionTrue}, {Type: v2.ConditionHeld, Status: metav1.ConditionTrue}}
				s.Status.LastClaim = &v2.ClaimDigest{Attempt: 3}
			})}},
			`slot_cooling_off{group="arm",slot="n1"} 1
slot_held{group="arm",slot="n1"} 1
slot_boot_attempt{group="arm",slot="n1"} 3`,
		},
		"a group": {
			Pool{Groups: []v2.Group{{ObjectMeta: metav1.ObjectMeta{Name: "arm"}, Spec: v2.GroupSpec{MinSize: 1},
				Status: v2.GroupStatus{Slots: 5, Offerable: 3, TargetSize: 2, Ready: 1, EffectiveBudget: &metav1.Duration{Duration: 730 * time.Second},
					Conditions: []metav1.Condition{{Type: v2.ConditionBootsHealthy, Status: metav1.ConditionFalse}, {Type: "Ready", Status: metav1.ConditionUnknown}}}}}},
			`group_slots{group="arm"} 5
group_offerable{group="arm"} 3
group_target_size{group="arm"} 2
group_ready{group="arm"} 1
group_min_size{group="arm"} 1
group_budget_seconds{group="arm"} 730
group_condition{condition="BootsHealthy",group="arm"} 0
leader 1`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			pool := &tt.pool
			got := exposition(t, registryOf(t, &pool))
			for _, line := range strings.Split(tt.want, "\n") {
				if !strings.Contains(got, "\n"+namespace+"_"+line+"\n") {
					t.Errorf("%s is not told; told was:\n%s", line, got)
				}
			}
			families := map[string]int{"claim_deadline_timestamp_seconds{": 1, "group_condition{": 1}
			for family, most := range families {
				if n := strings.Count(got, "\n"+namespace+"_"+family); n > most {
					t.Errorf("%d series of %s…}, want at most %d", n, family, most)
				}
			}
		})
	}
}

func TestSeriesGoWithTheirObject(t *testing.T) {
	pool := &Pool{Slots: []v2.Node{aSlot(nil)}, Claims: []v2.NodeClaim{aClaim(nil)}, Groups: []v2.Group{{ObjectMeta: metav1.ObjectMeta{Name: "arm"}}}}
	registry := registryOf(t, &pool)
	if before := testutil.CollectAndCount(NewState(func(context.Context) (*Pool, error) { return pool, nil })); before < 10 {
		t.Fatalf("%d series of a pool of one", before)
	}
	pool = &Pool{}
	if got := exposition(t, registry); strings.Contains(got, "arm") {
		t.Errorf("told of what is gone:\n%s", got)
	}
}

func TestOnlyTheLeaderTells(t *testing.T) {
	var pool *Pool
	got := exposition(t, registryOf(t, &pool))
	if !strings.Contains(got, namespace+"_leader 0\n") || strings.Contains(got, "slot") {
		t.Errorf("told while another replica leads:\n%s", got)
	}
}

func TestACacheThatCannotBeReadFailsTheScrape(t *testing.T) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(NewState(func(context.Context) (*Pool, error) { return nil, errors.New("no cache") })); err != nil {
		t.Fatal(err)
	}
	if _, err := registry.Gather(); err == nil || !strings.Contains(err.Error(), "no cache") {
		t.Errorf("gathered with %v", err)
	}
}

func TestUptimeCountsWhatTheStatusTells(t *testing.T) {
	type seen struct {
		after time.Duration
		state v2.PowerState
		since time.Duration
	}
	tests := map[string]struct {
		seen []seen
		want time.Duration
	}{
		"counting begins with the first look":   {[]seen{{0, v2.PowerOn, -time.Hour}}, 0},
		"on all the while":                      {[]seen{{0, v2.PowerOn, -time.Hour}, {time.Minute, v2.PowerOn, -time.Hour}}, time.Minute},
		"off all the while":                     {[]seen{{0, v2.PowerOff, -time.Hour}, {time.Minute, v2.PowerOff, -time.Hour}}, 0},
		"went on between two looks":             {[]seen{{0, v2.PowerOff, 0}, {time.Minute, v2.PowerOn, 40 * time.Second}}, 20 * time.Second},
		"went off between two looks":            {[]seen{{0, v2.PowerOn, 0}, {time.Minute, v2.PowerOff, 40 * time.Second}}, 40 * time.Second},
		"unknown is not counted":                {[]seen{{0, v2.PowerUnknown, 0}, {time.Minute, v2.PowerUnknown, 0}}, 0},
		"a clock that was behind adds nothing":  {[]seen{{0, v2.PowerOff, 0}, {time.Minute, v2.PowerOff, time.Hour}}, 0},
		"the sum grows over looks of one state": {[]seen{{0, v2.PowerOn, 0}, {time.Minute, v2.PowerOn, 0}, {3 * time.Minute, v2.PowerOn, 0}}, 3 * time.Minute},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			u := newUptime()
			var got float64
			for _, look := range tt.seen {
				slot := aSlot(func(s *v2.Node) {
					s.Status.PowerState, s.Status.PowerStateSince = look.state, new(metav1.NewTime(noon.Add(look.since)))
				})
				got = u.seconds(&slot, noon.Add(look.after))
			}
			if got != tt.want.Seconds() {
				t.Errorf("%v s, want %v", got, tt.want)
			}
		})
	}
}

func TestUptimeForgetsASlotThatWent(t *testing.T) {
	u := newUptime()
	slot := aSlot(nil)
	u.seconds(&slot, noon)
	u.keep(nil)
	if _, kept := u.slots[types.UID("slot")]; kept {
		t.Error("a slot that is gone is remembered")
	}
}

// exposition is what a scrape gets.
func exposition(t *testing.T, registry *prometheus.Registry) string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	return "\n" + text.String()
}
