package realclient

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// workers makes a group of equal machines.
func (o *home) workers(names ...string) {
	o.t.Helper()
	o.group("workers")
	for _, name := range names {
		o.machine("workers", machineroom.Machine{Name: name})
	}
}

// TestZeroTwoZero is the plain story: two pods, two machines, and none when the pods have gone.
func TestZeroTwoZero(t *testing.T) {
	o := newAutoscaledHome(t)
	o.workers("worker-1", "worker-2", "worker-3")
	o.autoscale()
	o.run("pod-1", most)
	o.run("pod-2", most)
	machines := []string{o.running("pod-1"), o.running("pod-2")}
	slices.Sort(machines)
	if want := []string{"worker-1", "worker-2"}; !cmp.Equal(want, machines) || !cmp.Equal(want, o.on()) {
		t.Errorf("the pods run on %v and %v are on, want %v", machines, o.on(), want)
	}
	if asked := o.tap.asked(); asked != 2 {
		t.Errorf("%d machines were asked for, want 2", asked)
	}
	o.end("pod-1", "pod-2")
	o.off(machines...)
	o.boots(map[string]int{"worker-1": 1, "worker-2": 1})
	for _, machine := range machines {
		o.digest(machine, v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	}
	if asked := o.tap.asked(); asked != 2 {
		t.Errorf("%d machines were asked for in the end, want 2", asked)
	}
	o.allAccepted(increaseSize, deleteNodes)
}

// allAccepted checks that none of these calls was refused.
func (o *home) allAccepted(methods ...string) {
	o.t.Helper()
	for _, c := range o.tap.made(methods...) {
		if c.code != codes.OK {
			o.t.Errorf("refused: %s", c)
		}
	}
}

// TestThePodsNeedsDecideWhichGroup has pools of three shapes at zero and a pod for each: one that selects a label, one that
// only fits a large machine, and one that wants a device behind a label and a taint. Without its label the small pod would
// fit the large machine that the client expects, and take the other's place there in the client's mind.
func TestThePodsNeedsDecideWhichGroup(t *testing.T) {
	o := newAutoscaledHome(t)
	gpu := capacity("4", "16Gi")
	gpu["nvidia.com/gpu"] = resource.MustParse("1")
	shapes := map[string]machineroom.Machine{
		"small": {Capacity: capacity("2", "4Gi"), Labels: map[string]string{"home/pool": "small"}},
		"large": {Capacity: capacity("8", "32Gi")},
		"gpu": {
			Capacity: gpu, Labels: map[string]string{"home/gpu": "yes"},
			Taints: []corev1.Taint{{Key: "home/gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}},
		},
	}
	for name, machine := range shapes {
		o.group(name)
		for i := range 2 {
			machine.Name = fmt.Sprintf("%s-%d", name, i+1)
			o.machine(name, machine)
		}
	}
	o.autoscale()
	o.run("small", most, inPool("small"))
	o.run("large", "7")
	o.run("gpu", most, func(spec *corev1.PodSpec) {
		spec.NodeSelector = map[string]string{"home/gpu": "yes"}
		spec.Tolerations = []corev1.Toleration{{Key: "home/gpu", Operator: corev1.TolerationOpExists}}
		spec.Containers[0].Resources.Limits = corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}
	})
	for name := range shapes {
		if machine := o.running(name); machine != name+"-1" {
			t.Errorf("pod %s runs on %s", name, machine)
		}
	}
	o.end("small", "large", "gpu")
	o.off("small-1", "large-1", "gpu-1")
	o.boots(map[string]int{"small-1": 1, "large-1": 1, "gpu-1": 1})
	for name := range shapes {
		o.digest(name+"-1", v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	}
	o.allAccepted(increaseSize, deleteNodes)
}

// TestThreeControlPlanesAndFiveMachinesOff lets the client take five machines down and wake one again. Had their kubeNodes
// stayed, five of eight would count as unready and the client would do nothing any more.
func TestThreeControlPlanesAndFiveMachinesOff(t *testing.T) {
	o := newAutoscaledHome(t, "control-plane-1", "control-plane-2", "control-plane-3")
	machines := []string{"worker-1", "worker-2", "worker-3", "worker-4", "worker-5"}
	o.workers(machines...)
	o.autoscale("--max-scale-down-parallelism=10")
	for _, machine := range machines {
		o.run("pod-"+machine, most)
	}
	for _, machine := range machines {
		o.running("pod-" + machine)
	}
	if !cmp.Equal(machines, o.on()) {
		t.Fatalf("%v are on, want all", o.on())
	}
	for _, machine := range machines {
		o.end("pod-" + machine)
	}
	o.off(machines...)
	for _, machine := range machines {
		o.digest(machine, v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	}
	o.run("again", most)
	again := o.running("again")
	o.end("again")
	o.off(again)
	want := map[string]int{again: 2}
	for _, machine := range machines {
		want[machine] = max(want[machine], 1)
	}
	o.boots(want)
	o.allAccepted(increaseSize, deleteNodes)
}

// TestK3sProviderIDs has kubelets that bring ids of their own; one slot says so, the other was made by somebody who did not
// know.
func TestK3sProviderIDs(t *testing.T) {
	o := newAutoscaledHome(t)
	o.group("workers")
	o.machine("workers", machineroom.Machine{Name: "told", KubernetesNodeName: "k3s-told", ProviderID: "k3s://k3s-told"})
	o.machine("workers", machineroom.Machine{Name: "untold", KubernetesNodeName: "k3s-untold", ProviderID: "k3s://k3s-untold"},
		func(_ *machineroom.Metal, spec *v2.NodeSpec) { spec.ProviderID = "" })
	o.autoscale()
	o.run("pod-1", most)
	o.run("pod-2", most)
	o.running("pod-1")
	o.running("pod-2")
	for _, name := range []string{"told", "untold"} {
		o.eventually(name+" carries its own id", func(ctx context.Context) string {
			slot, err := o.slot(ctx, name)
			if err != nil || slot.Status.ProviderID != "k3s://k3s-"+name {
				return fmt.Sprintf("the slot says %q: %v", slot.Status.ProviderID, err)
			}
			return ""
		})
	}
	// The client takes an instance for registered by nothing but its id, byte for byte.
	o.eventually("both run by their own ids", func(context.Context) string {
		return cmp.Diff([]string{"k3s://k3s-told", "k3s://k3s-untold"}, o.instances("workers"))
	})
	o.end("pod-1", "pod-2")
	o.off("told", "untold")
	o.boots(map[string]int{"told": 1, "untold": 1})
	o.digest("told", v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	o.digest("untold", v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	o.allAccepted(increaseSize, deleteNodes)
}

// instances are the ids of a group's running instances, and the states of others.
func (o *home) instances(group string) []string {
	o.t.Helper()
	answer, err := o.rpc.NodeGroupNodes(o.t.Context(), &pb.NodeGroupNodesRequest{Id: group})
	if err != nil {
		o.t.Fatal(err)
	}
	var ids []string
	for _, instance := range answer.GetInstances() {
		id := instance.GetId()
		if state := instance.GetStatus().GetInstanceState(); state != pb.InstanceStatus_instanceRunning {
			id += " " + state.String()
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
