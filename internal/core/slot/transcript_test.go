package slot

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// TestTranscripts plays each life in testdata: a command a block, and below it what was decided until nothing was left
// to do. Run with -rewrite after a change that is meant, and read the diff.
func TestTranscripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.t = t
			w.printed.Reset()
			w.play(d)
			if w.printed.Len() == 0 {
				return "(nothing)\n"
			}
			return w.printed.String()
		})
	})
}

// play runs one command and lets the decisions settle.
func (w *world) play(d *datadriven.TestData) {
	words := make([]string, 0, len(d.CmdArgs))
	for _, arg := range d.CmdArgs {
		words = append(words, arg.Key)
	}
	command, ok := commands()[d.Cmd]
	if !ok {
		w.t.Fatalf("%s: no command %q", d.Pos, d.Cmd)
	}
	command(w, words, d)
	if d.Cmd != "tick" && !w.down {
		w.settle()
	}
}

type command func(w *world, args []string, d *datadriven.TestData)

// commands are what can happen to a slot.
func commands() map[string]command {
	return map[string]command{
		"claim":   func(w *world, args []string, _ *datadriven.TestData) { w.ask(args[0], args[1:]) },
		"tick":    func(w *world, args []string, _ *datadriven.TestData) { w.tick(args[0]) },
		"job":     func(w *world, args []string, d *datadriven.TestData) { w.job(args[0], args[1], d.Input) },
		"kubelet": func(w *world, args []string, _ *datadriven.TestData) { w.kubeletSays(args) },
		"switch":  func(w *world, args []string, _ *datadriven.TestData) { w.switchSays(args) },
		"delete":  func(w *world, args []string, _ *datadriven.TestData) { w.deleteNamed(args) },
		"delete-nodes": func(w *world, args []string, _ *datadriven.TestData) {
			request := &w.claim(args[0]).Spec.Request
			request.Call, request.Nodes = v2.CallDeleteNodes, []string{worldNode}
		},
		"hold": func(w *world, args []string, _ *datadriven.TestData) {
			w.slot.Annotations = map[string]string{v2.AnnotationHold: strings.Join(args, " ")}
		},
		"unhold": func(w *world, _ []string, _ *datadriven.TestData) { w.slot.Annotations = nil },
		"keep-kubeNode": func(w *world, _ []string, _ *datadriven.TestData) {
			w.groups["workers"].Spec.RemoveNodeAfterShutdown = new(false)
		},
		"terminate-namespace": func(w *world, _ []string, _ *datadriven.TestData) { w.terminateNamespace() },
		"unclaimed-policy": func(w *world, args []string, _ *datadriven.TestData) {
			w.groups["workers"].Spec.UnclaimedMachines = v2.UnclaimedPolicy(args[0])
		},
		"pod":    func(w *world, args []string, _ *datadriven.TestData) { w.newPod(args[0]) },
		"budget": func(w *world, args []string, _ *datadriven.TestData) { w.newBudget(args[0]) },
		"declare-cpu": func(w *world, args []string, _ *datadriven.TestData) {
			w.slot.Spec.NodeCapacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(args[0])}
		},
		"protected": func(w *world, _ []string, d *datadriven.TestData) { w.protected = strings.TrimSpace(d.Input) },
		"declare-taint": func(w *world, args []string, _ *datadriven.TestData) {
			w.slot.Spec.NodeTaints = append(w.slot.Spec.NodeTaints, corev1.Taint{Key: args[0], Effect: corev1.TaintEffectNoSchedule})
		},
		"kubeNode": func(w *world, _ []string, _ *datadriven.TestData) {
			fmt.Fprintf(&w.printed, "labels %v\ntaints %v\n", w.kubeNode.Labels, w.kubeNode.Spec.Taints)
		},
		"manager":      func(w *world, args []string, _ *datadriven.TestData) { w.down = args[0] == "stops" },
		"deletions":    func(w *world, args []string, _ *datadriven.TestData) { w.linger = args[0] == "linger" },
		"restore":      func(w *world, _ []string, _ *datadriven.TestData) { w.restore() },
		"recreate":     func(w *world, _ []string, _ *datadriven.TestData) { w.newSlot() },
		"resume":       func(w *world, args []string, _ *datadriven.TestData) { w.claim(args[0]).Status.ShutdownAttempts = 0 },
		"forgive":      func(w *world, _ []string, _ *datadriven.TestData) { w.slot.Status.LastClaim.Attempt = 0 },
		"strip-status": func(w *world, args []string, _ *datadriven.TestData) { w.claim(args[0]).Status = v2.NodeClaimStatus{} },
		"strip-finalizer": func(w *world, args []string, _ *datadriven.TestData) {
			w.claim(args[0]).Finalizers = nil
			w.collectGarbage()
		},
		"clear-deadline": func(w *world, args []string, _ *datadriven.TestData) { w.claim(args[0]).Spec.DeadlineAt = nil },
		"relabel": func(w *world, args []string, _ *datadriven.TestData) {
			w.groups[args[0]] = &v2.Group{ObjectMeta: w.meta(args[0])}
			w.slot.Labels[v2.LabelGroup] = args[0]
		},
		"status": func(w *world, _ []string, _ *datadriven.TestData) { w.status() },
	}
}

// tick lets time pass, waking exactly when the decisions asked to be woken.
func (w *world) tick(text string) {
	d, err := time.ParseDuration(text)
	if err != nil {
		w.t.Fatal(err)
	}
	end := w.now.Add(d)
	for !w.down && !w.wake.IsZero() && !w.wake.After(end) {
		w.now = w.wake
		before := w.printed.Len()
		w.settle()
		if w.printed.Len() > before {
			said := w.printed.String()[before:]
			keep := w.printed.String()[:before]
			w.printed.Reset()
			fmt.Fprintf(&w.printed, "%s%s:\n%s", keep, w.now.Format(time.TimeOnly), said)
		}
		if !w.wake.After(w.now) && !w.wake.IsZero() {
			w.t.Fatalf("wake %s is not in the future", w.wake)
		}
	}
	w.now = end
}

