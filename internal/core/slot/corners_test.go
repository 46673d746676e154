package slot

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// TestAClaimsOwnWindowCounts where it has one, but is never shorter than the budget.
func TestAClaimsOwnWindowCounts(t *testing.T) {
	for own, window := range map[time.Duration]time.Duration{
		20 * time.Minute: 20 * time.Minute, time.Minute: 730 * time.Second, 48 * time.Hour: 24 * time.Hour,
	} {
		w := newWorld(t)
		c := w.newClaim(toldClaim)
		c.Spec.DeadlineAt, c.Spec.MaxNodeProvisionTime = nil, &metav1.Duration{Duration: own}
		d := w.step()
		if want := "deadline " + instant(w.now.Add(window)); !strings.HasSuffix(d.Notes[0].Message, want) {
			t.Errorf("%s: %q, want %s", own, d.Notes[0].Message, want)
		}
	}
}

// TestAnEndedClaimIsKeptForItsTime which may be none.
func TestAnEndedClaimIsKeptForItsTime(t *testing.T) {
	tests := map[string]struct {
		own  *int32
		kept time.Duration
	}{
		"none said": {nil, time.Hour},
		"a day":     {new(int32(86400)), 24 * time.Hour},
		"nothing":   {new(int32(0)), 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.ended(v2.ClaimCompleted)
			c.Spec.TTLSecondsAfterFinished = test.own
			if test.kept > 0 {
				w.now = w.now.Add(test.kept - time.Second)
				if d := w.step(); len(d.Removals) > 0 || !d.Wake.Equal(w.now.Add(time.Second)) {
					t.Errorf("a second early: removals %v, wake %s", d.Removals, d.Wake)
				}
				w.now = w.now.Add(time.Second)
			}
			if diff := cmp.Diff([]Removal{DeleteClaim{Claim: c}}, w.step().Removals); diff != "" {
				t.Errorf("removals (-want +got):\n%s", diff)
			}
		})
	}
}

// ended is a claim that has ended and owes nothing.
func (w *world) ended(phase v2.ClaimPhase) *v2.NodeClaim {
	w.commit(w.step()) // the slot has been seen
	c := w.newClaim(toldClaim)
	c.Status = v2.NodeClaimStatus{
		Phase: phase, CreatedBy: &v2.ClaimOrigin{}, FinishedAt: new(metav1.NewTime(w.now)),
		Conditions: []metav1.Condition{{
			Type: v2.ConditionMachineCommitted, Status: metav1.ConditionFalse, Reason: string(phase), Message: "it is over", LastTransitionTime: metav1.NewTime(w.now),
		}},
	}
	return c
}

// serves has a claim get its machine.
func (w *world) serves(name string) {
	w.t.Helper()
	w.newClaim(name)
	w.settle()
	w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
	w.kubelet("True")
	w.settle()
	if phase := w.claim(name).Status.Phase; phase != v2.ClaimReady {
		w.t.Fatalf("claim %s is %s", name, phase)
	}
}

