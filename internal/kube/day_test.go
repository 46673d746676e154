package kube

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	typedv1 "k8s.io/client-go/kubernetes/typed/events/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/core/slot"
)

const (
	// kept is how long an API server keeps an event after its last write, by default.
	kept = time.Hour
	tick = 30 * time.Second
	// few is how many event objects about a slot that fails all day, and about its claims, there must be less of at once.
	few = 20
)

// TestASlotWhoseBootsFailAllDayTellsLittle lets a machine fail to boot for a day: the client asks again and again, and the
// slot cools off. What is told goes through the real recorder, on a clock that is stepped.
func TestASlotWhoseBootsFailAllDayTellsLittle(t *testing.T) {
	// A boot is told on its claim: created, booting, failed.
	const onClaim = 3
	for name, test := range map[string]struct {
		fails failure
		// onSlot is how many events on the slot a boot has: up requested, cooling off, and what else there is to say.
		onSlot int
		// asks is how often the client asks for a machine that it does not get. It backs off to half an hour from a group
		// whose every boot fails; a slot that cools off bears more.
		asks time.Duration
		// counted is whether the boots are the machine's failures, of which only some are tried in a day.
		counted bool
	}{
		"its kubelet never comes":           {fails: neverRegisters, onSlot: 2, asks: 10 * time.Minute, counted: true},
		"it never comes through the gate":   {fails: staysTainted, onSlot: 3, asks: 10 * time.Minute, counted: true},
		"its power switch refuses":          {fails: refuses, onSlot: 3, asks: 10 * time.Minute, counted: true},
		"its power Jobs never get to start": {fails: neverStarts, onSlot: 2, asks: 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDay(t)
				d.fails = test.fails
				most := d.pass(24*time.Hour, test.asks)
				onClaims, onSlot := d.sink.count()
				t.Logf("%d boots failed in a day; %d event objects on their claims and %d on the slot, never more than %d at once",
					d.asked, onClaims, onSlot, most)
				if attempt := d.slot.Status.LastClaim.Attempt; d.asked < 8 || test.counted != (attempt == int32(d.asked)) {
					t.Errorf("%d boots were tried, the digest says %d", d.asked, attempt)
				}
				if most >= few {
					t.Errorf("%d event objects exist at once, want fewer than %d", most, few)
				}
				if onSlot > test.onSlot*d.asked {
					t.Errorf("%d events on the slot for %d boots", onSlot, d.asked)
				}
				if want := onClaim * d.asked; onClaims != want {
					t.Errorf("%d events on %d claims, want %d", onClaims, d.asked, want)
				}
			})
		})
	}
}

// failure is how each boot of a day fails.
type failure int

const (
	neverRegisters failure = iota // the machine takes every command, and no kubelet comes
	staysTainted                  // its kubelet comes, with a taint that nobody lifts
	refuses                       // every power Job fails
	neverStarts                   // no power Job gets a pod
)

// pass lets time pass, and answers how many event objects existed at once.
func (d *day) pass(whole, asks time.Duration) (most int) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan error, 1)
	go func() { done <- d.events.Start(ctx) }()
	synctest.Wait()
	for began := time.Now(); time.Since(began) < whole; time.Sleep(tick) {
		if time.Since(began)%asks == 0 {
			d.ask()
		}
		d.settle()
		synctest.Wait()
		most = max(most, d.sink.alive(time.Now()))
	}
	cancel()
	if err := <-done; err != nil {
		d.t.Error(err)
	}
	return most
}

// day is a slot whose machine never boots, and what surrounds it.
type day struct {
	t        *testing.T
	events   *Events
	sink     *sink
	group    *v2.Group
	slot     *v2.Node
	claims   []*v2.NodeClaim
	jobs     []slot.Job
	fails    failure
	kubeNode *corev1.Node
	uids     int
	asked    int
}

