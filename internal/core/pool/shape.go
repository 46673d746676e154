package pool

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Shape is what a scheduler and a price expander can tell one slot's machine from another's by.
type Shape struct {
	// Capacity is what the machine offers; the declared one, else what its kubeNode reported.
	Capacity corev1.ResourceList
	// Arch and OS are in Go's words.
	Arch, OS string
	// Labels are the declared ones, without the machine's own name and ours.
	Labels map[string]string
	// Taints stay on the machine while it serves: the declared ones, without the group's readiness taints.
	Taints []corev1.Taint
	// HourlyRate and PodRate are the declared prices; empty when there are none.
	HourlyRate, PodRate string
}

// ownLabels differ between machines that are alike.
var ownLabels = []string{
	corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable, labelBetaArch, labelBetaOS,
	v2.LabelNode, v2.LabelKubeNodeGroup, v2.LabelNamespace,
}

const (
	labelBetaArch = "beta.kubernetes.io/arch"
	labelBetaOS   = "beta.kubernetes.io/os"

	defaultArch = "amd64"
	defaultOS   = "linux"
)

// ShapeOf reads the slot's shape. It is false when nothing says what the machine offers.
func ShapeOf(v View, s Slot) (Shape, bool) {
	if s.Object == nil {
		return Shape{}, false
	}
	spec := s.Object.Spec
	shape := Shape{Capacity: spec.NodeCapacity, Labels: maps.Clone(spec.NodeLabels)}
	shape.Taints = v.persistent(spec.NodeTaints)
	seen := &corev1.Node{}
	if s.KubeNode != nil {
		seen = s.KubeNode
	}
	if len(shape.Capacity) == 0 {
		shape.Capacity, shape.Labels = seen.Status.Allocatable, maps.Clone(seen.Labels)
		shape.Taints = v.persistent(without(seen.Spec.Taints, spec.TaintsToRemove))
	}
	shape.Arch = cmp.Or(spec.NodeLabels[corev1.LabelArchStable], seen.Status.NodeInfo.Architecture, defaultArch)
	shape.OS = cmp.Or(spec.NodeLabels[corev1.LabelOSStable], seen.Status.NodeInfo.OperatingSystem, defaultOS)
	maps.DeleteFunc(shape.Labels, func(key, _ string) bool { return slices.Contains(ownLabels, key) })
	if spec.Pricing != nil {
		shape.HourlyRate, shape.PodRate = spec.Pricing.HourlyRate, spec.Pricing.PodRate
	}
	return shape, enough(shape.Capacity)
}

// enough is whether a capacity says what a pod wants to know.
func enough(capacity corev1.ResourceList) bool {
	return !capacity.Cpu().IsZero() && !capacity.Memory().IsZero()
}

// shaped is whether the slot is the group's own and ShapeOf knows its shape.
func (v View) shaped(s Slot) bool {
	switch {
	case s.Object == nil || s.Object.DeletionTimestamp != nil || s.Object.Labels[v2.LabelGroup] != v.Name:
		return false
	case len(s.Object.Spec.NodeCapacity) > 0:
		return enough(s.Object.Spec.NodeCapacity)
	}
	return s.KubeNode != nil && enough(s.KubeNode.Status.Allocatable)
}

// persistent are the taints that a machine in service keeps.
func (v View) persistent(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(slices.Clone(taints), func(taint corev1.Taint) bool {
		return facts.GateTaint(taint, v.Policy) || facts.Leftover(taint, v2.EngineClusterAutoscaler) ||
			strings.HasPrefix(taint.Key, "node.kubernetes.io/") || taint.Key == facts.TaintUninitialized
	})
}

func without(taints, those []corev1.Taint) []corev1.Taint {
	var kept []corev1.Taint
	for _, taint := range taints {
		if !slices.ContainsFunc(those, func(t corev1.Taint) bool {
			return t.Key == taint.Key && (t.Effect == "" || t.Effect == taint.Effect)
		}) {
			kept = append(kept, taint)
		}
	}
	return kept
}

// Key is the shape in one line: like slots have the same.
func (s Shape) Key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s", s.OS, s.Arch)
	for _, name := range slices.Sorted(maps.Keys(s.Capacity)) {
		quantity := s.Capacity[name]
		fmt.Fprintf(&b, " %s=%d", name, quantity.MilliValue())
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		fmt.Fprintf(&b, " %s:%s", key, s.Labels[key])
	}
	for _, taint := range sortedTaints(s.Taints) {
		fmt.Fprintf(&b, " %s=%s:%s", taint.Key, taint.Value, taint.Effect)
	}
	fmt.Fprintf(&b, " %s/%s", s.HourlyRate, s.PodRate)
	return b.String()
}

func sortedTaints(taints []corev1.Taint) []corev1.Taint {
	return slices.SortedFunc(slices.Values(taints), func(a, b corev1.Taint) int {
		return cmp.Or(strings.Compare(a.Key, b.Key), strings.Compare(a.Value, b.Value),
			strings.Compare(string(a.Effect), string(b.Effect)))
	})
}

// shapes are the known shapes of the group's own slots, in slot order, with the slot of each.
func (v View) shapes() (shapes []Shape, of []Slot) {
	for _, s := range v.Slots {
		if v.shaped(s) {
			shape, _ := ShapeOf(v, s)
			shapes, of = append(shapes, shape), append(of, s)
		}
	}
	return shapes, of
}
