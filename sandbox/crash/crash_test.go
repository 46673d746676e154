package crash_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
)

// episode is a part of a machine's life whose writes are counted.
type episode struct {
	// before brings the home to where the episode begins.
	before func(*home)
	// begin sets it off.
	begin func(*home)
	// ended says what is still missing at its end, and check judges the end.
	ended func(*home, context.Context) string
	check func(*home)
}

func episodes() map[string]episode {
	return map[string]episode{
		"boot": {
			before: func(*home) {},
			begin:  (*home).ask,
			ended:  (*home).isReady,
			check:  (*home).checkBoot,
		},
		"reversal": {
			before: func(o *home) {
				o.ask()
				o.eventually("booting first", func(ctx context.Context) string { return o.isReady(ctx) })
			},
			begin: (*home).takeBack,
			ended: (*home).isOff,
			check: func(o *home) { o.checkBoot(); o.checkReversal() },
		},
	}
}

// TestEveryWriteMayBeTheLast counts the writes of each episode, and then plays it once per write and misfortune: the
// manager dies after it, it is refused once, or it is applied and answered with a time-out.
func TestEveryWriteMayBeTheLast(t *testing.T) {
	house := newHouse(t)
	for name, episode := range episodes() {
		t.Run(name, func(t *testing.T) {
			var writes int
			t.Run("undisturbed", func(t *testing.T) { writes = len(house.play(t, episode, proxy.Fault{})) })
			if writes < 5 {
				t.Fatalf("only %d writes were counted: the proxy is not in the way", writes)
			}
			var hit atomic.Int32
			t.Run("disturbed", func(t *testing.T) {
				for k := 1; k <= writes; k++ {
					for _, kind := range []proxy.Kind{proxy.Cut, proxy.Refuse, proxy.LoseAnswer} {
						fault := proxy.Fault{Kind: kind, At: k}
						t.Run(fault.String(), func(t *testing.T) {
							t.Parallel()
							if len(house.play(t, episode, fault)) >= fault.At {
								hit.Add(1)
							}
						})
					}
				}
			})
			t.Logf("%s: %d writes, %d faults tried, %d of them hit", name, writes, 3*writes, hit.Load())
			// The last writes of an episode are not always made: two observations may fall into one.
			if 10*int(hit.Load()) < 9*3*writes {
				t.Errorf("only %d of %d faults were hit", hit.Load(), 3*writes)
			}
		})
	}
}

// play plays one episode with one fault, and returns the writes that were counted until the fault, or all.
func (h *house) play(t *testing.T, e episode, fault proxy.Fault) []proxy.Write {
	t.Helper()
	o := h.home(t)
	o.manage(o.proxy.Config())
	e.before(o)
	o.proxy.Arm(fault)
	e.begin(o)
	if fault.Kind == proxy.Cut {
		o.eventually("ending, or dying", func(ctx context.Context) string {
			select {
			case <-o.proxy.Cut():
				return ""
			default:
				return e.ended(o, ctx)
			}
		})
		o.manage(h.cp.Config()) // the next manager, which knows nothing of this one
	}
	writes := o.proxy.Writes()
	o.eventually("ending", func(ctx context.Context) string { return e.ended(o, ctx) })
	if fault.Kind != proxy.Cut {
		writes = o.proxy.Writes()
	}
	o.stop() // what is published is published now
	e.check(o)
	return writes
}

// isReady says what is missing until the claim is ready and its window closed.
func (o *home) isReady(ctx context.Context) string {
	claim, err := o.claim(ctx)
	switch {
	case err != nil:
		return err.Error()
	case claim == nil:
		return "there is no claim"
	case claim.Status.Phase != v2.ClaimReady:
		return fmt.Sprintf("the claim is %q (%s %s)", claim.Status.Phase, claim.Status.Reason, claim.Status.Message)
	case claim.Spec.DeadlineAt != nil:
		return "its deadline still stands"
	case claim.Status.Jobs[0].Outcome == "":
		return "the end of its startup Job is not on record"
	}
	slot, err := o.slot(ctx)
	switch {
	case err != nil:
		return err.Error()
	case slot.Status.Phase != v2.SlotReady:
		return fmt.Sprintf("the slot is %q", slot.Status.Phase)
	case len(slot.Finalizers) == 0 || len(claim.Finalizers) == 0:
		return "a finalizer is missing"
	}
	return ""
}

