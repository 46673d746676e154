package machineroom_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func lasting(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

var agentTaint = corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}

func tainted(kubeNode *corev1.Node, wanted corev1.Taint) bool {
	for _, taint := range kubeNode.Spec.Taints {
		if taint.MatchTaint(&wanted) {
			return true
		}
	}
	return false
}

// TestTheLifeOfAMachine goes once around: off, up with a pod, off, and Unknown by the node lifecycle controller.
func TestTheLifeOfAMachine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.machine(machineroom.Machine{
		Name: "worker-01", ProviderID: "k3s://worker-01", Labels: map[string]string{"gpu": "yes"},
		Taints: []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}, StartupTaints: []corev1.Taint{agentTaint},
	})
	l.turnOn(m)
	l.happens(m, 0, machineroom.Registered)
	kubeNode := l.node(t.Context(), m.KubeNode())
	if kubeNode.Spec.ProviderID != "k3s://worker-01" || kubeNode.Labels["gpu"] != "yes" ||
		kubeNode.Labels[corev1.LabelHostname] != m.KubeNode() || !tainted(kubeNode, corev1.Taint{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}) {
		t.Errorf("it registered with providerID %q, labels %v and taints %v", kubeNode.Spec.ProviderID, kubeNode.Labels, kubeNode.Spec.Taints)
	}
	if cpu := kubeNode.Status.Allocatable.Cpu().String(); cpu != "4" {
		t.Errorf("it offers %s CPUs", cpu)
	}
	l.happens(m, 0, machineroom.TaintsLifted)
	if tainted(l.node(t.Context(), m.KubeNode()), agentTaint) {
		t.Error("the startup taint is said to be lifted, and is there")
	}

	l.startPod("app", m.KubeNode(), nil)
	l.untilPod("app", "runs", running)
	l.press(m, machineroom.ActionSoft)
	l.happens(m, 0, machineroom.PoweredOff)
	l.untilReadyIs(m.KubeNode(), corev1.ConditionUnknown)
	if reason := readyOf(l.node(t.Context(), m.KubeNode())).Reason; reason != "NodeStatusUnknown" {
		t.Errorf("Ready became Unknown for %q, which is not the node lifecycle controller's word", reason)
	}

	// The object is still there at the next boot. What people did to it stays, and the pod runs again.
	l.change(m.KubeNode(), `{"spec":{"unschedulable":true},"metadata":{"labels":{"gpu":"broken","mine":"yes"}}}`)
	seq := l.LastSeq()
	l.press(m, machineroom.ActionOn)
	l.happens(m, seq, machineroom.Rejoined)
	l.happens(m, seq, machineroom.Ready)
	l.untilReadyIs(m.KubeNode(), corev1.ConditionTrue)
	after := l.node(t.Context(), m.KubeNode())
	if after.UID != kubeNode.UID || !after.Spec.Unschedulable || after.Labels["gpu"] != "broken" || after.Labels["mine"] != "yes" ||
		after.Spec.ProviderID != "k3s://worker-01" {
		t.Errorf("taken over, the node has spec %+v and labels %v", after.Spec, after.Labels)
	}
	if after.Status.NodeInfo.BootID == kubeNode.Status.NodeInfo.BootID {
		t.Error("two boots have the same boot id")
	}
	l.untilPod("app", "runs again, restarted", func(pod *corev1.Pod) bool {
		return running(pod) && pod.Status.ContainerStatuses[0].RestartCount == 1
	})
}

