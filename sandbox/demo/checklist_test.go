package demo

import (
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
	"homecluster.dev/autoscaler/sandbox/standin"
)

// teller tells a world, in which one machine is asked for, one thing after the other, and lets the checklist look each time.
type teller struct {
	world     *World
	checklist *Checklist
	at        time.Duration
}

func newTeller(machines ...string) *teller {
	return &teller{world: NewWorld(machines), checklist: NewChecklist(1)}
}

func (t *teller) tell(objects ...client.Object) {
	for _, object := range objects {
		t.step(func() { t.world.Apply(t.at, object, false) })
	}
}

func (t *teller) gone(object client.Object) { t.step(func() { t.world.Apply(t.at, object, true) }) }

func (t *teller) power(on bool) {
	kinds := []machineroom.Kind{machineroom.SoftOffRequested, machineroom.PoweredOff}
	if on {
		kinds = []machineroom.Kind{machineroom.PowerOnRequested, machineroom.PoweredOn}
	}
	for _, kind := range kinds {
		t.step(func() { t.world.Power(t.at, machineroom.Event{Machine: "worker-1", Kind: kind, On: on}) })
	}
}

func (t *teller) step(f func()) {
	t.at += time.Second
	f()
	t.checklist.Look(t.at, t.world)
}

func appPod(phase corev1.PodPhase, kubeNode string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: AppNamespace, Name: "hello-1", Labels: map[string]string{labelApp: App}},
		Spec: corev1.PodSpec{NodeName: kubeNode}, Status: corev1.PodStatus{Phase: phase}}
	if kubeNode == "" {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Reason: corev1.PodReasonUnschedulable, Message: "0/1 nodes are available"}}
	}
	return pod
}

func claim(phase v2.ClaimPhase, call v2.Call) *v2.NodeClaim {
	return &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "worker-1-0a1b2c"},
		Spec:   v2.NodeClaimSpec{Request: v2.ClaimRequest{Call: call, Group: "workers"}},
		Status: v2.NodeClaimStatus{Phase: phase}}
}

func group(target int32) *v2.Group {
	return &v2.Group{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "workers"}, Status: v2.GroupStatus{TargetSize: target}}
}

func lifecycleJob(operation string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "worker-1-" + operation,
		Labels: map[string]string{v2.LabelOperation: operation}},
		Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}}
}

func machine(taken bool) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1"},
		Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}}}
	if taken {
		n.Spec.Unschedulable = true
		n.Spec.Taints = []corev1.Taint{{Key: standin.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}}
	}
	return n
}

func slot(phase v2.SlotPhase, last *v2.ClaimDigest) *v2.Node {
	return &v2.Node{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "worker-1"},
		Spec: v2.NodeSpec{KubernetesNodeName: "worker-1"}, Status: v2.NodeStatus{Phase: phase, LastClaim: last}}
}

// reads is a slot whose switch can be read, and what was read from it.
func reads(slot *v2.Node, state v2.PowerState) *v2.Node {
	slot.Spec.Power = &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "127.64.0.1"}}
	slot.Status.PowerReading = &v2.PowerReading{State: state}
	return slot
}

// up tells the first act of one machine.
func (t *teller) up() {
	t.tell(slot(v2.SlotOff, nil), group(0), appPod(corev1.PodPending, ""), claim("", v2.CallIncreaseSize), group(1),
		claim(v2.ClaimBooting, v2.CallIncreaseSize), slot(v2.SlotBooting, nil))
	t.power(true)
	t.tell(lifecycleJob("startup"), machine(false), claim(v2.ClaimReady, v2.CallIncreaseSize),
		reads(slot(v2.SlotReady, nil), v2.PowerOn), appPod(corev1.PodRunning, "worker-1"))
}

// down tells the second.
func (t *teller) down() {
	t.gone(appPod(corev1.PodRunning, "worker-1"))
	t.tell(machine(true), claim(v2.ClaimReady, v2.CallDeleteNodes), group(0), lifecycleJob("shutdown"))
	t.power(false)
	t.gone(machine(true))
	t.tell(claim(v2.ClaimCompleted, v2.CallDeleteNodes), reads(slot(v2.SlotOff, &v2.ClaimDigest{Phase: v2.ClaimCompleted}), v2.PowerOff))
	t.gone(claim(v2.ClaimCompleted, v2.CallDeleteNodes))
}

func TestTheWholeStoryIsSeen(t *testing.T) {
	s := newTeller("worker-1")
	s.up()
	if missing := s.checklist.Missing(ScaleUp); missing != nil {
		t.Fatalf("after the first act: not seen: %s; instead: %s", missing.Text, missing.Instead(s.world))
	}
	if s.checklist.Missing(ScaleDown) == nil {
		t.Fatal("the second act was seen before it began")
	}
	s.down()
	if missing := s.checklist.Missing(ScaleDown); missing != nil {
		t.Fatalf("after the second act: not seen: %s; instead: %s", missing.Text, missing.Instead(s.world))
	}
	if overrun := s.checklist.Overrun(s.world, 1); overrun != "" {
		t.Errorf("overrun: %s", overrun)
	}
}

