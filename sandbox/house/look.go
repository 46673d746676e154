package house

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// patience is how long a case waits for what must come; nothing that works takes nearly as long.
const patience = 4 * time.Minute

// TakeBack deletes a claim.
func (h *Home) TakeBack(name string) {
	h.T.Helper()
	claim := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: h.Namespace, Name: name}}
	if err := h.Client.Delete(h.T.Context(), claim); err != nil {
		h.T.Fatal(err)
	}
}

// Eventually waits until nothing is missing any more, and tells all that is known if that does not come.
func (h *Home) Eventually(what string, missing func(context.Context) string) {
	h.T.Helper()
	last := "nothing was seen"
	err := wait.PollUntilContextTimeout(h.T.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = missing(ctx)
		return last == "", nil
	})
	if err != nil {
		h.Tell()
		h.T.Fatalf("%s: %s", what, last)
	}
}

// UntilSlot waits until the machine's slot is as it shall be, and answers it.
func (h *Home) UntilSlot(what string, is func(*v2.Node) bool) *v2.Node {
	h.T.Helper()
	var slot *v2.Node
	h.Eventually(what, func(ctx context.Context) string {
		var err error
		slot, err = h.Slot(ctx)
		switch {
		case err != nil:
			return err.Error()
		case slot == nil:
			return "the slot is gone"
		case !is(slot):
			s := slot.Status
			return fmt.Sprintf("the slot is %s, power %s (%s), reading %+v, digest %+v, finalizers %v",
				s.Phase, s.PowerState, s.PowerSource, s.PowerReading, s.LastClaim, slot.Finalizers)
		}
		return ""
	})
	return slot
}

// Tell logs what happened: the machine's power log, the manager's writes and events, and what the managers logged. Of a
// lodger's machine it is the power log and the events about what bears its name: all else is the whole home's.
func (h *Home) Tell() {
	h.T.Helper()
	for _, event := range h.Room.Log(machineroom.Of(h.Machine)) {
		h.T.Log(event)
	}
	if h.lodges {
		for _, told := range h.Told() {
			if told.Name == h.Machine {
				h.T.Logf("event %s on %s %s: %s", told.Reason, told.Kind, told.Name, told.Note)
			}
		}
		return
	}
	for _, write := range h.Proxy.Writes() {
		h.T.Log(write.Number, write, write.Status)
	}
	var told eventsv1.EventList
	if err := h.Client.List(h.T.Context(), &told, client.InNamespace(h.Namespace)); err == nil {
		for _, event := range told.Items {
			h.T.Logf("event %s on %s %s: %s", event.Reason, event.Regarding.Kind, event.Regarding.Name, event.Note)
		}
	}
	h.T.Logf("the managers' log:\n%s", h.Log)
}

// Claim is the claim of that name now, or nil.
func (h *Home) Claim(ctx context.Context, name string) (*v2.NodeClaim, error) {
	claim := &v2.NodeClaim{}
	err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: name}, claim)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return claim, err
}

// Slot is the slot now, or nil.
func (h *Home) Slot(ctx context.Context) (*v2.Node, error) {
	slot := &v2.Node{}
	err := h.Client.Get(ctx, client.ObjectKey{Namespace: h.Namespace, Name: h.Machine}, slot)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return slot, err
}

// HasKubeNode is whether the machine's kubeNode is there.
func (h *Home) HasKubeNode(ctx context.Context) (bool, error) {
	err := h.Client.Get(ctx, client.ObjectKey{Name: h.Machine}, &corev1.Node{})
	return err == nil, client.IgnoreNotFound(err)
}

// Jobs are the lifecycle Jobs ever made for an operation on the machine, by age: none is collected while a case runs.
func (h *Home) Jobs(operation string) []batchv1.Job {
	h.T.Helper()
	var list batchv1.JobList
	err := h.Client.List(h.T.Context(), &list, client.InNamespace(h.Namespace),
		client.MatchingLabels{v2.LabelOperation: operation, v2.LabelNode: h.Machine})
	if err != nil {
		h.T.Fatal(err)
	}
	slices.SortFunc(list.Items, func(a, b batchv1.Job) int { return a.CreationTimestamp.Compare(b.CreationTimestamp.Time) })
	return list.Items
}

// Told is one event about a claim or a slot.
type Told struct {
	Reason, Kind, Name, Note string
	// Times is how often it was told.
	Times int
}

// Told are the events about claims and slots that are published now. They are complete after Stop.
func (h *Home) Told() []Told {
	h.T.Helper()
	var list eventsv1.EventList
	if err := h.Client.List(h.T.Context(), &list, client.InNamespace(h.Namespace)); err != nil {
		h.T.Fatal(err)
	}
	var told []Told
	for _, event := range list.Items {
		if kind := event.Regarding.Kind; kind != "NodeClaim" && kind != "Node" {
			continue
		}
		times := 1
		if event.Series != nil {
			times = int(event.Series.Count)
		}
		told = append(told, Told{event.Reason, event.Regarding.Kind, event.Regarding.Name, event.Note, times})
	}
	return told
}

// CheckToldOnce fails for a reason that was told twice on one object.
func (h *Home) CheckToldOnce() {
	h.T.Helper()
	times := map[string]int{}
	for _, told := range h.Told() {
		times[fmt.Sprintf("%s on %s %s", told.Reason, told.Kind, told.Name)] += told.Times
	}
	for what, n := range times {
		if n > 1 {
			h.T.Errorf("%s was told %d times", what, n)
		}
	}
}

// CheckOneAtATime fails for a shutdown Job that was made before the former had ended and the machine had had its time: a
// kubeNode of a busy cluster may say Ready for longer than that.
func (h *Home) CheckOneAtATime() {
	h.T.Helper()
	jobs := h.Jobs("shutdown")
	if len(jobs) == 0 {
		h.T.Error("no shutdown Job was made")
	}
	for i := 1; i < len(jobs); i++ {
		former := ended(&jobs[i-1])
		if former.IsZero() || jobs[i].CreationTimestamp.Sub(former) < Settle-time.Second {
			h.T.Errorf("Job %s was made %s, Job %s had ended %v", jobs[i].Name, jobs[i].CreationTimestamp, jobs[i-1].Name, former)
		}
	}
}

// ended is when a Job ended, well or badly; zero: it has not.
func ended(job *batchv1.Job) time.Time {
	for _, condition := range job.Status.Conditions {
		if (condition.Type == batchv1.JobComplete || condition.Type == batchv1.JobFailed) && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}
