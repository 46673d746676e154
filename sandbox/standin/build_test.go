package standin

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// noon is the present of every table.
var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func testConfig() Config {
	c := Defaults()
	c.BackOff, c.MaxBackOff = time.Minute, 4*time.Minute
	c.DelayAfterAdd = 0
	return c
}

// pod is pending, unschedulable and a minute old, asking for the cpu.
func pod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": "web"},
			CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute))},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// onW1 runs the pod on the kubeNode w1.
func onW1(p *corev1.Pod) {
	p.Spec.NodeName, p.Status = "w1", corev1.PodStatus{Phase: corev1.PodRunning}
}

func aged(age time.Duration) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.CreationTimestamp = metav1.NewTime(noon.Add(-age)) }
}

func selecting(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{key: value} }
}

func tolerating(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
	}
}

func spread(p *corev1.Pod) {
	p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname,
		WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}
}

func alone(p *corev1.Pod) {
	p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{TopologyKey: corev1.LabelHostname,
			LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}}}}}
}

func ofDaemonSet(p *corev1.Pod) {
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "DaemonSet", Name: "agent", Controller: new(true)}}
}

// node is a Ready kubeNode with the cpu, or with the same text a template.
func node(name, cpu string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name, "pool": "workers"}},
		Spec:       corev1.NodeSpec{ProviderID: "homelab://" + name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("110")},
			Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

func tainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

// workers is a group of up to four machines of 2 cpus; target is how many are asked for.
func workers(target int32, change ...func(*Group)) Group {
	g := Group{ID: "workers", Max: 4, Target: target, Template: node("template", "2"),
		Options: GroupOptions{UnneededTime: 10 * time.Second, MaxNodeProvisionTime: 15 * time.Minute}}
	for _, f := range change {
		f(&g)
	}
	return g
}

func listing(instances ...Instance) func(*Group) {
	return func(g *Group) { g.Instances = instances }
}

// ours are registered kubeNodes of workers.
func ours(kubeNodes ...*corev1.Node) []KubeNode {
	var out []KubeNode
	for _, n := range kubeNodes {
		out = append(out, KubeNode{Node: n, Group: "workers"})
	}
	return out
}

// say renders a plan, one short line per call.
func say(plan Plan) []string {
	var lines []string
	for _, call := range plan.Calls {
		switch c := call.(type) {
		case IncreaseSize:
			lines = append(lines, fmt.Sprintf("increase %s by %d for %d pods", c.Group, c.Delta, len(c.Pods)))
		case DeleteInstance:
			lines = append(lines, fmt.Sprintf("delete instance %s: %s", c.Instance, c.Reason))
		case RemoveKubeNode:
			lines = append(lines, "remove "+c.KubeNode.Name)
		case CleanUp:
			lines = append(lines, "clean up "+c.KubeNode.Name)
		}
	}
	return lines
}
