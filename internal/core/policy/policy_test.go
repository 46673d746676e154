package policy

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// TestBudgetIsTheSumOfEveryDeadlineOneBootCanSpend names the members, so that growing a deadline without growing the
// budget fails, and so does dropping a member: no proper subset adds up to the budget.
func TestBudgetIsTheSumOfEveryDeadlineOneBootCanSpend(t *testing.T) {
	members := Default().BudgetMembers()
	want := []Member{
		{"StartupJob", 5 * time.Minute},
		{"PollReserve", 30 * time.Second},
		{"Registration", 90 * time.Second},
		{"ReadinessGate", 4 * time.Minute},
		{"UncordonReserve", 10 * time.Second},
		{"Margin", time.Minute},
	}
	if diff := cmp.Diff(want, members); diff != "" {
		t.Errorf("members of the budget (-want +got):\n%s", diff)
	}
	budget := 12*time.Minute + 10*time.Second
	if got := Default().Budget(); got != budget {
		t.Errorf("budget is %s, want %s", got, budget)
	}
	for set := range 1<<len(members) - 1 {
		var sum time.Duration
		for i, member := range members {
			if set&(1<<i) != 0 {
				sum += member.Duration
			}
		}
		if sum == budget {
			t.Errorf("a proper subset (%b) of the members adds up to the budget", set)
		}
	}
}

// TestEveryDurationIsInTheBudgetOrKnownNotToBeABoots makes whoever adds a deadline say whether a boot can spend it.
func TestEveryDurationIsInTheBudgetOrKnownNotToBeABoots(t *testing.T) {
	known := []string{
		"MaxNodeProvisionTime",                                    // floors the budget
		"ShutdownJob", "ShutdownSettle", "Drain", "ShutdownPause", // ways down
		"MachineGone", "UnclaimedGrace", "StaleTaint", "PowerConflict", // machines that are on
		"StuckThreshold",                                               // a boot without a deadline
		"JoinMinAge", "JoinPatience", "SupersedeSettle", "JobPatience", // patience within the budget, which ends no boot
		"ReadingMaxAge", "ClockSkew", "CoolOffBase", "CoolOffMax", "ClaimTTL", "ErroredFor", // what comes before and after
		"ClientMargin", // the client's
	}
	for _, member := range Default().BudgetMembers() {
		known = append(known, member.Name)
	}
	kind := reflect.TypeFor[Policy]()
	var have []string
	for i := range kind.NumField() {
		if f := kind.Field(i); f.Type == reflect.TypeFor[time.Duration]() {
			have = append(have, f.Name)
		}
	}
	slices.Sort(known)
	slices.Sort(have)
	if diff := cmp.Diff(known, have); diff != "" {
		t.Errorf("durations of the policy (-known +there):\n%s", diff)
	}
}

func TestEveryTimeoutOfAGroupReplacesItsDefaultAndTheBudgetFollows(t *testing.T) {
	d := func(text time.Duration) *metav1.Duration { return &metav1.Duration{Duration: text} }
	group := &v2.Group{Spec: v2.GroupSpec{Timeouts: &v2.Timeouts{
		StartupJob: d(time.Minute), Registration: d(2 * time.Minute), ReadinessGate: d(3 * time.Minute),
		ShutdownJob: d(4 * time.Minute), ShutdownSettle: d(5 * time.Minute), Drain: d(6 * time.Minute), MachineGone: d(7 * time.Minute),
	}}}
	got := For(Default(), group)
	want := Default()
	want.StartupJob, want.Registration, want.ReadinessGate = time.Minute, 2*time.Minute, 3*time.Minute
	want.ShutdownJob, want.ShutdownSettle, want.Drain, want.MachineGone = 4*time.Minute, 5*time.Minute, 6*time.Minute, 7*time.Minute
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("policy of the group (-want +got):\n%s", diff)
	}
	// 1m + 30s + 2m + 3m + 10s + 1m
	if want := 7*time.Minute + 40*time.Second; got.Budget() != want {
		t.Errorf("the budget is %s, want %s", got.Budget(), want)
	}
	if got.MachineGoneAfter() != 7*time.Minute {
		t.Errorf("machineGone is %s", got.MachineGoneAfter())
	}
}