func (l *lab) change(kubeNode, patch string) {
	l.t.Helper()
	_, err := l.client.CoreV1().Nodes().Patch(l.t.Context(), kubeNode, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
}

// TestADeletedNodeStaysDeletedUntilTheNextBoot is the rule that makes removing a kubeNode a grave act.
func TestADeletedNodeStaysDeletedUntilTheNextBoot(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.machine(machineroom.Machine{Name: "worker-01"})
	l.turnOn(m)
	before := l.node(t.Context(), m.KubeNode()).UID
	if err := l.client.CoreV1().Nodes().Delete(t.Context(), m.KubeNode(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	l.happens(m, 0, machineroom.NodeMissing)
	// Several turns of status and Lease later it is still away, and so is its Lease.
	l.until("its lease is collected", func(ctx context.Context) (string, bool) {
		_, err := l.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Get(ctx, m.KubeNode(), metav1.GetOptions{})
		return "it is there", apierrors.IsNotFound(err)
	})
	l.stays("the node is away", 3*time.Second, func() bool { return l.node(t.Context(), m.KubeNode()) == nil })
	if got := len(l.Log(machineroom.Of("worker-01"), machineroom.Is(machineroom.Registered))); got != 1 {
		t.Errorf("it registered %d times in one boot", got)
	}

	seq := l.LastSeq()
	l.press(m, machineroom.ActionOff)
	l.press(m, machineroom.ActionOn)
	l.happens(m, seq, machineroom.Registered)
	l.untilReadyIs(m.KubeNode(), corev1.ConditionTrue)
	if l.node(t.Context(), m.KubeNode()).UID == before {
		t.Error("the next boot did not make a new object")
	}
}

// stays looks again and again for as long as a wrong turn would need to show.
func (l *lab) stays(what string, length time.Duration, holds func() bool) {
	l.t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for end := time.Now().Add(length); time.Now().Before(end); <-ticker.C {
		if !holds() {
			l.t.Fatalf("it does not hold that %s", what)
		}
	}
}

// TestSilenceIsSilence: a machine that is dead with its power on writes nothing more.
func TestSilenceIsSilence(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.machine(machineroom.Machine{Name: "worker-01"})
	l.turnOn(m)
	leases := l.client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	l.until("it has a lease", func(ctx context.Context) (string, bool) {
		_, err := leases.Get(ctx, m.KubeNode(), metav1.GetOptions{})
		return fmt.Sprint(err), err == nil
	})
	m.Panic()
	l.happens(m, 0, machineroom.Silent)
	renewed := func() string {
		lease, err := leases.Get(t.Context(), m.KubeNode(), metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return lease.Spec.RenewTime.String()
	}
	last := renewed()
	l.untilReadyIs(m.KubeNode(), corev1.ConditionUnknown)
	if got := renewed(); got != last {
		t.Errorf("the lease was renewed at %s, after the last word at %s", got, last)
	}
	if !l.IsOn("worker-01") {
		t.Error("a panic has cut the power")
	}
}

func TestALingeringTaintStaysUntilTheTemperamentChanges(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.machine(machineroom.Machine{
		Name: "worker-01", Temperament: machineroom.Temperament{TaintLingers: lasting(machineroom.Forever)},
	})
	l.turnOn(m)
	l.untilReadyIs(m.KubeNode(), corev1.ConditionTrue)
	l.stays("the taint is there", time.Second, func() bool { return tainted(l.node(t.Context(), m.KubeNode()), agentTaint) })
	if err := m.SetTemperament(machineroom.Temperament{}); err != nil {
		t.Fatal(err)
	}
	l.happens(m, 0, machineroom.TaintsLifted)
	if tainted(l.node(t.Context(), m.KubeNode()), agentTaint) {
		t.Error("the taint is still there")
	}
}

// TestAPodOfADeadMachineWaitsForIt: nobody confirms its deletion until the machine is back.
func TestAPodOfADeadMachineWaitsForIt(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.machine(machineroom.Machine{Name: "worker-01"})
	l.turnOn(m)
	l.startPod("app", m.KubeNode(), nil)
	l.untilPod("app", "runs", running)
	m.LosePower()
	grace := metav1.DeleteOptions{GracePeriodSeconds: new(int64(1))}
	if err := l.client.CoreV1().Pods(l.namespace).Delete(t.Context(), "app", grace); err != nil {
		t.Fatal(err)
	}
	l.stays("the pod is terminating", 3*time.Second, func() bool {
		pod := l.pod(t.Context(), "app")
		return pod != nil && pod.DeletionTimestamp != nil
	})
	l.turnOn(m)
	l.untilPodIsGone("app")
}

// TestAPodThatRunsOnceIsNotRunAgain: a power cut is its end, also if the machine comes back.
func TestAPodThatRunsOnceIsNotRunAgain(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	m := l.machine(machineroom.Machine{
		Name: "worker-01", Temperament: machineroom.Temperament{ComesBack: 1, ComesBackAfter: lasting(time.Second)},
	})
	l.turnOn(m)
	l.startPod("once", m.KubeNode(), func(pod *corev1.Pod) { pod.Spec.RestartPolicy = corev1.RestartPolicyNever })
	l.untilPod("once", "runs", running)
	m.LosePower()
	pod := l.untilPod("once", "has failed", func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodFailed })
	if ended := pod.Status.ContainerStatuses[0].State.Terminated; ended == nil || ended.ExitCode != 255 || ended.StartedAt.IsZero() {
		t.Errorf("its container ended with %+v", pod.Status.ContainerStatuses[0].State)
	}
	if got := l.PowerOns("worker-01"); got != 2 {
		t.Errorf("the machine was turned on %d times, want twice", got)
	}
}

// TestTwoRoomsSideBySide: what happens in one is nothing to the other.
func TestTwoRoomsSideBySide(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	here := l.machine(machineroom.Machine{Name: "worker-01"})
	other := &lab{t: t, config: l.config, client: l.client, namespace: l.namespace}
	other.Room = other.openRoom(t.TempDir())
	there, err := other.AddMachine(machineroom.Machine{Name: "worker-01", KubernetesNodeName: "other-" + l.namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.removeNode(context.Background(), there.KubeNode()) })

	l.turnOn(here)
	if other.IsOn("worker-01") || other.LastSeq() != 0 {
		t.Error("a power-on here was felt there")
	}
	other.turnOn(there)
	l.startPod("app", there.KubeNode(), nil)
	l.untilPod("app", "runs", running)
	if err := other.Stop(); err != nil {
		t.Fatal(err)
	}
	l.untilReadyIs(there.KubeNode(), corev1.ConditionUnknown)
	l.untilReadyIs(here.KubeNode(), corev1.ConditionTrue)
}

// TestADozenMachinesShareAProcess: the file of the log tells what the log tells, in one order.
func TestADozenMachinesShareAProcess(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	room := l.openRoom(t.TempDir())
	for i := range 12 {
		name := fmt.Sprintf("w%02d", i)
		if _, err := room.AddMachine(machineroom.Machine{
			Name: name, KubernetesNodeName: name + "-" + l.namespace, On: true,
		}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.removeNode(context.Background(), name+"-"+l.namespace) })
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, m := range room.Machines() {
		if _, err := room.WaitFor(ctx, machineroom.Of(m.Name()), machineroom.Is(machineroom.Ready)); err != nil {
			t.Fatalf("%s is not Ready: %v", m.Name(), err)
		}
	}
	if got := len(room.On()); got != 12 {
		t.Errorf("%d machines are on", got)
	}
	if err := room.Stop(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(room.Log(), readLog(t, room.LogFile()), cmp.Comparer(time.Time.Equal)); diff != "" {
		t.Errorf("the log and its file differ (-log +file):\n%s", diff)
	}
}

func readLog(t *testing.T, path string) []machineroom.Event {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var events []machineroom.Event
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var event machineroom.Event
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			t.Fatal(err)
		}
		events = append(events, event)
	}
	return events
}