// TestWhatIsMissingIsPutBack is what crashes, restores and hands leave incomplete.
func TestWhatIsMissingIsPutBack(t *testing.T) {
	tests := map[string]struct {
		spoil func(w *world)
		is    func(w *world) string
		want  string
	}{
		"an ended claim that does not say when": {
			func(w *world) { w.ended(v2.ClaimFailed).Status.FinishedAt = nil },
			func(w *world) string { return instant(w.claim(toldClaim).Status.FinishedAt.Time) }, "2026-03-04T09:00:00Z",
		},
		"an ended claim that owes nothing and has our finalizer": {
			func(w *world) { w.ended(v2.ClaimFailed).Finalizers = []string{v2.FinalizerNodeClaim} },
			func(w *world) string { return fmt.Sprint(w.claim(toldClaim).Finalizers) }, "[]",
		},
		"a machine that serves, whose claim and slot have lost our finalizers": {
			func(w *world) { w.serves(toldClaim); w.claim(toldClaim).Finalizers, w.slot.Finalizers = nil, nil },
			func(w *world) string { return fmt.Sprint(w.claim(toldClaim).Finalizers, w.slot.Finalizers) },
			fmt.Sprint([]string{v2.FinalizerNodeClaim}, []string{v2.FinalizerSlot}),
		},
		"a machine that serves, and a deadline that stands again": {
			func(w *world) {
				w.serves(toldClaim)
				w.claim(toldClaim).Spec.DeadlineAt = new(metav1.NewTime(w.now))
			},
			func(w *world) string {
				return fmt.Sprint(w.claim(toldClaim).Spec.DeadlineAt == nil, " ", w.claim(toldClaim).Status.Phase)
			}, "true ready",
		},
		"a slot without a machine that has our finalizer": {
			func(w *world) { w.slot.Finalizers = []string{v2.FinalizerSlot} },
			func(w *world) string { return fmt.Sprint(w.slot.Finalizers) }, "[]",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.spoil(w)
			w.settle()
			if got := test.is(w); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}

// TestADecreaseIsNamedAsTheEnd of a claim that the provider took back before anything was bought.
func TestADecreaseIsNamedAsTheEnd(t *testing.T) {
	w := newWorld(t)
	c := w.newClaim(toldClaim)
	c.Finalizers = []string{"example.org/watches"}
	c.Status.EndedBy = &v2.ClaimEnd{Call: v2.CallDecreaseTargetSize}
	w.delete(c)
	d := w.step()
	if got := d.Claims[0].Status; got.Phase != v2.ClaimCompleted || got.Reason != v2.ReasonCancelledByDecreaseTargetSize {
		t.Errorf("the claim is %s (%s)", got.Phase, got.Reason)
	}
}

// TestASlotThatCoolsOffAdoptsNothing since the machine that somebody switched on is the one whose boots failed.
func TestASlotThatCoolsOffAdoptsNothing(t *testing.T) {
	for attempt, adopted := range map[int32]bool{0: true, 2: true, 3: false} {
		w := newWorld(t)
		w.groups["workers"].Spec.UnclaimedMachines = v2.UnclaimedAdopt
		w.slot.Status.LastClaim = &v2.ClaimDigest{
			Name: "former", Phase: v2.ClaimFailed, Attempt: attempt, Reason: v2.ReasonDeadlineExceeded, FinishedAt: new(metav1.NewTime(w.now)),
		}
		w.kubelet("True")
		w.settle()
		w.now = w.now.Add(2 * time.Minute)
		w.settle()
		if got := len(w.claims) > 0; got != adopted {
			t.Errorf("after %d failures: adopted %t, want %t", attempt, got, adopted)
		}
	}
}

// TestASilentKubeNodeIsNotKnownToBeOff on a slot that is seen for the first time.
func TestASilentKubeNodeIsNotKnownToBeOff(t *testing.T) {
	w := newWorld(t)
	w.kubelet("Unknown")
	w.settle()
	if got := w.slot.Status.PowerState; got != v2.PowerUnknown {
		t.Errorf("power %s, want unknown", got)
	}
}

// TestMovesGoByTheTable tries every move. One that the table lacks is an error and changes nothing.
func TestMovesGoByTheTable(t *testing.T) {
	legal := map[v2.ClaimPhase][]v2.ClaimPhase{
		"":              {v2.ClaimBooting, v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed}, // reads as pending
		v2.ClaimPending: {v2.ClaimBooting, v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed},
		v2.ClaimBooting: {v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed},
		v2.ClaimReady:   {v2.ClaimCompleted, v2.ClaimFailed},
	}
	all := []v2.ClaimPhase{v2.ClaimPending, v2.ClaimBooting, v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed}
	for _, from := range append(all, "") {
		for _, to := range all {
			w := newWorld(t)
			w.newClaim(toldClaim).Status.Phase = from
			r := newRun(w.input())
			c := r.claims[0]
			before := c.Status.DeepCopy()
			r.move(c, to, "", "")
			switch allowed := slices.Contains(legal[from], to); {
			case allowed && (r.err != nil || c.Status.Phase != to):
				t.Errorf("%q to %s: %v, the claim is %s", from, to, r.err, c.Status.Phase)
			case !allowed && (!errors.Is(r.err, ErrIllegalMove) || cmp.Diff(before, &c.Status) != ""):
				t.Errorf("%q to %s: %v, the claim is %s", from, to, r.err, c.Status.Phase)
			}
		}
	}
}

// TestALateWordOfAnOlderEpisodeRewritesNoStory where the newer claim is gone already.
func TestALateWordOfAnOlderEpisodeRewritesNoStory(t *testing.T) {
	w := newWorld(t)
	w.serves(toldClaim)
	newer := &v2.ClaimDigest{Name: "newer", Phase: v2.ClaimCompleted, Attempt: 1, RequestedAt: new(metav1.NewTime(w.now.Add(time.Second)))}
	w.slot.Status.LastClaim = newer.DeepCopy()
	w.delete(w.claim(toldClaim))
	w.settle()
	if diff := cmp.Diff(newer, w.slot.Status.LastClaim); diff != "" {
		t.Errorf("digest (-want +got):\n%s", diff)
	}
}

// TestABootWhoseJobWasNeverMadeOwesNothing once somebody has looked whether it was.
func TestABootWhoseJobWasNeverMadeOwesNothing(t *testing.T) {
	w := newWorld(t)
	c := w.newClaim(toldClaim)
	d := w.step()
	w.commit(Decision{Finalizers: d.Finalizers, Claims: d.Claims, Slot: d.Slot})
	w.delete(c)
	d = w.step()
	if looks := (Absence{Kind: KindJob, Name: toldClaim + "-up-1"}); !slices.Contains(d.Assumes, looks) {
		t.Errorf("it assumes %v, and does not look for its Job", d.Assumes)
	}
	w.settle()
	if len(w.claims) > 0 || len(w.jobs) > 0 || len(w.slot.Finalizers) > 0 {
		t.Errorf("left: claims %v, Jobs %v, finalizers of the slot %v", w.claims, w.jobs, w.slot.Finalizers)
	}
	if digest := w.slot.Status.LastClaim; digest.Phase != v2.ClaimCompleted || digest.Reason != v2.ReasonDeletedByHand {
		t.Errorf("the digest says %s (%s)", digest.Phase, digest.Reason)
	}
}

// TestADrainNamesAFewPodsAndCountsTheRest.
func TestADrainNamesAFewPodsAndCountsTheRest(t *testing.T) {
	_, d := drain(t, func(w *world, _ *corev1.Pod) {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			w.newPod(name)
		}
	})
	want := "evicting default/a, default/b, default/c, default/d, default/e, 2 more"
	if got := conditionMessage(d.Claims[0].Status.Conditions, v2.ConditionDrained); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestAClaimThatEndsWithItsTimeSaysWhatItWaitedFor where its machine was up, and not through the gate.
func TestAClaimThatEndsWithItsTimeSaysWhatItWaitedFor(t *testing.T) {
	w := newWorld(t)
	w.newClaim(toldClaim)
	w.kubelet("False")
	w.settle()
	w.now = w.now.Add(730 * time.Second)
	w.settle()
	const want = "nothing was bought before 2026-03-04T09:12:10Z: kubeNode worker-01 is not Ready"
	if got := w.claim(toldClaim).Status; got.Reason != v2.ReasonDeadlineExceeded || got.Message != want {
		t.Errorf("it ends with %s: %q, want %q", got.Reason, got.Message, want)
	}
}

// TestAnAgentTakesADeclaredReadinessTaintOffForGood also where the slot declares it, so that it is there from the start.
func TestAnAgentTakesADeclaredReadinessTaintOffForGood(t *testing.T) {
	w := newWorld(t)
	notReady := corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}
	w.slot.Spec.NodeTaints = []corev1.Taint{notReady, {Key: "storage", Effect: corev1.TaintEffectNoSchedule}}
	c := w.newClaim(toldClaim)
	w.settle()
	w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
	w.kubelet("True")
	w.settle()
	if !slices.Contains(w.kubeNode.Spec.Taints, notReady) || c.Status.Phase != v2.ClaimBooting {
		t.Fatalf("the claim is %s, the kubeNode has %v", c.Status.Phase, w.kubeNode.Spec.Taints)
	}
	w.kubeNode.Spec.Taints = nil // the agent takes its own off, and somebody the other one
	w.settle()
	if diff := cmp.Diff(w.slot.Spec.NodeTaints[1:], w.kubeNode.Spec.Taints); diff != "" || c.Status.Phase != v2.ClaimReady {
		t.Errorf("the claim is %s; taints (-want +got):\n%s", c.Status.Phase, diff)
	}
}

// TestABootThatMayTakeLongIsNotStuckBeforeItsTimeIsOver though nobody wrote a deadline on its claim: the webhook was down.
func TestABootThatMayTakeLongIsNotStuckBeforeItsTimeIsOver(t *testing.T) {
	w := newWorld(t)
	w.groups["workers"].Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: 40 * time.Minute}
	c := w.newClaim(toldClaim)
	c.Spec.DeadlineAt = nil
	w.settle()
	w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
	w.settle()
	for _, test := range []struct {
		after time.Duration
		want  v2.ClaimReason
	}{{40*time.Minute - time.Second, ""}, {time.Second, v2.ReasonStuckTransition}} {
		w.now = w.now.Add(test.after)
		w.settle()
		if c.Status.Reason != test.want {
			t.Errorf("at %s its reason is %q, want %q", instant(w.now), c.Status.Reason, test.want)
		}
	}
}

