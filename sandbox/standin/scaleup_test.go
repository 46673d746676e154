package standin

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestScaleUp(t *testing.T) {
	big := Group{ID: "big", Max: 2, Template: node("template", "8")}
	resting := Memory{Faults: map[string]Fault{"workers": {At: noon.Add(-time.Second), Wait: time.Minute}}}
	tests := map[string]struct {
		snapshot Snapshot
		memory   Memory
		want     []string
	}{
		"nothing pending asks for nothing": {
			snapshot: Snapshot{Groups: []Group{workers(0)}},
		},
		"a pod that is two seconds old may still be scheduled": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "1", aged(2*time.Second))}},
		},
		"a pod the scheduler has not judged is left to it": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "1", func(p *corev1.Pod) { p.Status.Conditions = nil })}},
		},
		"one pod asks for one machine": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "1500m")}},
			want:     []string{"increase workers by 1 for 1 pods"},
		},
		"two pods that need a machine each ask for two": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "1500m"), pod("b", "1500m")}},
			want:     []string{"increase workers by 2 for 2 pods"},
		},
		"two pods that fit together ask for one": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "1"), pod("b", "1")}},
			want:     []string{"increase workers by 1 for 2 pods"},
		},
		"upcoming machines are room": {
			snapshot: Snapshot{Groups: []Group{workers(2)}, Pods: []*corev1.Pod{pod("a", "2"), pod("b", "2"), pod("c", "2")}},
			want:     []string{"increase workers by 1 for 1 pods"},
		},
		"a registered machine is not also upcoming": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")),
				Pods: []*corev1.Pod{pod("old", "2", onW1), pod("a", "2")}},
			want: []string{"increase workers by 1 for 1 pods"},
		},
		"free room on any kubeNode comes first, also on one that is nobody's": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, KubeNodes: []KubeNode{{Node: node("always-on", "4")}},
				Pods: []*corev1.Pod{pod("a", "2"), pod("b", "2")}},
		},
		"a kubeNode that is not Ready is no room": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, KubeNodes: []KubeNode{{Node: node("x", "4", notReady)}},
				Pods: []*corev1.Pod{pod("a", "2")}},
			want: []string{"increase workers by 1 for 1 pods"},
		},
		"a cordoned kubeNode is no room": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "2")},
				KubeNodes: []KubeNode{{Node: node("x", "4", func(n *corev1.Node) { n.Spec.Unschedulable = true })}}},
			want: []string{"increase workers by 1 for 1 pods"},
		},
		"a taint keeps a pod away unless it tolerates it": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, KubeNodes: []KubeNode{{Node: node("x", "4", tainted("control-plane"))}},
				Pods: []*corev1.Pod{pod("a", "2"), pod("b", "2", tolerating("control-plane"))}},
			want: []string{"increase workers by 1 for 1 pods"},
		},
		"the maximum holds": {
			snapshot: Snapshot{Groups: []Group{workers(3, func(g *Group) { g.Template = node("t", "1") })},
				Pods: []*corev1.Pod{pod("a", "1"), pod("b", "1"), pod("c", "1"), pod("d", "1"), pod("e", "1")}},
			want: []string{"increase workers by 1 for 1 pods"},
		},
		"a selector that no template has asks for nothing": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "1", selecting("pool", "gpu"))}},
		},
		"the group that wastes least is asked": {
			snapshot: Snapshot{Groups: []Group{big, workers(0)}, Pods: []*corev1.Pod{pod("a", "1500m")}},
			want:     []string{"increase workers by 1 for 1 pods"},
		},
		"a pod too large for one group goes to the other": {
			snapshot: Snapshot{Groups: []Group{big, workers(0)}, Pods: []*corev1.Pod{pod("a", "4"), pod("b", "1")}},
			want:     []string{"increase big by 1 for 2 pods"},
		},
		"a full group hands over to the next": {
			snapshot: Snapshot{Groups: []Group{workers(0, func(g *Group) { g.Max = 1 }), big}, Pods: []*corev1.Pod{pod("a", "2"), pod("b", "2")}},
			want:     []string{"increase workers by 1 for 1 pods", "increase big by 1 for 1 pods"},
		},
		"a group that rests is not asked, and its upcoming machines are not believed in": {
			snapshot: Snapshot{Groups: []Group{workers(1), big}, Pods: []*corev1.Pod{pod("a", "2")}},
			memory:   resting,
			want:     []string{"increase big by 1 for 1 pods"},
		},
		"a group without a template is not asked": {
			snapshot: Snapshot{Groups: []Group{workers(0, func(g *Group) { g.Template = nil })}, Pods: []*corev1.Pod{pod("a", "1")}},
		},
		"anti-affinity over hostnames asks for a machine each": {
			snapshot: Snapshot{Groups: []Group{workers(0)}, Pods: []*corev1.Pod{pod("a", "100m", alone), pod("b", "100m", alone)}},
			want:     []string{"increase workers by 2 for 2 pods"},
		},
		"spread over hostnames fills the upcoming machine first": {
			snapshot: Snapshot{Groups: []Group{workers(2)}, KubeNodes: ours(node("w1", "2")),
				Pods: []*corev1.Pod{pod("old", "100m", onW1), pod("older", "100m", onW1), pod("a", "100m", spread), pod("b", "100m", spread)}},
		},
		"spread asks for a machine each while a full kubeNode keeps the skew up": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: append(ours(node("w1", "2")), KubeNode{Node: node("full", "0")}),
				Pods: []*corev1.Pod{pod("old", "100m", onW1), pod("a", "100m", spread), pod("b", "100m", spread)}},
			want: []string{"increase workers by 2 for 2 pods"},
		},
		"spread does not ask where the skew allows the pod": {
			snapshot: Snapshot{Groups: []Group{workers(1)}, KubeNodes: ours(node("w1", "2")), Pods: []*corev1.Pod{pod("a", "100m", spread)}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.snapshot.Now = noon
			plan, _ := Decide(test.snapshot, test.memory, testConfig())
			if diff := cmp.Diff(test.want, say(plan)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}