// takeBack deletes the claim.
func (o *home) takeBack() {
	o.t.Helper()
	claim, err := o.claim(o.t.Context())
	if err != nil || claim == nil {
		o.t.Fatalf("claim %v: %v", claim, err)
	}
	if err := o.client.Delete(o.t.Context(), claim); err != nil {
		o.t.Fatal(err)
	}
}

// isOff says what is missing until nothing is left of the machine but its slot.
func (o *home) isOff(ctx context.Context) string {
	if claim, err := o.claim(ctx); err != nil || claim != nil {
		return fmt.Sprintf("the claim is still there: %v", err)
	}
	slot, err := o.slot(ctx)
	switch {
	case err != nil:
		return err.Error()
	case slot.Status.Phase != v2.SlotOff || slot.Status.PowerState != v2.PowerOff:
		return fmt.Sprintf("the slot is %q with power %q", slot.Status.Phase, slot.Status.PowerState)
	case len(slot.Finalizers) > 0:
		return "the slot still has its finalizer"
	}
	err = o.client.Get(ctx, client.ObjectKey{Name: o.machine}, &corev1.Node{})
	if !apierrors.IsNotFound(err) {
		return fmt.Sprintf("the kubeNode is still there: %v", err)
	}
	return ""
}

func (o *home) checkBoot() {
	o.t.Helper()
	slot, err := o.slot(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	if digest := slot.Status.LastClaim; digest == nil || digest.Name != claimName || digest.Attempt != 1 {
		o.t.Errorf("the digest is %+v, want attempt 1 of claim %s", digest, claimName)
	}
	if n := len(o.jobs("startup")); n != 1 {
		o.t.Errorf("%d startup Jobs were made, want 1", n)
	}
	if ons, asked := o.room.PowerOns(o.machine), o.room.PowerOnRequests(o.machine); ons != 1 || asked != 1 {
		o.t.Errorf("the machine went on %d times after %d presses, want once after one", ons, asked)
	}
	o.checkEvents()
}

func (o *home) checkReversal() {
	o.t.Helper()
	o.checkOneAtATime(o.jobs("shutdown"))
	if offs := o.room.PowerOffs(o.machine); offs != 1 || o.room.IsOn(o.machine) {
		o.t.Errorf("the machine went off %d times and is on: %t", offs, o.room.IsOn(o.machine))
	}
	slot, err := o.slot(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	digest := slot.Status.LastClaim
	if digest == nil || digest.Phase != v2.ClaimCompleted || digest.Reason != v2.ReasonDeletedByHand {
		o.t.Errorf("the digest is %+v, want completed by hand", digest)
	}
}

// checkOneAtATime fails for a shutdown Job that was made before the former had ended and the machine had had its time: a
// kubeNode of a busy cluster may say Ready for longer than that.
func (o *home) checkOneAtATime(jobs []batchv1.Job) {
	o.t.Helper()
	if len(jobs) == 0 {
		o.t.Error("no shutdown Job was made")
	}
	slices.SortFunc(jobs, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	for i := 1; i < len(jobs); i++ {
		former := jobs[i-1].Status.CompletionTime
		if former == nil || jobs[i].CreationTimestamp.Sub(former.Time) < (settle-1)*time.Second {
			o.t.Errorf("Job %s was made %s, Job %s had ended %v", jobs[i].Name, jobs[i].CreationTimestamp, jobs[i-1].Name, former)
		}
	}
}