func newDay(t *testing.T) *day {
	t.Helper()
	d := &day{t: t, sink: &sink{objects: map[string]*eventsv1.Event{}, written: map[string]time.Time{}}}
	var err error
	if d.events, err = NewEvents(d.sink); err != nil {
		t.Fatal(err)
	}
	d.group = &v2.Group{ObjectMeta: d.meta("workers")}
	d.slot = &v2.Node{ObjectMeta: d.meta("worker-01"), Spec: v2.NodeSpec{KubernetesNodeName: "worker-01"}}
	d.slot.Labels = map[string]string{v2.LabelGroup: "workers"}
	return d
}

func (d *day) meta(name string) metav1.ObjectMeta {
	d.uids++
	return metav1.ObjectMeta{Namespace: "home", Name: name, UID: types.UID(fmt.Sprint(d.uids)), CreationTimestamp: metav1.Now()}
}

// ask makes a claim if the slot is offered.
func (d *day) ask() {
	p := policy.For(policy.Default(), d.group)
	var jobs []*batchv1.Job
	for _, j := range d.jobs {
		jobs = append(jobs, j.Job)
	}
	view := pool.Assemble(time.Now(), "home", "workers", policy.Default(), pool.Objects{
		Group: d.group, Slots: []*v2.Node{d.slot}, Claims: d.claims, Jobs: jobs, KubeNodes: map[string]*corev1.Node{"worker-01": d.kubeNode},
	})
	if pool.Offerable(view, view.Slots[0]) != nil {
		return
	}
	d.asked++
	claim := &v2.NodeClaim{ObjectMeta: d.meta(fmt.Sprintf("worker-01-%06d", d.asked))}
	claim.Spec.SlotRef.Name = "worker-01"
	claim.Spec.Request = v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "workers", Delta: 1}
	claim.Spec.DeadlineAt = &metav1.Time{Time: time.Now().Add(p.EffectiveBudget())}
	d.claims = append(d.claims, claim)
}

// settle lets each Job go one step on, and decides until nothing is left to do.
func (d *day) settle() {
	for i := range d.jobs {
		d.work(&d.jobs[i])
	}
	for range 20 {
		decision, err := slot.Step(slot.Input{
			Now: time.Now(), Namespace: "home", Name: "worker-01", Slot: d.slot, Group: d.group,
			Policy: policy.For(policy.Default(), d.group), Claims: d.claims, Jobs: d.jobs, KubeNode: d.kubeNode, AlwaysOn: true,
		})
		if err != nil {
			d.t.Fatal(err)
		}
		if decision.Empty() {
			return
		}
		d.commit(decision)
	}
	d.t.Fatal("the decisions do not settle")
}

// work starts a Job's container, or ends it.
func (d *day) work(j *slot.Job) {
	now := metav1.Now()
	switch {
	case d.fails == neverStarts:
	case len(j.Pods) == 0:
		j.Status.StartTime = &now
		j.Pods = []*corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}}}}}
	case len(j.Status.Conditions) == 0:
		end := batchv1.JobComplete
		if d.fails == refuses {
			end = batchv1.JobFailed
		}
		j.Status.Conditions = []batchv1.JobCondition{{Type: end, Status: corev1.ConditionTrue, LastTransitionTime: now}}
		if d.fails == staysTainted {
			d.kubelet(j.Labels[v2.LabelOperation] == "startup")
		}
	}
}

// kubelet has the machine's kubelet register, or go silent.
func (d *day) kubelet(reports bool) {
	ready := corev1.ConditionUnknown
	if reports {
		ready = corev1.ConditionTrue
		d.kubeNode = &corev1.Node{ObjectMeta: d.meta("worker-01")}
		for _, taint := range policy.DefaultReadinessTaints() {
			d.kubeNode.Spec.Taints = append(d.kubeNode.Spec.Taints, corev1.Taint{Key: taint.Key, Effect: taint.Effect})
		}
	}
	d.kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
}

