package standin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestScaleDown(t *testing.T) {
	long := noon.Add(-time.Minute)
	idle := func(names ...string) Memory {
		m := Memory{Started: true, Idle: map[string]time.Time{}}
		for _, name := range names {
			m.Idle[name] = long
		}
		return m
	}
	two := ours(node("w1", "2"), node("w2", "2"))
	tests := map[string]struct {
		snapshot Snapshot
		memory   Memory
		want     []string
		wantIdle map[string]time.Time
	}{
		"idle begins when it is first seen": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2"))},
			memory:   Memory{Started: true},
			wantIdle: map[string]time.Time{"w1": noon},
		},
		"idle for long enough is removed": {
			snapshot: Snapshot{Groups: []Group{workers(2)}, KubeNodes: two},
			memory:   idle("w1", "w2"),
			want:     []string{"remove w1", "remove w2"},
			wantIdle: idle("w1", "w2").Idle,
		},
		"a pod ends the idleness": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")), Pods: []*corev1.Pod{pod("a", "1", onW1)}},
			memory:   idle("w1"),
			wantIdle: map[string]time.Time{},
		},
		"a finished pod and a DaemonSet's are nothing to wait for": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")), Pods: []*corev1.Pod{
				pod("a", "1", onW1, ofDaemonSet),
				pod("b", "1", onW1, func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })}},
			memory:   idle("w1"),
			want:     []string{"remove w1"},
			wantIdle: idle("w1").Idle,
		},
		"a mirror pod is nothing to wait for": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")), Pods: []*corev1.Pod{
				pod("a", "1", onW1, func(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} })}},
			memory:   idle("w1"),
			want:     []string{"remove w1"},
			wantIdle: idle("w1").Idle,
		},
		"the floor told for the kubeNode holds": {
			snapshot: Snapshot{Groups: []Group{workers(2)}, KubeNodes: []KubeNode{
				{Node: node("w1", "2"), Group: "workers", Min: 1}, {Node: node("w2", "2"), Group: "workers", Min: 1}}},
			memory:   idle("w1", "w2"),
			want:     []string{"remove w1"},
			wantIdle: idle("w1", "w2").Idle,
		},
		"a removal under way counts against the floor": {
			snapshot: Snapshot{Groups: []Group{workers(2)}, KubeNodes: []KubeNode{
				{Node: node("w1", "2"), Group: "workers", Min: 1, Leaving: true}, {Node: node("w2", "2"), Group: "workers", Min: 1}}},
			memory:   idle("w2"),
			wantIdle: idle("w2").Idle,
		},
		"a kubeNode that is nobody's is never removed": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, KubeNodes: []KubeNode{{Node: node("always-on", "4")}}},
			memory:   idle("always-on"),
			wantIdle: map[string]time.Time{},
		},
		"an annotation keeps the kubeNode": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2", func(n *corev1.Node) {
				n.Annotations = map[string]string{AnnotationScaleDownDisabled: "true"}
			}))},
			memory:   idle("w1"),
			wantIdle: map[string]time.Time{},
		},
		"a pending pod about to land keeps the kubeNode": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")), Pods: []*corev1.Pod{pod("a", "1")}},
			memory:   idle("w1"),
			wantIdle: map[string]time.Time{},
		},
		"a pass that asks for machines removes none": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")), Pods: []*corev1.Pod{pod("a", "1", selecting("pool", "workers"), func(p *corev1.Pod) {
				p.Spec.NodeSelector[corev1.LabelHostname] = "template"
			})}},
			memory:   idle("w1"),
			want:     []string{"increase workers by 1 for 1 pods"},
			wantIdle: idle("w1").Idle,
		},
		"a fresh start frees what a former process was removing": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2", tainted(TaintToBeDeleted)))},
			want:     []string{"clean up w1"},
			wantIdle: map[string]time.Time{},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.snapshot.Now = noon
			plan, memory := Decide(test.snapshot, test.memory, testConfig())
			if diff := cmp.Diff(test.want, say(plan)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.wantIdle, memory.Idle); diff != "" {
				t.Errorf("idle since (-want +got):\n%s", diff)
			}
		})
	}
}

