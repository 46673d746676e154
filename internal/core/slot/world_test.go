package slot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// world is a model of what surrounds one slot: objects as an API server keeps them (uids, finalizers, owners), a clock
// that is stepped, and a commit that applies a Decision. It decides nothing.
type world struct {
	t         *testing.T
	now       time.Time
	uid       int
	slot      *v2.Node
	groups    map[string]*v2.Group
	claims    []*v2.NodeClaim
	jobs      []Job
	kubeNode  *corev1.Node
	pods      []*corev1.Pod
	budgets   []*policyv1.PodDisruptionBudget
	protected string
	// said is what the power observer last heard of the switch, and understood.
	said v2.PowerState
	wake time.Time
	// terminating is whether the namespace is being deleted, with all that is in it.
	terminating bool
	// down is whether the manager is down: things happen, nothing is decided.
	down bool
	// linger is whether deleted Jobs stay, with their pods, until somebody says that they are gone.
	linger bool
	// last is what was decided last.
	last []string
	// printed collects what was decided since the last command.
	printed strings.Builder
}

const worldNode = "worker-01"

func newWorld(t *testing.T) *world {
	w := &world{t: t, now: time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC), groups: map[string]*v2.Group{}}
	w.groups["workers"] = &v2.Group{ObjectMeta: w.meta("workers")}
	w.newSlot()
	return w
}

func (w *world) meta(name string) metav1.ObjectMeta {
	w.uid++
	return metav1.ObjectMeta{
		Name: name, Namespace: "power", UID: types.UID(fmt.Sprintf("uid-%d", w.uid)), Generation: 1,
		CreationTimestamp: metav1.NewTime(w.now),
	}
}

func (w *world) newSlot() {
	w.slot = &v2.Node{
		ObjectMeta: w.meta(worldNode),
		Spec: v2.NodeSpec{
			KubernetesNodeName: worldNode,
			StartupPodSpec:     v2.MinimalPodSpec{Image: "power", Command: []string{"on"}},
			ShutdownPodSpec:    v2.MinimalPodSpec{Image: "power", Command: []string{"off"}},
			NodeLabels:         map[string]string{"disk": "ssd"},
		},
	}
	w.slot.Labels = map[string]string{v2.LabelGroup: "workers"}
}

func (w *world) newClaim(name string) *v2.NodeClaim {
	c := &v2.NodeClaim{
		ObjectMeta: w.meta(name),
		Spec: v2.NodeClaimSpec{
			SlotRef:     corev1.ObjectReference{Name: worldNode},
			Request:     v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "workers", Delta: 1},
			RequestedAt: new(metav1.NewTime(w.now)),
			RequestedBy: "cluster-autoscaler",
			DeadlineAt:  new(metav1.NewTime(w.now.Add(policy.Default().Budget()))),
		},
	}
	w.claims = append(w.claims, c)
	return c
}

func (w *world) input() Input {
	in := Input{
		Now: w.now, Namespace: "power", Name: worldNode,
		Slot: w.slot, Claims: w.claims, Jobs: w.jobs, KubeNode: w.kubeNode, Pods: w.pods, Budgets: w.budgets,
		Protected: w.protected, AlwaysOn: true,
		NamespaceTerminating: w.terminating,
	}
	in.Group = w.groups[facts.GroupOf(w.slot, w.claims)]
	in.Policy = policy.For(policy.Default(), in.Group)
	return in
}

// settle decides and commits until a decision changes nothing.
func (w *world) settle() {
	for range 20 {
		decision := w.step()
		w.wake = decision.Wake
		lines := decision.Lines()
		if decision.Empty() || slices.Equal(lines, w.last) { // an eviction that is refused is asked for again, and again
			return
		}
		w.last = lines
		w.print(decision)
		w.commit(decision)
	}
	w.t.Fatalf("the decisions do not settle:\n%s", w.printed.String())
}

// step decides, and checks what holds of every decision.
func (w *world) step() Decision {
	w.t.Helper()
	in := w.input()
	before := cloneInput(in)
	decision, err := Step(in)
	if err != nil {
		w.t.Fatalf("step: %v", err)
	}
	w.checkLaws(before, in, decision)
	return decision
}

