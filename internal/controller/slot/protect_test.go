package slot

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

func aKubeNode(name string, changes ...func(*corev1.Node)) *corev1.Node {
	kubeNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"arch": "arm"}}}
	kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	for _, change := range changes {
		change(kubeNode)
	}
	return kubeNode
}

func ready(status corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Conditions[0].Status = status }
}

func tainted(key, value string, effect corev1.TaintEffect) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Value: value, Effect: effect})
	}
}

func cordoned(n *corev1.Node) { n.Spec.Unschedulable = true }

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[key] = value }
}

func TestProtected(t *testing.T) {
	const alone = "no other Ready, schedulable kubeNode could run the shutdown Job"
	for name, test := range map[string]struct {
		spec v2.MinimalPodSpec
		own  *corev1.Node
		all  []*corev1.Node
		want string
	}{
		"another node can run the Job": {own: aKubeNode("a"), all: []*corev1.Node{aKubeNode("a"), aKubeNode("b")}},
		"a control-plane node": {own: aKubeNode("a", label("node-role.kubernetes.io/control-plane", "")),
			all: []*corev1.Node{aKubeNode("b")}, want: "kubeNode a has a control-plane role"},
		"nobody else": {own: aKubeNode("a"), all: []*corev1.Node{aKubeNode("a")}, want: alone},
		"nobody at all, and the machine has no kubeNode": {want: alone},
		"the other is silent":                            {all: []*corev1.Node{aKubeNode("b", ready(corev1.ConditionUnknown))}, want: alone},
		"the other is cordoned":                          {all: []*corev1.Node{aKubeNode("b", cordoned)}, want: alone},
		"the other's taint is not tolerated":             {all: []*corev1.Node{aKubeNode("b", tainted("gpu", "yes", corev1.TaintEffectNoSchedule))}, want: alone},
		"the other's taint is a mere wish":               {all: []*corev1.Node{aKubeNode("b", tainted("gpu", "yes", corev1.TaintEffectPreferNoSchedule))}},
		"every power pod tolerates the control plane":    {all: []*corev1.Node{aKubeNode("b", tainted("node-role.kubernetes.io/control-plane", "", corev1.TaintEffectNoSchedule))}},
		"but not its NoExecute":                          {all: []*corev1.Node{aKubeNode("b", tainted("node-role.kubernetes.io/control-plane", "", corev1.TaintEffectNoExecute))}, want: alone},
		"the slot's own toleration counts, by value": {
			spec: v2.MinimalPodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Value: "yes"}}},
			all:  []*corev1.Node{aKubeNode("b", tainted("gpu", "yes", corev1.TaintEffectNoSchedule))}},
		"another value does not": {
			spec: v2.MinimalPodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Value: "no"}}},
			all:  []*corev1.Node{aKubeNode("b", tainted("gpu", "yes", corev1.TaintEffectNoSchedule))}, want: alone},
		"another effect does not": {
			spec: v2.MinimalPodSpec{Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}}},
			all:  []*corev1.Node{aKubeNode("b", tainted("gpu", "yes", corev1.TaintEffectNoSchedule))}, want: alone},
		"a toleration of everything counts": {
			spec: v2.MinimalPodSpec{Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}},
			all:  []*corev1.Node{aKubeNode("b", tainted("gpu", "yes", corev1.TaintEffectNoExecute))}},
		"the node selector has to fit": {spec: v2.MinimalPodSpec{NodeSelector: map[string]string{"arch": "x86"}},
			all: []*corev1.Node{aKubeNode("b")}, want: alone},
		"and fits": {spec: v2.MinimalPodSpec{NodeSelector: map[string]string{"arch": "arm"}}, all: []*corev1.Node{aKubeNode("b")}},
	} {
		t.Run(name, func(t *testing.T) {
			slot := &v2.Node{Spec: v2.NodeSpec{KubernetesNodeName: "a", ShutdownPodSpec: test.spec}}
			if diff := cmp.Diff(test.want, protected(slot, policy.Default(), test.own, test.all)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMachineOfTwoSlotsIsProtected(t *testing.T) {
	named := func(name string) *v2.Node {
		return &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v2.NodeSpec{KubernetesNodeName: "worker-01"}}
	}
	if why := shared(named("a"), []*v2.Node{named("a")}); why != "" {
		t.Errorf("a slot alone is protected: %s", why)
	}
	if why := shared(named("a"), []*v2.Node{named("a"), named("b")}); why != "slot b names kubeNode worker-01 as well: delete one of the two" {
		t.Errorf("of two slots it says %q", why)
	}
}