func TestPolicyOfAGroup(t *testing.T) {
	no, endless := false, metav1.Duration{Duration: math.MaxInt64}
	tests := map[string]struct {
		group *v2.Group
		check func(Policy) bool
	}{
		"a missing group shuts nothing down and removes no kubeNode": {
			nil, func(p Policy) bool { return p.Unclaimed == v2.UnclaimedIgnore && !p.RemoveKubeNode },
		},
		"a silent group gets the defaults": {
			&v2.Group{}, func(p Policy) bool { return cmp.Equal(p, Default()) },
		},
		"an empty list of readiness taints means none": {
			&v2.Group{Spec: v2.GroupSpec{NodeReadinessTaints: []v2.ReadinessTaint{}}},
			func(p Policy) bool { return len(p.ReadinessTaints) == 0 },
		},
		"the group's provision time floors the budget": {
			&v2.Group{Spec: v2.GroupSpec{MaxNodeProvisionTime: &metav1.Duration{Duration: 15 * time.Minute}}},
			func(p Policy) bool {
				return p.EffectiveBudget() == 15*time.Minute && p.MachineGoneAfter() == 15*time.Minute
			},
		},
		"a shorter provision time does not shorten the budget": {
			&v2.Group{Spec: v2.GroupSpec{MaxNodeProvisionTime: &metav1.Duration{Duration: time.Minute}}},
			func(p Policy) bool { return p.EffectiveBudget() == Default().Budget() },
		},
		"what was stored before times had an upper bound counts as a day": {
			&v2.Group{Spec: v2.GroupSpec{MaxNodeProvisionTime: &endless, Timeouts: &v2.Timeouts{
				StartupJob: &endless, Registration: &endless, ReadinessGate: &endless, MachineGone: &endless,
			}}},
			func(p Policy) bool {
				return p.EffectiveBudget() == 3*Longest+p.PollReserve+p.UncordonReserve+p.Margin && p.MachineGoneAfter() == Longest &&
					p.MaxNodeProvisionTime == Longest
			},
		},
		"a group may keep kubeNodes": {
			&v2.Group{Spec: v2.GroupSpec{RemoveNodeAfterShutdown: &no}},
			func(p Policy) bool { return !p.RemoveKubeNode },
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if p := For(Default(), test.group); !test.check(p) {
				t.Errorf("policy is %+v", p)
			}
		})
	}
}

func TestCoolOffDoublesFromThirtyMinutesToSixHours(t *testing.T) {
	want := map[int32]time.Duration{
		0: 0, 2: 0, 3: 30 * time.Minute, 4: time.Hour, 5: 2 * time.Hour, 6: 4 * time.Hour, 7: 6 * time.Hour, 1000: 6 * time.Hour,
	}
	for attempt, wait := range want {
		if got := Default().CoolOff(attempt); got != wait {
			t.Errorf("after %d attempts the slot cools off for %s, want %s", attempt, got, wait)
		}
	}
}

func TestValidateNamesEveryFault(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Errorf("the defaults are refused: %v", err)
	}
	p := Default()
	p.Drain, p.CoolOffMax, p.JoinPatience = 0, time.Second, time.Second
	err := p.Validate()
	if err == nil {
		t.Fatal("three faults were accepted")
	}
	want := "Drain must be positive, is 0s\n" +
		"CoolOffMax 1s is below CoolOffBase 30m0s\n" +
		"JoinPatience 1s is below JoinMinAge 1m0s: a joining claim would meet its deadline first"
	if diff := cmp.Diff(want, err.Error()); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
}
