package realclient

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// settle is longer than a kubelet must be silent before its kubeNode says so.
const settle = 8 * time.Second

// times are a group's, for machines that boot in seconds.
func times() *v2.Timeouts {
	return &v2.Timeouts{
		StartupJob: duration(60 * time.Second), Registration: duration(30 * time.Second), ReadinessGate: duration(60 * time.Second),
		ShutdownJob: duration(60 * time.Second), ShutdownSettle: duration(settle), Drain: duration(10 * time.Second),
	}
}

func duration(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// group makes a group, which waits for no readiness taint unless an edit says so.
func (o *home) group(name string, edits ...func(*v2.GroupSpec)) {
	o.t.Helper()
	group := &v2.Group{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.namespace},
		Spec:       v2.GroupSpec{NodeReadinessTaints: []v2.ReadinessTaint{}, Timeouts: times()},
	}
	for _, edit := range edits {
		edit(&group.Spec)
	}
	if err := o.Create(o.t.Context(), group); err != nil {
		o.t.Fatal(err)
	}
}

// machine puts a machine into the room, switched off, and makes its slot. The kubelet brings the slot's label along, as
// --node-labels would have it: power pods keep off it from its first moment.
func (o *home) machine(group string, machine machineroom.Machine, edits ...func(*machineroom.Metal, *v2.NodeSpec)) {
	o.t.Helper()
	machine.Labels = maps.Clone(machine.Labels)
	if machine.Labels == nil {
		machine.Labels = map[string]string{}
	}
	machine.Labels[v2.LabelNode] = machine.Name
	if machine.Capacity == nil {
		machine.Capacity = capacity("2", "4Gi")
	}
	metal, err := o.room.AddMachine(machine)
	if err != nil {
		o.t.Fatal(err)
	}
	slot := metal.Slot(o.namespace, group)
	delete(slot.Spec.NodeLabels, v2.LabelNode)
	for _, edit := range edits {
		edit(metal, &slot.Spec)
	}
	if err := o.Create(o.t.Context(), &slot); err != nil {
		o.t.Fatal(err)
	}
}

// byPlug has the slot's machine switched off by cutting its power, as a BMC does.
func byPlug(metal *machineroom.Metal, spec *v2.NodeSpec) { spec.ShutdownPodSpec = metal.CutPodSpec() }

func capacity(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory),
		corev1.ResourceEphemeralStorage: resource.MustParse("50Gi"), corev1.ResourcePods: resource.MustParse("50"),
	}
}

// most is the request of a pod that leaves no room for another such on a machine of two CPUs.
const most = "1500m"

// run makes a pod that nobody but the test takes away.
func (o *home) run(name, cpu string, edits ...func(*corev1.PodSpec)) {
	o.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.namespace},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(1)),
			Containers: []corev1.Container{{Name: "work", Image: "homecluster.dev/sandbox/work", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
			}}},
		},
	}
	for _, edit := range edits {
		edit(&pod.Spec)
	}
	if err := o.Create(o.t.Context(), pod); err != nil {
		o.t.Fatal(err)
	}
}

// end takes pods away.
func (o *home) end(names ...string) {
	o.t.Helper()
	for _, name := range names {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: o.namespace}}
		if err := o.Delete(o.t.Context(), pod); err != nil {
			o.t.Fatal(err)
		}
	}
}

// running waits until a pod runs, and returns the machine.
func (o *home) running(name string) string {
	o.t.Helper()
	pod := &corev1.Pod{}
	o.eventually("pod "+name+" runs", func(ctx context.Context) string {
		if err := o.Get(ctx, client.ObjectKey{Namespace: o.namespace, Name: name}, pod); err != nil {
			return err.Error()
		}
		if pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("it is %s on %q", pod.Status.Phase, pod.Spec.NodeName)
		}
		return ""
	})
	return pod.Spec.NodeName
}

// ready waits until a slot says that its machine is.
func (o *home) ready(name string) {
	o.t.Helper()
	o.eventually(name+" is ready", func(ctx context.Context) string {
		slot, err := o.slot(ctx, name)
		if err != nil || slot.Status.Phase != v2.SlotReady {
			return fmt.Sprintf("its slot is %q: %v", slot.Status.Phase, err)
		}
		return ""
	})
}

