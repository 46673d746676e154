package realclient

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// toBeDeleted is the taint by which the client takes a node out of use.
const toBeDeleted = "ToBeDeletedByClusterAutoscaler"

// TestTheClientIsKilledBetweenTaintAndDeleteNodes kills it while its DeleteNodes is on the way, never to arrive. The next one
// gives the machine back to use, for pods that came meanwhile, and later takes it down in order.
func TestTheClientIsKilledBetweenTaintAndDeleteNodes(t *testing.T) {
	o := newAutoscaledHome(t)
	o.workers("worker-1", "worker-2")
	first := o.autoscale()
	o.run("pod", most)
	machine := o.running("pod")
	arrived := o.tap.keep(deleteNodes)
	o.end("pod")
	select {
	case <-arrived:
	case <-time.After(patience):
		t.Fatal("the client never called DeleteNodes")
	}
	o.client = nil
	first.kill()
	kubeNode, err := o.kubeNode(t.Context(), machine)
	if err != nil || kubeNode == nil || !tainted(kubeNode) {
		t.Fatalf("the kubeNode is not tainted, the scenario misses its point: %+v, %v", kubeNode, err)
	}
	o.autoscale()
	o.run("late", most)
	if got := o.running("late"); got != machine {
		t.Errorf("the late pod runs on %s, want %s, which was on", got, machine)
	}
	o.boots(map[string]int{machine: 1})
	o.end("late")
	o.off(machine)
	o.boots(map[string]int{machine: 1})
	o.digest(machine, v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
}

func tainted(kubeNode *corev1.Node) bool {
	return slices.ContainsFunc(kubeNode.Spec.Taints, func(t corev1.Taint) bool { return t.Key == toBeDeleted })
}

// TestDeleteNodesFails lets the answer be an error once: the node is usable again at once, and goes when it is asked for anew.
// Clients up to 1.33 ask anew in their next round, so that the moment in between is too short to be met by looking.
func TestDeleteNodesFails(t *testing.T) {
	o := newAutoscaledHome(t)
	o.workers("worker-1")
	o.autoscale()
	o.run("pod", most)
	machine := o.running("pod")
	usable := o.usableAgain(machine)
	o.tap.spoil(deleteNodes, status.Error(codes.Unavailable, "spoilt by the test"))
	o.end("pod")
	o.called(deleteNodes)
	select {
	case <-usable:
	case <-time.After(patience):
		t.Error("the node was never usable again")
	}
	o.off(machine)
	o.boots(map[string]int{machine: 1})
	o.digest(machine, v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
}

// usableAgain is closed once the kubeNode, which is usable now, has been tainted by the client and is without taint and
// cordon again.
func (o *home) usableAgain(machine string) <-chan struct{} {
	o.t.Helper()
	watching, err := client.NewWithWatch(o.cp.Config(), client.Options{Scheme: o.Scheme()})
	if err != nil {
		o.t.Fatal(err)
	}
	events, err := watching.Watch(o.t.Context(), &corev1.NodeList{}, client.MatchingFields{"metadata.name": machine})
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(events.Stop)
	usable := make(chan struct{})
	go func() {
		was := false
		for event := range events.ResultChan() {
			kubeNode, ok := event.Object.(*corev1.Node)
			if !ok || event.Type == watch.Deleted {
				return
			}
			if was && !tainted(kubeNode) && !kubeNode.Spec.Unschedulable {
				close(usable)
				return
			}
			was = was || tainted(kubeNode)
		}
	}()
	return usable
}

// TestTheFloorIsKept raises a floor under a group at zero, with the flag that makes the client mind it: machines come without
// a pod, and stay.
func TestTheFloorIsKept(t *testing.T) {
	o := newAutoscaledHome(t)
	o.workers("worker-1", "worker-2", "worker-3")
	o.autoscale("--enforce-node-group-min-size=true")
	o.called("NodeGroupTargetSize")
	o.floor(2)
	o.await("worker-1", machineroom.Ready)
	o.await("worker-2", machineroom.Ready)
	o.run("pod", most)
	o.running("pod")
	o.end("pod")
	o.stays(4*unneededTime, func() string {
		if on := o.on(); !slices.Equal(on, []string{"worker-1", "worker-2"}) {
			return fmt.Sprintf("%v are on", on)
		}
		return ""
	})
	o.boots(map[string]int{"worker-1": 1, "worker-2": 1})
	if made := o.tap.made(deleteNodes); len(made) > 0 {
		t.Errorf("the floor was not told: %s", made[0])
	}
	o.floor(0)
	o.off("worker-1", "worker-2")
	o.allAccepted(increaseSize, deleteNodes)
}

// floor sets the minimum of the group of workers.
func (o *home) floor(size int32) {
	o.t.Helper()
	o.eventually("the floor is set", func(ctx context.Context) string {
		group := &v2.Group{}
		if err := o.Get(ctx, o.key("workers"), group); err != nil {
			return err.Error()
		}
		group.Spec.MinSize = size
		if err := o.Update(ctx, group); err != nil {
			return err.Error()
		}
		return ""
	})
}

// stays checks for a while that nothing is wrong.
func (o *home) stays(while time.Duration, wrong func() string) {
	o.t.Helper()
	for end := time.Now().Add(while); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if what := wrong(); what != "" {
			o.t.Fatal(what)
		}
	}
}

// TestTheOnlyBootFailsAtTheFloor has a floor that the pool cannot keep: the client is told, backs off, and its removal of the
// instance that never came is accepted. The machine is off whenever it is not being tried.
func TestTheOnlyBootFailsAtTheFloor(t *testing.T) {
	o := newAutoscaledHome(t)
	o.group("workers", func(spec *v2.GroupSpec) {
		spec.MinSize = 1
		spec.Timeouts.StartupJob, spec.Timeouts.Registration = duration(15*time.Second), duration(5*time.Second)
		spec.Timeouts.ReadinessGate = duration(5 * time.Second)
	})
	o.machine("workers", machineroom.Machine{Name: "worker-1", Temperament: machineroom.Temperament{NeverBoots: true}}, byPlug)
	o.autoscale("--enforce-node-group-min-size=true")
	o.await("worker-1", machineroom.PoweredOff)
	o.off("worker-1")
	// Three failures in a row start a cool-off, which is longer than the scenario.
	o.eventually("the machine cools off", func(ctx context.Context) string {
		slot, err := o.slot(ctx, "worker-1")
		if err != nil {
			return err.Error()
		}
		if last := slot.Status.LastClaim; last == nil || last.Attempt < 3 || last.Phase != v2.ClaimFailed {
			return fmt.Sprintf("its digest is %+v", last)
		}
		return ""
	})
	o.off("worker-1")
	o.stays(3*unneededTime, func() string {
		if o.room.IsOn("worker-1") {
			return "the machine is tried again while it cools off"
		}
		return ""
	})
	o.boots(map[string]int{"worker-1": 3})
	o.digest("worker-1", v2.ClaimFailed, v2.ReasonDeadlineExceeded, 3)
	o.allAccepted(deleteNodes)
}

// TestBrokenGroupsDoNotSpoilTheOthers has a group whose slot does not say what it offers, one with slots too unlike to hold
// the pod that selects it, and one that is deleted while the client looks at it.
func TestBrokenGroupsDoNotSpoilTheOthers(t *testing.T) {
	o := newAutoscaledHome(t)
	o.group("workers")
	o.machine("workers", machineroom.Machine{Name: "worker-1", Labels: map[string]string{"home/pool": "workers"}})
	o.group("mute")
	o.machine("mute", machineroom.Machine{Name: "mute-1"}, func(_ *machineroom.Metal, spec *v2.NodeSpec) { spec.NodeCapacity = nil })
	o.group("unlike")
	o.machine("unlike", machineroom.Machine{Name: "unlike-1", Capacity: capacity("2", "4Gi")})
	o.machine("unlike", machineroom.Machine{Name: "unlike-2", Capacity: capacity("8", "32Gi")})
	o.group("deleted")
	o.machine("deleted", machineroom.Machine{Name: "deleted-1"})
	o.autoscale()
	o.run("too-large-for-the-least", "6")
	o.eventually("the client asks for a template", func(context.Context) string {
		if len(o.tap.made("NodeGroupTemplateNodeInfo")) < 4 {
			return "it has not"
		}
		return ""
	})
	group := &v2.Group{}
	if err := o.Get(t.Context(), o.key("deleted"), group); err != nil {
		t.Fatal(err)
	}
	if err := o.Delete(t.Context(), group); err != nil {
		t.Fatal(err)
	}
	// The pod would fit one of the unlike machines too, and which group the client picks is its own affair.
	o.run("pod", most, inPool("workers"))
	o.running("pod")
	o.eventually("the group says that its slots are unlike", func(ctx context.Context) string {
		if err := o.Get(ctx, o.key("unlike"), group); err != nil {
			return err.Error()
		}
		for _, condition := range group.Status.Conditions {
			if condition.Type == v2.ConditionHeterogeneousCapacity && condition.Status == "True" {
				return ""
			}
		}
		return fmt.Sprintf("its conditions are %v", group.Status.Conditions)
	})
	o.end("pod")
	o.end("too-large-for-the-least")
	o.off(o.on()...)
	for _, name := range []string{"unlike-1", "unlike-2", "mute-1"} {
		if n := o.room.PowerOnRequests(name); n > 0 {
			t.Errorf("%s was switched on %d times, for nothing", name, n)
		}
	}
}