func (w *world) print(d Decision) {
	for _, line := range d.Lines() {
		fmt.Fprintf(&w.printed, "%s\n", line)
	}
}

// commit applies a decision as the API server would have it.
func (w *world) commit(d Decision) {
	for _, f := range d.Finalizers {
		if f.Claim != nil {
			c := w.claim(f.Claim.Name)
			c.Finalizers = append(c.Finalizers, v2.FinalizerNodeClaim)
		} else {
			w.slot.Finalizers = append(w.slot.Finalizers, v2.FinalizerSlot)
		}
	}
	for _, change := range d.Claims {
		change.Status.DeepCopyInto(&w.claim(change.Claim.Name).Status)
	}
	if d.Slot != nil {
		d.Slot.Status.DeepCopyInto(&w.slot.Status)
	}
	for _, action := range d.Actions {
		w.apply(action)
	}
	for _, removal := range d.Removals {
		w.applyRemoval(removal)
	}
	w.collectGarbage()
}

func (w *world) apply(action Action) {
	switch a := action.(type) {
	case CreateJob:
		created := a.Job.DeepCopy()
		created.ObjectMeta.UID = w.meta("").UID
		created.CreationTimestamp = metav1.NewTime(w.now)
		w.jobs = append(w.jobs, Job{Job: created})
	case DeleteJob:
		if w.linger {
			w.lingers(a)
			return
		}
		w.jobs = slices.DeleteFunc(w.jobs, func(j Job) bool { return j.UID == a.UID })
	case SetJobTTL:
		for _, j := range w.jobs {
			if j.UID == a.UID {
				j.Spec.TTLSecondsAfterFinished = &a.Seconds
			}
		}
	case PatchKubeNode:
		w.kubeNode = a.After.DeepCopy()
	case Evict:
		w.evict(a)
	case DeleteKubeNode:
		w.kubeNode = nil
	case CreateClaim:
		c := a.Claim.DeepCopy()
		c.UID, c.CreationTimestamp = w.meta("").UID, metav1.NewTime(w.now)
		w.claims = append(w.claims, c)
	}
}

// evict takes a pod away unless a budget of its namespace allows no disruption.
func (w *world) evict(a Evict) {
	w.pods = slices.DeleteFunc(w.pods, func(p *corev1.Pod) bool {
		held := slices.ContainsFunc(w.budgets, func(b *policyv1.PodDisruptionBudget) bool {
			return b.Namespace == p.Namespace && b.Spec.Selector.MatchLabels["app"] == p.Labels["app"] && b.Status.DisruptionsAllowed == 0
		})
		return p.UID == a.UID && !held
	})
}

// newPod puts a pod on the machine, of an app of its own name.
func (w *world) newPod(name string) {
	pod := &corev1.Pod{ObjectMeta: w.meta(name)}
	pod.Namespace, pod.Labels = "default", map[string]string{"app": name}
	w.pods = append(w.pods, pod)
}

// newBudget makes a budget for the app of that name that allows no disruption.
func (w *world) newBudget(app string) {
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: w.meta(app)}
	budget.Namespace = "default"
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	w.budgets = append(w.budgets, budget)
}

func (w *world) lingers(deleted DeleteJob) {
	for i, j := range w.jobs {
		if j.UID == deleted.UID {
			w.jobs[i].Job = j.Job.DeepCopy()
			w.jobs[i].DeletionTimestamp = new(metav1.NewTime(w.now))
		}
	}
}

func (w *world) applyRemoval(removal Removal) {
	switch rm := removal.(type) {
	case ClearDeadline:
		w.claim(rm.Claim.Name).Spec.DeadlineAt = nil
	case DeleteClaim:
		w.delete(w.claim(rm.Claim.Name))
	case DropFinalizer:
		if rm.Claim != nil {
			w.claim(rm.Claim.Name).Finalizers = nil
		} else {
			w.slot.Finalizers = nil
		}
	}
}

func (w *world) claim(name string) *v2.NodeClaim {
	for _, c := range w.claims {
		if c.Name == name {
			return c
		}
	}
	w.t.Fatalf("no claim %s", name)
	return nil
}

func (w *world) delete(object metav1.Object) {
	if object.GetDeletionTimestamp() == nil {
		object.SetDeletionTimestamp(new(metav1.NewTime(w.now)))
	}
	w.collectGarbage()
}