// off waits until nothing is left of these machines but their slots: no power, no claim that lives, no kubeNode.
func (o *home) off(machines ...string) {
	o.t.Helper()
	for _, machine := range machines {
		o.eventually(machine+" is off", func(ctx context.Context) string { return o.missingOff(ctx, machine) })
	}
}

func (o *home) missingOff(ctx context.Context, machine string) string {
	if missing := o.missingFree(ctx, machine); missing != "" {
		return missing
	}
	if kubeNode, err := o.kubeNode(ctx, o.room.Machine(machine).KubeNode()); err != nil || kubeNode != nil {
		return fmt.Sprintf("its kubeNode is there: %v", err)
	}
	return ""
}

// missingFree says what is left of a machine, its kubeNode aside.
func (o *home) missingFree(ctx context.Context, machine string) string {
	if o.room.IsOn(machine) {
		return "it has power"
	}
	slot, err := o.slot(ctx, machine)
	switch {
	case err != nil:
		return err.Error()
	case slot.Status.Phase != v2.SlotOff || len(slot.Finalizers) > 0:
		return fmt.Sprintf("its slot is %q with finalizers %q", slot.Status.Phase, slot.Finalizers)
	}
	if claim, err := o.liveClaim(ctx, machine); err != nil || claim != "" {
		return fmt.Sprintf("claim %s lives: %v", claim, err)
	}
	return ""
}

func (o *home) liveClaim(ctx context.Context, slot string) (string, error) {
	claims, err := o.claims(ctx)
	for i := range claims {
		if claims[i].Spec.SlotRef.Name == slot && facts.Live(&claims[i]) {
			return claims[i].Name, nil
		}
	}
	return "", err
}

// boots checks how often each machine in the room was switched on, those not named never: by its own log, with no press
// more than it took, and by nobody but the switch.
func (o *home) boots(want map[string]int) {
	o.t.Helper()
	for _, metal := range o.room.Machines() {
		name := metal.Name()
		ons := o.room.Log(machineroom.Of(name), machineroom.Is(machineroom.PoweredOn), machineroom.From("switch"))
		if presses, total := o.room.PowerOnRequests(name), o.room.PowerOns(name); len(ons) != want[name] || total != want[name] || presses != want[name] {
			o.t.Errorf("%s came on %d times, %d of them by its switch, after %d presses; want %d", name, total, len(ons), presses, want[name])
		}
	}
}

// digest checks how the newest episode of a slot ended.
func (o *home) digest(slot string, phase v2.ClaimPhase, reason v2.ClaimReason, attempt int32) {
	o.t.Helper()
	object, err := o.slot(o.t.Context(), slot)
	if err != nil {
		o.t.Fatal(err)
	}
	last := object.Status.LastClaim
	if last == nil || last.Phase != phase || last.Reason != reason || last.Attempt != attempt {
		o.t.Errorf("the digest of %s is %+v, want %s %s of attempt %d", slot, last, phase, reason, attempt)
	}
}

// on are the machines of these that have power, in order.
func (o *home) on() []string { return slices.Sorted(slices.Values(o.room.On())) }

// first is the number of the first event that the filters select; the test ends without one.
func (o *home) first(filters ...machineroom.Filter) int64 {
	o.t.Helper()
	events := o.room.Log(filters...)
	if len(events) == 0 {
		o.t.Fatal("the power log does not say so")
	}
	return events[0].Seq
}

// await waits for an event of a machine.
func (o *home) await(machine string, kinds ...machineroom.Kind) machineroom.Event {
	o.t.Helper()
	ctx, cancel := context.WithTimeout(o.t.Context(), patience)
	defer cancel()
	event, err := o.room.WaitFor(ctx, machineroom.Of(machine), machineroom.Is(kinds...))
	if err != nil {
		o.t.Fatalf("waiting until %s is %v: %v", machine, kinds, err)
	}
	return event
}

// key is the name of an object of ours.
func (o *home) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: o.namespace, Name: name}
}
