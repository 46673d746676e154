package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/sandbox/liveview"
	"homecluster.dev/autoscaler/sandbox/machineroom"
	"homecluster.dev/autoscaler/sandbox/standin"
)

// Fact is one kind of thing that is seen to be true of something, once and for good.
type Fact string

// The facts the story is made of. Each is recorded with the names of the things it was seen of.
const (
	PodUnschedulable Fact = "pod unschedulable"
	PodRunning       Fact = "machine that runs a pod"
	ClaimPending     Fact = "claim pending"
	ClaimBooting     Fact = "claim booting"
	ClaimReady       Fact = "claim ready"
	ClaimReturned    Fact = "claim given back by DeleteNodes"
	ClaimCompleted   Fact = "claim completed"
	ClaimFailed      Fact = "claim failed"
	StartupComplete  Fact = "startup Job complete"
	ShutdownComplete Fact = "shutdown Job complete"
	KubeNodeReady    Fact = "kubeNode Ready"
	KubeNodeTaken    Fact = "kubeNode tainted and cordoned"
	KubeNodeGone     Fact = "kubeNode removed"
	PowerOn          Fact = "power on"
	PowerOff         Fact = "power off"
)

// World is what was seen on the API server and in the power log: how things are, and what was ever true of them.
// It is fed one change at a time, so that a state that lasted a moment is seen too.
type World struct {
	// machines are the names of the kubeNodes that slots stand for.
	machines map[string]bool

	groups    map[string]*v2.Group
	slots     map[string]*v2.Node
	claims    map[string]*v2.NodeClaim
	kubeNodes map[string]*corev1.Node
	pods      map[string]*corev1.Pod
	jobs      map[string]*batchv1.Job

	events, power liveview.Feed
	// heard are the events already in the feed, with the count they had then.
	heard map[string]int32

	seen map[Fact]map[string]bool
	// on is which machines the power log says are on; presses is how often a switch was pressed to turn one on, ons how
	// often one came on.
	on           map[string]bool
	presses, ons int
	// peak is the largest sum of the groups' target sizes seen.
	peak int32
}

// NewWorld is a world in which nothing was seen yet.
func NewWorld(machines []string) *World {
	w := &World{
		machines: map[string]bool{}, groups: map[string]*v2.Group{}, slots: map[string]*v2.Node{},
		claims: map[string]*v2.NodeClaim{}, kubeNodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{},
		jobs: map[string]*batchv1.Job{}, heard: map[string]int32{}, seen: map[Fact]map[string]bool{}, on: map[string]bool{},
		events: liveview.Feed{Name: "events", Noun: "event"}, power: liveview.Feed{Name: "power log", Noun: "power"},
	}
	for _, name := range machines {
		w.machines[name] = true
	}
	return w
}

// Apply takes in one change of one object.
func (w *World) Apply(at time.Duration, object client.Object, deleted bool) {
	switch o := object.(type) {
	case *v2.Group:
		put(w.groups, o, deleted)
		w.peak = max(w.peak, w.targetSize())
	case *v2.Node:
		put(w.slots, o, deleted)
	case *v2.NodeClaim:
		put(w.claims, o, deleted)
		w.seeClaim(o)
	case *corev1.Node:
		put(w.kubeNodes, o, deleted)
		w.seeKubeNode(o, deleted)
	case *corev1.Pod:
		if o.Namespace == AppNamespace && o.Labels[labelApp] == App {
			put(w.pods, o, deleted)
			w.seePod(o)
		}
	case *batchv1.Job:
		put(w.jobs, o, deleted)
		w.seeJob(o)
	case *eventsv1.Event:
		if !deleted {
			w.hear(at, o)
		}
	}
}

func put[T client.Object](all map[string]T, object T, deleted bool) {
	if deleted {
		delete(all, object.GetName())
		return
	}
	all[object.GetName()] = object
}

func (w *World) see(fact Fact, name string) {
	if w.seen[fact] == nil {
		w.seen[fact] = map[string]bool{}
	}
	w.seen[fact][name] = true
}

// names are the things a fact was seen of, in order.
func (w *World) names(fact Fact) []string { return slices.Sorted(maps.Keys(w.seen[fact])) }

func (w *World) count(fact Fact) int { return len(w.seen[fact]) }

func (w *World) seeClaim(claim *v2.NodeClaim) {
	switch facts.Phase(claim) {
	case v2.ClaimPending:
		w.see(ClaimPending, claim.Name)
	case v2.ClaimBooting:
		w.see(ClaimBooting, claim.Name)
	case v2.ClaimReady:
		w.see(ClaimReady, claim.Name)
	case v2.ClaimCompleted:
		w.see(ClaimCompleted, claim.Name)
	case v2.ClaimFailed:
		w.see(ClaimFailed, claim.Name)
	}
	if claim.Spec.Request.Call == v2.CallDeleteNodes {
		w.see(ClaimReturned, claim.Name)
	}
}

func (w *World) seeKubeNode(kubeNode *corev1.Node, deleted bool) {
	if !w.machines[kubeNode.Name] {
		return
	}
	if deleted {
		w.see(KubeNodeGone, kubeNode.Name)
		return
	}
	if facts.KubeNodeReady(kubeNode) {
		w.see(KubeNodeReady, kubeNode.Name)
	}
	if kubeNode.Spec.Unschedulable && slices.ContainsFunc(kubeNode.Spec.Taints, func(t corev1.Taint) bool { return t.Key == standin.TaintToBeDeleted }) {
		w.see(KubeNodeTaken, kubeNode.Name)
	}
}

func (w *World) seePod(pod *corev1.Pod) {
	if unschedulable(pod) {
		w.see(PodUnschedulable, pod.Name)
	}
	if pod.Status.Phase == corev1.PodRunning && w.machines[pod.Spec.NodeName] {
		w.see(PodRunning, pod.Spec.NodeName)
	}
}

func unschedulable(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

func (w *World) seeJob(job *batchv1.Job) {
	complete := slices.ContainsFunc(job.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == batchv1.JobComplete && c.Status == corev1.ConditionTrue
	})
	if !complete {
		return
	}
	switch operation := job.Labels[v2.LabelOperation]; {
	case strings.EqualFold(operation, string(v2.OperationStartup)):
		w.see(StartupComplete, job.Name)
	case strings.EqualFold(operation, string(v2.OperationShutdown)):
		w.see(ShutdownComplete, job.Name)
	}
}

// Power takes in one line of the power log.
func (w *World) Power(at time.Duration, event machineroom.Event) {
	tone := liveview.Dim
	switch event.Kind {
	case machineroom.PowerOnRequested:
		w.presses++
	case machineroom.PoweredOn:
		w.ons++
		w.see(PowerOn, event.Machine)
		tone = liveview.Good
	case machineroom.PoweredOff, machineroom.PowerLost:
		w.see(PowerOff, event.Machine)
	}
	if w.machines[event.Machine] {
		w.on[event.Machine] = event.On
	}
	text := strings.TrimSpace(fmt.Sprintf("%s: %s %s %s", event.Machine, event.Kind, event.Source, event.Note))
	w.power.Add(liveview.Line{At: at, Text: text, Tone: tone})
}

// targetSize is the sum over all groups.
func (w *World) targetSize() int32 {
	var sum int32
	for _, group := range w.groups {
		sum += group.Status.TargetSize
	}
	return sum
}

// running are the machines that are on by the power log.
func (w *World) running() []string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(w.on)) {
		if w.on[name] {
			names = append(names, name)
		}
	}
	return names
}