// Each step must be able to fail: told everything but what it stands for, the checklist names it.
func TestEveryStepCanBeMissed(t *testing.T) {
	tests := map[string]struct {
		tell    func(*teller)
		act     Act
		step    string
		instead string
	}{
		"no unschedulable pod": {
			tell: func(*teller) {}, step: "the scheduler finds no place", instead: "there are no pods",
		},
		"no claim": {
			tell: func(s *teller) { s.tell(appPod(corev1.PodPending, "")) }, step: "1 claim pending", instead: "there are no claims",
		},
		"a claim that never boots": {
			tell: func(s *teller) { s.tell(appPod(corev1.PodPending, ""), claim("", v2.CallIncreaseSize)) },
			step: "1 claim booting", instead: "worker-1-0a1b2c: pending",
		},
		"a target of the wrong size": {
			tell: func(s *teller) {
				s.tell(appPod(corev1.PodPending, ""), claim("", v2.CallIncreaseSize), claim(v2.ClaimBooting, v2.CallIncreaseSize), group(2))
			},
			step: "the target size is 1", instead: "the most seen at once was 2",
		},
		"a startup Job that is not complete": {
			tell: func(s *teller) {
				s.tell(appPod(corev1.PodPending, ""), claim("", v2.CallIncreaseSize), claim(v2.ClaimBooting, v2.CallIncreaseSize), group(1))
			},
			step: "1 startup Job complete", instead: "there are no lifecycle Jobs",
		},
		"a power switch that nobody pressed": {
			tell: func(s *teller) {
				s.tell(appPod(corev1.PodPending, ""), claim("", v2.CallIncreaseSize), claim(v2.ClaimBooting, v2.CallIncreaseSize),
					group(1), lifecycleJob("startup"))
			},
			step: "1 machine switched on", instead: "0 power-ons",
		},
		"a switch that says off of a machine that is on": {
			tell: func(s *teller) {
				s.up()
				s.checklist.done[8] = false
				s.tell(reads(slot(v2.SlotReady, nil), v2.PowerOff))
			},
			step: "say on", instead: `its switch says "off"`,
		},
		"a pod that runs on the always-on node": {
			tell: func(s *teller) {
				s.up()
				s.world.seen[PodRunning], s.checklist.done[9] = nil, false
				s.tell(appPod(corev1.PodRunning, "always-on"))
			},
			step: "1 pod running, one to a machine", instead: "hello-1: Running on always-on",
		},
		"a machine that stays on": {
			tell: func(s *teller) {
				s.up()
				s.gone(appPod(corev1.PodRunning, "worker-1"))
				s.tell(machine(true), claim(v2.ClaimReady, v2.CallDeleteNodes), group(0), lifecycleJob("shutdown"))
			},
			act: ScaleDown, step: "1 machine switched off", instead: "on now: [worker-1]",
		},
		"a switch that says on of a machine that is off": {
			tell: func(s *teller) {
				s.up()
				s.gone(appPod(corev1.PodRunning, "worker-1"))
				s.tell(machine(true), claim(v2.ClaimReady, v2.CallDeleteNodes), group(0), lifecycleJob("shutdown"))
				s.power(false)
			},
			act: ScaleDown, step: "say off", instead: `its switch says "on"`,
		},
		"a kubeNode that stays": {
			tell: func(s *teller) {
				s.up()
				s.gone(appPod(corev1.PodRunning, "worker-1"))
				s.tell(machine(true), claim(v2.ClaimReady, v2.CallDeleteNodes), group(0), lifecycleJob("shutdown"))
				s.power(false)
				s.tell(reads(slot(v2.SlotDraining, nil), v2.PowerOff))
			},
			act: ScaleDown, step: "1 kubeNode removed", instead: "worker-1: Ready True, cordoned, taint ToBeDeletedByClusterAutoscaler",
		},
		"a slot that does not come to rest": {
			tell: func(s *teller) {
				s.up()
				s.down()
				s.checklist.done[19] = false
				s.tell(slot(v2.SlotDraining, nil))
			},
			act: ScaleDown, step: "every slot is off", instead: `worker-1: phase "draining"`,
		},
		"a second power-on": {
			tell: func(s *teller) {
				s.up()
				s.power(false)
				s.power(true)
				s.down()
			},
			act: ScaleDown, step: "exactly 1 power-on,", instead: "2 power-ons",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTeller("worker-1")
			test.tell(s)
			missing := s.checklist.Missing(test.act)
			if missing == nil {
				t.Fatal("nothing is missing")
			}
			if !strings.Contains(missing.Text, test.step) {
				t.Errorf("missing %q, want %q", missing.Text, test.step)
			}
			if got := missing.Instead(s.world); !strings.Contains(got, test.instead) {
				t.Errorf("instead %q, want %q in it", got, test.instead)
			}
		})
	}
}

func TestOverrunIsAFailure(t *testing.T) {
	second := claim(v2.ClaimBooting, v2.CallIncreaseSize)
	second.Name = "worker-2-3d4e5f"
	tests := map[string]struct {
		tell func(*teller)
		want string
	}{
		"the story as it should be":        {tell: func(s *teller) { s.up(); s.down() }},
		"a machine more than was asked":    {tell: func(s *teller) { s.up(); s.tell(second) }, want: "claim booting: seen of 2, not of 1"},
		"a boot that failed along the way": {tell: func(s *teller) { s.tell(claim(v2.ClaimFailed, v2.CallIncreaseSize)) }, want: "a claim failed"},
		"a machine switched on twice":      {tell: func(s *teller) { s.power(true); s.power(true) }, want: "2 presses to turn on, 2 power-ons"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newTeller("worker-1", "worker-2")
			test.tell(s)
			got := s.checklist.Overrun(s.world, 1)
			if !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
				t.Errorf("overrun %q, want %q", got, test.want)
			}
		})
	}
}