// ask makes a claim, unfilled if the webhook was down: it then says nothing that its maker did not write.
func (w *world) ask(name string, how []string) {
	c := w.newClaim(name)
	if slices.Contains(how, "unfilled") {
		c.Spec.Request = v2.ClaimRequest{Call: v2.CallCreate, Group: "workers"}
		c.Spec.RequestedAt, c.Spec.RequestedBy, c.Spec.DeadlineAt = nil, "", nil
	}
}

func (w *world) job(operation, what, message string) {
	switch what {
	case "starts":
		w.jobStarts(operation)
	case "succeeds":
		w.jobEnds(operation, batchv1.JobComplete, "", 0, message)
	case "fails":
		w.jobEnds(operation, batchv1.JobFailed, "BackoffLimitExceeded", 1, message)
	case "times-out":
		w.jobEnds(operation, batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, 137, message)
	case "never-starts":
		w.jobEnds(operation, batchv1.JobFailed, "NeverStarted", 0, message)
	case "finds-no-place":
		w.jobWaits(operation, message)
	case "gets-no-pod":
		w.jobGetsNoPod(operation, message)
	case "gets-no-containers":
		w.jobMountsInVain(operation, message)
	case "deleted":
		gone := w.lastJobOf(operation)
		w.apply(DeleteJob{UID: gone.UID})
	default:
		w.t.Fatalf("job %s: what is %q?", operation, what)
	}
}

func (w *world) kubeletSays(args []string) {
	switch args[0] {
	case "ready":
		w.kubelet(corev1.ConditionTrue)
		for _, taint := range args[1:] {
			w.kubeNode.Spec.Taints = append(w.kubeNode.Spec.Taints, corev1.Taint{Key: taint, Effect: corev1.TaintEffectNoExecute})
		}
	case "not-ready":
		w.kubelet(corev1.ConditionFalse)
	case "silent":
		w.kubelet(corev1.ConditionUnknown)
	case "taint":
		w.kubeNode.Spec.Taints = append(w.kubeNode.Spec.Taints, corev1.Taint{Key: args[1], Effect: corev1.TaintEffectNoSchedule})
	case "carries":
		w.kubelet(corev1.ConditionTrue)
		w.kubeNode.Spec.ProviderID = args[1]
	case "untaint":
		w.kubeNode.Spec.Taints = nil
	default:
		w.t.Fatalf("kubelet: what is %q?", args[0])
	}
}

// switchSays saves a reading as the power observer does: since keeps when the switch was first heard to say so. A second
// word is by how much the observer's clock is ahead.
func (w *world) switchSays(args []string) {
	state, at := v2.PowerState(args[0]), w.now
	if len(args) > 1 {
		ahead, err := time.ParseDuration(args[1])
		if err != nil {
			w.t.Fatal(err)
		}
		at = at.Add(ahead)
	}
	since := metav1.NewTime(at)
	if former := w.slot.Status.PowerReading; former != nil && (state == w.said || state == v2.PowerUnknown) {
		since = former.Since
	}
	if state != v2.PowerUnknown {
		w.said = state
	}
	w.slot.Status.PowerReading = &v2.PowerReading{State: state, Since: since, ObservedAt: metav1.NewTime(at), Source: "ipmi 10.0.0.5:623"}
}

// restore is a backup that brings objects back without their status, with new uids.
func (w *world) restore() {
	w.slot.Status, w.slot.UID = v2.NodeStatus{}, w.meta("").UID
	for _, c := range w.claims {
		c.Status, c.UID, c.CreationTimestamp = v2.NodeClaimStatus{}, w.meta("").UID, metav1.NewTime(w.now)
		c.Finalizers = nil
	}
	w.jobs = nil
}

func (w *world) deleteNamed(args []string) {
	switch args[0] {
	case "claim":
		w.delete(w.claim(args[1]))
	case "slot":
		w.delete(w.slot)
	case "kubeNode":
		w.kubeNode = nil
	case "group":
		delete(w.groups, "workers")
	}
}

// status prints where everything stands.
func (w *world) status() {
	if w.slot != nil {
		s := w.slot.Status
		fmt.Fprintf(&w.printed, "slot: phase %s, power %s (%s)\n", s.Phase, s.PowerState, s.PowerSource)
		if d := s.LastClaim; d != nil {
			fmt.Fprintf(&w.printed, "digest: claim %s %s, attempt %d, reason %q\n", d.Name, d.Phase, d.Attempt, d.Reason)
		}
	}
	for _, c := range w.claims {
		fmt.Fprintf(&w.printed, "claim %s: %s, attempt %d, reason %q, finalizers %d\n",
			c.Name, facts.Phase(c), c.Status.Attempt, c.Status.Reason, len(c.Finalizers))
	}
	for _, j := range w.jobs {
		fmt.Fprintf(&w.printed, "job %s: finished %t\n", j.Name, facts.JobFinished(j.Job))
	}
	if w.kubeNode != nil {
		ready := corev1.ConditionUnknown
		if c := facts.ReadyCondition(w.kubeNode); c != nil {
			ready = c.Status
		}
		fmt.Fprintf(&w.printed, "kubeNode: Ready=%s, unschedulable %t, providerID %s\n", ready, w.kubeNode.Spec.Unschedulable, w.kubeNode.Spec.ProviderID)
	}
}