func TestInstancesThatNeverCame(t *testing.T) {
	creating := Instance{ID: "homelab://w1", State: Creating}
	failed := Instance{ID: "homelab://w1", State: Creating, ErrorCode: "BOOT_TIMEOUT", ErrorMessage: "no kubelet"}
	since := func(age time.Duration) Memory {
		return Memory{Started: true, Unregistered: map[string]time.Time{"homelab://w1": noon.Add(-age)}}
	}
	tests := map[string]struct {
		snapshot Snapshot
		memory   Memory
		want     []string
		rests    bool
	}{
		"a machine that boots is waited for": {
			snapshot: Snapshot{Groups: []Group{workers(1, listing(creating))}},
			memory:   since(14 * time.Minute),
		},
		"past the group's provision time it is given up": {
			snapshot: Snapshot{Groups: []Group{workers(1, listing(creating))}},
			memory:   since(15 * time.Minute),
			want:     []string{"delete instance homelab://w1: unregistered"},
		},
		"the floor holds for it too": {
			snapshot: Snapshot{Groups: []Group{workers(1, listing(creating), func(g *Group) { g.Min = 1 })}},
			memory:   since(15 * time.Minute),
		},
		"a registered machine is not given up, whatever group its kubeNode has": {
			snapshot: Snapshot{Groups: []Group{workers(1, listing(creating))}, KubeNodes: []KubeNode{{Node: node("w1", "2")}}},
			memory:   since(15 * time.Minute),
		},
		"a machine on its way down is not waited for": {
			snapshot: Snapshot{Groups: []Group{workers(0, listing(Instance{ID: "homelab://w1", State: Deleting}))}},
			memory:   since(time.Hour),
		},
		"a failed creation rests the group and is deleted": {
			snapshot: Snapshot{Groups: []Group{workers(1, listing(failed))}, Pods: []*corev1.Pod{pod("a", "1")}},
			memory:   Memory{Started: true},
			want:     []string{"delete instance homelab://w1: create-error"},
			rests:    true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.snapshot.Now = noon
			plan, memory := Decide(test.snapshot, test.memory, testConfig())
			if diff := cmp.Diff(test.want, say(plan)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
			if got := memory.resting("workers", noon); got != test.rests {
				t.Errorf("the group rests: %t, want %t", got, test.rests)
			}
		})
	}
}

func TestAFailureIsCountedOnce(t *testing.T) {
	s := Snapshot{Now: noon, Groups: []Group{workers(1, listing(Instance{ID: "x", State: Creating, ErrorCode: "E"}))}}
	_, first := Decide(s, Memory{}, testConfig())
	s.Now = noon.Add(time.Second)
	plan, second := Decide(s, first, testConfig())
	if diff := cmp.Diff(first.Faults, second.Faults); diff != "" {
		t.Errorf("the same failure moved the back-off (-first +second):\n%s", diff)
	}
	if len(plan.Calls) != 1 {
		t.Errorf("the instance is deleted in every pass while it is listed, got %v", say(plan))
	}
}

func TestBackOffDoublesAndIsForgotten(t *testing.T) {
	config := testConfig()
	m, at := Memory{}, noon
	var waits []time.Duration
	for range 4 {
		m = m.Fault("workers", at, config)
		waits = append(waits, m.Faults["workers"].Wait)
		at = m.Faults["workers"].Until()
	}
	m = m.Fault("workers", at.Add(config.ForgetFaults), config)
	waits = append(waits, m.Faults["workers"].Wait)
	want := []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 4 * time.Minute, time.Minute}
	if diff := cmp.Diff(want, waits); diff != "" {
		t.Errorf("waits (-want +got):\n%s", diff)
	}
}

func TestDecideLeavesItsMemoryAlone(t *testing.T) {
	m := Memory{Idle: map[string]time.Time{"gone": noon}, Unregistered: map[string]time.Time{"gone": noon}}
	s := Snapshot{Now: noon, Groups: []Group{workers(1, listing(Instance{ID: "x", State: Creating, ErrorCode: "E"}))}, KubeNodes: ours(node("w1", "2"))}
	Decide(s, m, testConfig())
	want := Memory{Idle: map[string]time.Time{"gone": noon}, Unregistered: map[string]time.Time{"gone": noon}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Errorf("Decide changed the memory it was given (-want +got):\n%s", diff)
	}
}