// TestRecordsWithoutTimesAreReadAllTheSame as a hand may leave them that edits a status.
func TestRecordsWithoutTimesAreReadAllTheSame(t *testing.T) {
	tests := map[string]struct {
		live func(w *world)
		want v2.ClaimPhase
	}{
		"a boot that is taken back before its Job ran": {func(w *world) { w.newClaim(toldClaim); w.settle() }, v2.ClaimCompleted},
		"a shutdown whose Job has failed": {func(w *world) {
			w.serves(toldClaim)
			w.delete(w.claim(toldClaim))
			w.settle()
			w.jobEnds("shutdown", batchv1.JobFailed, "BackoffLimitExceeded", 1, "busy")
			w.settle()
		}, v2.ClaimReady},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.live(w)
			c := w.claim(toldClaim)
			c.Finalizers = append(c.Finalizers, "example.org/watches")
			w.delete(c)
			for i := range c.Status.Jobs {
				c.Status.Jobs[i].CreatedAt, c.Status.Jobs[i].FinishedAt = nil, nil
			}
			w.settle()
			if c.Status.Phase != test.want {
				t.Errorf("the claim is %s, want %s", c.Status.Phase, test.want)
			}
		})
	}
}

// TestADeclaredLabelIsNoneOfOurs since a kubeNode is known by those: power pods stay off it, and a price is asked by them.
func TestADeclaredLabelIsNoneOfOurs(t *testing.T) {
	w := newWorld(t)
	w.slot.Spec.NodeLabels = map[string]string{v2.LabelNode: "", v2.LabelNamespace: "elsewhere", v2.LabelKubeNodeGroup: "other", "disk": "ssd"}
	w.serves(toldClaim)
	want := map[string]string{v2.LabelNode: worldNode, v2.LabelNamespace: "power", v2.LabelKubeNodeGroup: "workers", "disk": "ssd"}
	if diff := cmp.Diff(want, w.kubeNode.Labels); diff != "" {
		t.Errorf("labels of the kubeNode (-want +got):\n%s", diff)
	}
}
