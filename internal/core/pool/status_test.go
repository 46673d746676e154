package pool

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestStatus(t *testing.T) {
	booted := func(seconds int) func(*v2.Node) {
		return func(s *v2.Node) {
			s.Status.LastClaim = &v2.ClaimDigest{RequestedAt: at(-time.Hour), ReadyAt: at(-time.Hour + time.Duration(seconds)*time.Second)}
		}
	}
	v := view(group(), slot("a", booted(100)), slot("b", booted(700)), slot("c", suspended), slot("d", moved),
		claim("a", 1, v2.ClaimReady), claim("b", 1, v2.ClaimBooting), claim("d", 1, v2.ClaimReady))
	old := v2.GroupStatus{Conditions: []metav1.Condition{
		{Type: v2.ConditionReady, Status: metav1.ConditionTrue, Reason: ReasonOffered, LastTransitionTime: *at(-time.Hour)},
	}}
	got := Status(v, old)
	counts := [4]int32{got.Slots, got.Offerable, got.TargetSize, got.Ready}
	if want := [4]int32{3, 0, 3, 2}; counts != want {
		t.Errorf("slots, offerable, target, ready = %v, want %v", counts, want)
	}
	if got.ObservedGeneration != 3 || got.EffectiveBudget.Duration != 12*time.Minute+10*time.Second || *got.BootSecondsP95 != 700 {
		t.Errorf("generation %d, budget %s, p95 %d", got.ObservedGeneration, got.EffectiveBudget.Duration, *got.BootSecondsP95)
	}
	if ready := meta.FindStatusCondition(got.Conditions, v2.ConditionReady); !ready.LastTransitionTime.Equal(at(-time.Hour)) {
		t.Errorf("a condition that stayed moved to %s", ready.LastTransitionTime)
	}
	if boots := meta.FindStatusCondition(got.Conditions, v2.ConditionBootsHealthy); boots.Reason != ReasonNearBudget || !boots.LastTransitionTime.Equal(at(0)) {
		t.Errorf("boots: %+v", boots)
	}
	if again := Status(v, got); !cmp.Equal(got, again) {
		t.Errorf("a second reading differs:\n%s", cmp.Diff(got, again))
	}
}

func TestBootsThatFailTellTheTimeTheyTook(t *testing.T) {
	status := Status(view(group(), slot("a", failuresOf(3, 7*time.Minute)), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), func(c *v2.NodeClaim) {
		c.CreationTimestamp = *at(-20 * time.Minute)
		c.Status.FinishedAt = at(-7 * time.Minute)
		c.Status.Conditions = []metav1.Condition{{Type: v2.ConditionRegistered, Status: "True", LastTransitionTime: *at(-6 * time.Minute)}}
	})), v2.GroupStatus{})
	boots := meta.FindStatusCondition(status.Conditions, v2.ConditionBootsHealthy)
	if boots.Reason != ReasonCoolingOff || !strings.Contains(boots.Message, "a registered 14m0s after the request, and a boot has 12m10s") {
		t.Errorf("got %+v", boots)
	}
}

func TestStatusConditions(t *testing.T) {
	cameLate := func(c *v2.NodeClaim) {
		c.CreationTimestamp = *at(-20 * time.Minute)
		c.Status.Conditions = []metav1.Condition{{Type: v2.ConditionRegistered, Status: "True", LastTransitionTime: *at(-6 * time.Minute)}}
		c.Status.FinishedAt = at(-7 * time.Minute)
	}
	for name, test := range map[string]struct {
		objects []metav1.Object
		kind    string
		status  metav1.ConditionStatus
		reason  string
	}{
		"offered":                 {[]metav1.Object{group(), slot("a")}, v2.ConditionReady, "True", ReasonOffered},
		"for people":              {[]metav1.Object{group(func(g *v2.Group) { g.Spec.Engine = v2.EngineNone }), slot("a")}, v2.ConditionReady, "True", ReasonForPeople},
		"without slots":           {[]metav1.Object{group()}, v2.ConditionReady, "False", ReasonNoSlots},
		"without capacity":        {[]metav1.Object{group(), slot("a", func(s *v2.Node) { s.Spec.NodeCapacity = nil })}, v2.ConditionReady, "False", ReasonCapacityUnknown},
		"a threshold of nonsense": {[]metav1.Object{group(func(g *v2.Group) { g.Spec.ScaleDownGpuUtilizationThreshold = "2" }), slot("a")}, v2.ConditionReady, "False", ReasonInvalidSpec},
		"alike":                   {[]metav1.Object{group(), slot("a"), slot("b")}, v2.ConditionHeterogeneousCapacity, "False", ReasonAlike},
		"unlike by price":         {[]metav1.Object{group(), slot("a"), slot("b", price("1"))}, v2.ConditionHeterogeneousCapacity, "True", ReasonUnlike},
		"Jobs start":              {[]metav1.Object{group(), slot("a")}, v2.ConditionPowerJobsFailing, "False", ReasonJobsStart},
		"no boots yet":            {[]metav1.Object{group(), slot("a")}, v2.ConditionBootsHealthy, "Unknown", ReasonNoBootsYet},
		"boots that keep failing": {[]metav1.Object{group(), slot("a", failuresOf(3, 0))}, v2.ConditionBootsHealthy, "False", ReasonCoolingOff},
		"a boot that registered when its time was over": {[]metav1.Object{group(), slot("a"),
			claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), cameLate)}, v2.ConditionBootsHealthy, "False", ReasonOverBudget},
		"the newest Job never started": {[]metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimFailed, func(c *v2.NodeClaim) {
			c.Status.Jobs = []v2.JobRecord{{CreatedAt: at(-time.Hour)}, {CreatedAt: at(-time.Minute), Outcome: v2.JobNeverStarted}}
		})}, v2.ConditionPowerJobsFailing, "True", ReasonNeverStarted},
		"a newer Job started": {[]metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimFailed, func(c *v2.NodeClaim) {
			c.Status.Jobs = []v2.JobRecord{{CreatedAt: at(-time.Hour), Outcome: v2.JobNeverStarted}, {CreatedAt: at(-time.Minute)}}
		})}, v2.ConditionPowerJobsFailing, "False", ReasonJobsStart},
	} {
		t.Run(name, func(t *testing.T) {
			status := Status(view(test.objects...), v2.GroupStatus{})
			got := meta.FindStatusCondition(status.Conditions, test.kind)
			if got == nil || got.Status != test.status || got.Reason != test.reason || got.Message == "" {
				t.Errorf("got %+v, want %s %s", got, test.status, test.reason)
			}
		})
	}
}
