package realclient

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// TestABootThatNeverRegisters gives the first slot a machine that stays in its firmware: the next one is asked for, and the
// first is off in the end, without a third purchase.
func TestABootThatNeverRegisters(t *testing.T) {
	o := newAutoscaledHome(t)
	o.group("workers", func(spec *v2.GroupSpec) {
		spec.Timeouts.StartupJob, spec.Timeouts.Registration = duration(15*time.Second), duration(5*time.Second)
		spec.Timeouts.ReadinessGate = duration(15 * time.Second)
	})
	o.machine("workers", machineroom.Machine{Name: "worker-1", Temperament: machineroom.Temperament{NeverBoots: true}}, byPlug)
	o.machine("workers", machineroom.Machine{Name: "worker-2"}, byPlug)
	o.machine("workers", machineroom.Machine{Name: "worker-3"}, byPlug)
	o.autoscale()
	o.run("pod", most)
	if machine := o.running("pod"); machine != "worker-2" {
		t.Errorf("the pod runs on %s, want worker-2", machine)
	}
	o.off("worker-1")
	o.digest("worker-1", v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
	if asked := o.tap.asked(); asked != 2 {
		t.Errorf("%d machines were asked for, want 2: the first and the next", asked)
	}
	o.end("pod")
	o.off("worker-2")
	o.boots(map[string]int{"worker-1": 1, "worker-2": 1})
	o.allAccepted(increaseSize, deleteNodes)
}

// TestASlowNetworkAgent has kubelets that are Ready long before their network agent is: one machine is enough, and its claim
// is ready only when the taint has gone.
func TestASlowNetworkAgent(t *testing.T) {
	taint := corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}
	startup := "--startup-taint=" + taint.Key
	tests := map[string]struct {
		group func(*v2.GroupSpec)
		flags []string
	}{
		"with the client's own options": {func(*v2.GroupSpec) {}, []string{startup}},
		// The options of a group carry no start-up time, so that the client takes a registered node that is not yet ready for
		// an unready one at once.
		"with options of the group": {
			func(spec *v2.GroupSpec) { spec.ScaleDownUnneededTime = duration(2 * unneededTime) }, []string{startup},
		},
		"with a client that knows no startup taint": {func(*v2.GroupSpec) {}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := newAutoscaledHome(t)
			o.group("workers", func(spec *v2.GroupSpec) {
				spec.NodeReadinessTaints = []v2.ReadinessTaint{{Key: taint.Key, Effect: taint.Effect}}
				test.group(spec)
			})
			for _, name := range []string{"worker-1", "worker-2", "worker-3"} {
				o.machine("workers", machineroom.Machine{
					Name: name, StartupTaints: []corev1.Taint{taint}, StartupTaintDelay: 25 * time.Second,
				})
			}
			o.autoscale(test.flags...)
			o.run("pod", most)
			o.await("worker-1", machineroom.Ready)
			o.running("pod")
			lifted := o.await("worker-1", machineroom.TaintsLifted)
			if asked := o.tap.asked(); asked != 1 {
				t.Errorf("%d machines were asked for, want 1", asked)
			}
			slot, err := o.slot(t.Context(), "worker-1")
			if err != nil {
				t.Fatal(err)
			}
			// Times on the wire have whole seconds.
			if ready := slot.Status.LastStartupTime; ready == nil || ready.Time.Before(lifted.Time.Truncate(time.Second)) {
				t.Errorf("the machine was ready at %v, and its taint lifted at %v", ready, lifted.Time)
			}
			o.end("pod")
			o.off("worker-1")
			o.boots(map[string]int{"worker-1": 1})
			o.digest("worker-1", v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
			o.allAccepted(increaseSize, deleteNodes)
		})
	}
}

// TestAnIdleMachineGoesOffWhileAnotherBoots has one machine with nothing left to do and one that takes long to boot.
func TestAnIdleMachineGoesOffWhileAnotherBoots(t *testing.T) {
	for name, group := range map[string]string{"of the same group": "workers", "of another group": "others"} {
		t.Run(name, func(t *testing.T) {
			o := newAutoscaledHome(t)
			o.group("workers")
			if group != "workers" {
				o.group(group)
			}
			o.machine("workers", machineroom.Machine{Name: "worker-1", Labels: map[string]string{"home/pool": "workers"}})
			o.machine(group, machineroom.Machine{
				Name: "worker-2", Labels: map[string]string{"home/pool": group}, BootTime: 60 * time.Second,
			})
			o.autoscale()
			o.run("first", most, inPool("workers"))
			if machine := o.running("first"); machine != "worker-1" {
				t.Fatalf("the first pod runs on %s", machine)
			}
			o.run("second", most, inPool(group), notOn("worker-1"))
			o.await("worker-2", machineroom.PoweredOn)
			o.end("first")
			o.off("worker-1")
			o.running("second")
			idle := o.first(machineroom.Of("worker-1"), machineroom.Is(machineroom.PoweredOff))
			if joined := o.first(machineroom.Of("worker-2"), machineroom.Is(machineroom.Ready)); joined < idle {
				t.Errorf("the idle machine waited for the boot of the other")
			}
			o.boots(map[string]int{"worker-1": 1, "worker-2": 1})
			if !o.room.IsOn("worker-2") {
				t.Error("the machine that booted is off")
			}
			o.digest("worker-1", v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
			o.allAccepted(increaseSize, deleteNodes)
		})
	}
}

// inPool keeps a pod to the machines with that label.
func inPool(name string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"home/pool": name} }
}

// notOn keeps a pod off a kubeNode.
func notOn(kubeNode string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpNotIn, Values: []string{kubeNode},
				}},
			}}},
		}}
	}
}