// commit does what a decision says, and tells it.
func (d *day) commit(decision slot.Decision) {
	for _, f := range decision.Finalizers {
		if f.Claim != nil {
			d.claim(f.Claim).Finalizers = []string{v2.FinalizerNodeClaim}
		} else {
			d.slot.Finalizers = []string{v2.FinalizerSlot}
		}
	}
	for _, c := range decision.Claims {
		d.claim(c.Claim).Status = c.Status
	}
	if decision.Slot != nil {
		d.slot.Status = decision.Slot.Status
	}
	for _, action := range decision.Actions {
		d.act(action)
	}
	for _, removal := range decision.Removals {
		d.remove(removal)
	}
	for _, note := range decision.Notes {
		d.events.Publish(Event(note))
	}
}

func (d *day) act(action slot.Action) {
	switch a := action.(type) {
	case slot.CreateJob:
		job := a.Job.DeepCopy()
		job.UID, job.CreationTimestamp = d.meta("").UID, metav1.Now()
		d.jobs = append(d.jobs, slot.Job{Job: job})
	case slot.DeleteJob:
		d.jobs = slices.DeleteFunc(d.jobs, func(j slot.Job) bool { return j.UID == a.UID })
	case slot.SetJobTTL: // its time is over at once
		d.jobs = slices.DeleteFunc(d.jobs, func(j slot.Job) bool { return j.UID == a.UID })
	case slot.PatchKubeNode:
		d.kubeNode = a.After
	case slot.DeleteKubeNode:
		d.kubeNode = nil
	default:
		d.t.Fatalf("a machine that never boots needs no %T", action)
	}
}

func (d *day) remove(removal slot.Removal) {
	switch r := removal.(type) {
	case slot.DeleteClaim:
		d.claims = slices.DeleteFunc(d.claims, func(c *v2.NodeClaim) bool { return c.UID == r.Claim.UID })
	case slot.DropFinalizer:
		if r.Claim != nil {
			d.claim(r.Claim).Finalizers = nil
		} else {
			d.slot.Finalizers = nil
		}
	default:
		d.t.Fatalf("a claim that never is ready needs no %T", removal)
	}
}

func (d *day) claim(observed *v2.NodeClaim) *v2.NodeClaim {
	return d.claims[slices.IndexFunc(d.claims, func(c *v2.NodeClaim) bool { return c.UID == observed.UID })]
}

// sink keeps the event objects that the recorder writes, and when each was last written.
type sink struct {
	typedv1.EventsV1Interface
	mu      sync.Mutex
	objects map[string]*eventsv1.Event
	written map[string]time.Time
}

// Events is the sink for every namespace.
func (s *sink) Events(string) typedv1.EventInterface { return sinkEvents{sink: s} }

type sinkEvents struct {
	typedv1.EventInterface
	sink *sink
}

// Create keeps a new object.
func (s sinkEvents) Create(_ context.Context, event *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	// The recorder names an event by the nanosecond; here many happen in one.
	event = event.DeepCopy()
	event.Name += "-" + event.Reason
	s.sink.objects[event.Name], s.sink.written[event.Name] = event, time.Now()
	return event, nil
}

// Patch notes that an object was written again: a fact that happened again.
func (s sinkEvents) Patch(_ context.Context, name string, _ types.PatchType, _ []byte, _ metav1.PatchOptions, _ ...string) (*eventsv1.Event, error) {
	s.sink.mu.Lock()
	defer s.sink.mu.Unlock()
	s.sink.written[name] = time.Now()
	return s.sink.objects[name], nil
}

// alive is how many objects an API server still keeps.
func (s *sink) alive(now time.Time) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.written {
		if now.Sub(at) < kept {
			n++
		}
	}
	return n
}

// count is how many objects were ever made about claims, and about the slot.
func (s *sink) count() (onClaims, onSlot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, event := range s.objects {
		if event.Regarding.Kind == "NodeClaim" {
			onClaims++
		} else {
			onSlot++
		}
	}
	return onClaims, onSlot
}