// collectGarbage removes what is deleted and holds no finalizer, and what the removed owned.
func (w *world) collectGarbage() {
	if w.slot != nil && w.slot.DeletionTimestamp != nil && len(w.slot.Finalizers) == 0 {
		w.slot = nil
		for _, c := range w.claims {
			c.DeletionTimestamp = new(metav1.NewTime(w.now))
		}
	}
	w.claims = slices.DeleteFunc(w.claims, func(c *v2.NodeClaim) bool {
		return c.DeletionTimestamp != nil && len(c.Finalizers) == 0
	})
}

// terminateNamespace deletes the namespace, which deletes everything in it.
func (w *world) terminateNamespace() {
	w.terminating = true
	for _, c := range w.claims {
		c.DeletionTimestamp = new(metav1.NewTime(w.now))
	}
	w.delete(w.slot)
}

// lastJobOf is the newest Job of an operation.
func (w *world) lastJobOf(operation string) Job {
	for _, j := range slices.Backward(w.jobs) {
		if j.Labels[v2.LabelOperation] == operation {
			return j
		}
	}
	w.t.Fatalf("no %s Job", operation)
	return Job{}
}

// jobStarts gives the newest Job of an operation a running pod.
func (w *world) jobStarts(operation string) {
	w.last = nil // what was decided last may be decided anew of this
	w.jobPods(operation, []*corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(w.now)}},
	}}}}})
}

// jobWaits gives the newest Job of an operation a pod that finds no place to run.
func (w *world) jobWaits(operation, why string) {
	w.jobPods(operation, []*corev1.Pod{{Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why,
	}}}}})
}

// jobPods gives the newest Job of an operation these pods.
func (w *world) jobPods(operation string, pods []*corev1.Pod) {
	for i := range w.jobs {
		if w.jobs[i].UID == w.lastJobOf(operation).UID {
			w.jobs[i].Pods = pods
		}
	}
}

// jobGetsNoPod has the cluster complain that it could not make the newest Job's pod.
func (w *world) jobGetsNoPod(operation, why string) {
	for i := range w.jobs {
		if w.jobs[i].UID == w.lastJobOf(operation).UID {
			w.jobs[i].Complaint = why
		}
	}
}

// jobMountsInVain gives the newest Job of an operation a pod whose volumes cannot be mounted: the cluster complains of it.
func (w *world) jobMountsInVain(operation, why string) {
	w.jobPods(operation, []*corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}},
	}}}}})
	w.jobGetsNoPod(operation, why)
}

// jobEnds ends the newest Job of an operation, with the container's exit code and last words.
func (w *world) jobEnds(operation string, condition batchv1.JobConditionType, reason string, code int32, message string) {
	j := w.lastJobOf(operation)
	if reason == "NeverStarted" {
		w.jobPods(operation, nil) // a pod that waits goes with its Job's end
	} else {
		if len(j.Pods) == 0 {
			w.jobStarts(operation)
			j = w.lastJobOf(operation)
		}
		j.Pods[0].Status.ContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			StartedAt: metav1.NewTime(w.now), ExitCode: code, Message: message,
		}}
	}
	if reason == batchv1.JobReasonDeadlineExceeded {
		w.jobPods(operation, nil) // the pods of a Job whose time is over are deleted, and their end with them
	}
	j.Status.StartTime = new(metav1.NewTime(w.now))
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{
		Type: condition, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(w.now),
	})
}

// kubelet makes the kubelet report a status, registering its kubeNode if there is none.
func (w *world) kubelet(status corev1.ConditionStatus) {
	if w.kubeNode == nil {
		w.kubeNode = &corev1.Node{ObjectMeta: w.meta(worldNode)}
		w.kubeNode.Namespace = ""
		w.kubeNode.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
	}
	w.kubeNode.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(w.now),
	}}
}

func cloneInput(in Input) Input {
	in.Slot = in.Slot.DeepCopy()
	in.KubeNode = in.KubeNode.DeepCopy()
	claims := make([]*v2.NodeClaim, 0, len(in.Claims))
	for _, c := range in.Claims {
		claims = append(claims, c.DeepCopy())
	}
	in.Claims = claims
	return in
}
