package metrics

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestClaimSavedCountsWhatIsNew(t *testing.T) {
	asked := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	readyAt := metav1.NewTime(asked.Add(90 * time.Second))
	deadline := metav1.NewTime(asked.Add(12 * time.Minute))
	assumed := []metav1.Condition{{Type: v2.ConditionMachineObservedOff, Status: metav1.ConditionUnknown, Reason: "AssumedOff"}}
	job := func(outcome v2.JobOutcome) []v2.JobRecord {
		return []v2.JobRecord{{Operation: v2.OperationStartup, N: 1, Outcome: outcome}}
	}
	for name, test := range map[string]struct {
		before, after v2.NodeClaimStatus
		want          map[string]float64
	}{
		"nothing new": {v2.NodeClaimStatus{Phase: v2.ClaimFailed, Conditions: assumed, Jobs: job(v2.JobFailed)},
			v2.NodeClaimStatus{Phase: v2.ClaimFailed, Conditions: assumed, Jobs: job(v2.JobFailed)}, map[string]float64{}},
		"a claim failed": {v2.NodeClaimStatus{Phase: v2.ClaimBooting}, v2.NodeClaimStatus{Phase: v2.ClaimFailed, Reason: v2.ReasonDeadlineExceeded},
			map[string]float64{"claims_finished_total arm failed DeadlineExceeded": 1}},
		"a boot reached ready": {v2.NodeClaimStatus{Phase: v2.ClaimBooting}, v2.NodeClaimStatus{Phase: v2.ClaimReady, ReadyAt: &readyAt},
			map[string]float64{"boot_seconds arm ready": 90, "boot_budget_ratio arm": 0.125}},
		"a boot failed": {v2.NodeClaimStatus{Phase: v2.ClaimBooting}, v2.NodeClaimStatus{Phase: v2.ClaimFailed, Reason: v2.ReasonStartupJobFailed, FinishedAt: &readyAt},
			map[string]float64{"claims_finished_total arm failed StartupJobFailed": 1, "boot_seconds arm failed": 90}},
		"a join is no boot": {v2.NodeClaimStatus{}, v2.NodeClaimStatus{Phase: v2.ClaimReady, ReadyAt: &readyAt}, map[string]float64{}},
		"a machine is assumed off": {v2.NodeClaimStatus{Phase: v2.ClaimFailed}, v2.NodeClaimStatus{Phase: v2.ClaimFailed, Conditions: assumed},
			map[string]float64{"machines_assumed_off_total arm": 1}},
		"a Job ended": {v2.NodeClaimStatus{Phase: v2.ClaimBooting, Jobs: job("")}, v2.NodeClaimStatus{Phase: v2.ClaimBooting, Jobs: job(v2.JobSucceeded)},
			map[string]float64{"lifecycle_jobs_finished_total arm Startup Succeeded": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			m, err := New(registry)
			if err != nil {
				t.Fatal(err)
			}
			claim := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(asked)}, Status: test.before}
			claim.Spec.Request.Group, claim.Spec.DeadlineAt = "arm", &deadline
			m.ClaimSaved(claim, test.after)
			if diff := cmp.Diff(test.want, gather(t, registry)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// gather reads every counter, and the sum of every histogram, as "name label values".
func gather(t *testing.T, registry *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()[len(namespace)+1:]
			// Labels come sorted by name, which is also the order of their meaning here.
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = metric.GetCounter().GetValue() + metric.GetHistogram().GetSampleSum()
		}
	}
	return values
}

func TestAClaimThatVanishesIsCountedOnce(t *testing.T) {
	digest := func(name string, phase v2.ClaimPhase, reason v2.ClaimReason) *v2.ClaimDigest {
		return &v2.ClaimDigest{Name: name, Phase: phase, Reason: reason, Request: v2.ClaimRequest{Group: "workers"}}
	}
	closed := digest("a", v2.ClaimFailed, v2.ReasonDeletedByHand)
	for name, test := range map[string]struct {
		before, after *v2.ClaimDigest
		want          float64
	}{
		"closed while ready":             {digest("a", v2.ClaimReady, ""), closed, 1},
		"closed while booting":           {digest("a", v2.ClaimBooting, ""), closed, 1},
		"told before":                    {closed, closed, 0},
		"deleted by a person, and ended": {digest("a", v2.ClaimReady, ""), digest("a", v2.ClaimCompleted, v2.ReasonDeletedByHand), 0},
		"another episode":                {digest("a", v2.ClaimReady, ""), digest("b", v2.ClaimBooting, ""), 0},
		"the first episode":              {nil, digest("a", v2.ClaimBooting, ""), 0},
	} {
		t.Run(name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			m, err := New(registry)
			if err != nil {
				t.Fatal(err)
			}
			m.SlotSaved(&v2.Node{Status: v2.NodeStatus{LastClaim: test.before}}, v2.NodeStatus{LastClaim: test.after})
			if got := gather(t, registry)["claims_vanished_total workers"]; got != test.want {
				t.Errorf("counted %v, want %v", got, test.want)
			}
		})
	}
}

func TestTwoManagersOfOneProcessShareTheMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	for range 2 {
		m, err := New(registry)
		if err != nil {
			t.Fatal(err)
		}
		m.Refused("conflict")
	}
	if got := gather(t, registry)["writes_refused_total conflict"]; got != 2 {
		t.Errorf("counted %v of 2", got)
	}
}

func TestCallsAreTimedByMethodAndCode(t *testing.T) {
	registry := prometheus.NewRegistry()
	m, err := New(registry)
	if err != nil {
		t.Fatal(err)
	}
	m.Answered("NodeGroups", "OK", 250*time.Millisecond)
	m.Answered("NodeGroups", "OK", 250*time.Millisecond)
	m.Answered("NodeGroupIncreaseSize", "FailedPrecondition", time.Second)
	// Labels come sorted by name: the code before the method.
	want := map[string]float64{"provider_rpc_seconds OK NodeGroups": 0.5, "provider_rpc_seconds FailedPrecondition NodeGroupIncreaseSize": 1}
	if diff := cmp.Diff(want, gather(t, registry)); diff != "" {
		t.Error(diff)
	}
}

// TestEverySeriesSaysItsNamespace: two managers in one process count apart, and share what is their namespace's.
func TestEverySeriesSaysItsNamespace(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	for _, refused := range []struct {
		namespace string
		times     int
	}{{"attic", 1}, {"cellar", 2}, {"attic", 4}} {
		m, err := New(Of(refused.namespace, registry))
		if err != nil {
			t.Fatal(err)
		}
		for range refused.times {
			m.Refused("conflict")
		}
	}
	if err := Of("attic", registry).Register(NewState(func(context.Context) (*Pool, error) {
		return &Pool{Slots: []v2.Node{aSlot(nil)}}, nil
	})); err != nil {
		t.Fatal(err)
	}
	got := exposition(t, registry)
	for _, line := range []string{
		`writes_refused_total{class="conflict",namespace="attic"} 5`, `writes_refused_total{class="conflict",namespace="cellar"} 2`,
		`slot_wanted{group="arm",namespace="attic",slot="n1"} 0`, `leader{namespace="attic"} 1`,
	} {
		if !strings.Contains(got, "\n"+namespace+"_"+line+"\n") {
			t.Errorf("%s is not told; told was:\n%s", line, got)
		}
	}
}
