package standin

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// scaleUp asks for the machines that the pending pods are short of. What is here, and what is on its way, comes first.
func (d *decision) scaleUp() {
	cluster := d.pack()
	asked := map[string]*IncreaseSize{}
	d.needed = map[string]bool{}
	for _, pod := range d.pending() {
		if b := cluster.firstFit(pod); b != nil {
			d.place(pod, b, asked)
			continue
		}
		b := d.open(pod, cluster, asked)
		if b == nil {
			d.note("pod %s/%s fits no group that may grow", pod.Namespace, pod.Name)
			continue
		}
		b.add(pod)
		cluster.bins = append(cluster.bins, b)
		asked[b.group].Delta++
		d.place(pod, b, asked)
	}
	for _, group := range d.Groups {
		if call := asked[group.ID]; call != nil && call.Delta > 0 {
			d.do(*call)
			d.asked, d.memory.ScaledUpAt = true, d.Now
		}
	}
}

// place records where the pod is expected: on a kubeNode that is thereby needed, or on a machine being asked for.
func (d *decision) place(pod *corev1.Pod, b *bin, asked map[string]*IncreaseSize) {
	if b.fresh {
		asked[b.group].Pods = append(asked[b.group].Pods, pod)
		return
	}
	d.needed[b.kubeNode.Name] = true
}

// pack is the cluster as it stands: kubeNodes that are Ready, with their pods, then the machines that are upcoming.
func (d *decision) pack() *packing {
	var p packing
	for _, kubeNode := range d.KubeNodes {
		if isReady(kubeNode.Node) {
			p.bins = append(p.bins, newBin(kubeNode.Node, d.podsOn(kubeNode.Name)))
		}
	}
	for i := range d.Groups {
		group := &d.Groups[i]
		if group.Template == nil {
			continue
		}
		for range d.upcoming(group) {
			p.bins = append(p.bins, newBin(group.Template, nil))
		}
	}
	return &p
}

// pending are the pods the scheduler could not place and that are old enough, oldest first.
func (d *decision) pending() []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range d.Pods {
		if unschedulable(pod) && d.Now.Sub(pod.CreationTimestamp.Time) > d.config.PodAge {
			pods = append(pods, pod)
		}
	}
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return pods
}

// open is a new machine for the pod, of the group in which it would waste least; nil when no group can give one.
func (d *decision) open(pod *corev1.Pod, cluster *packing, asked map[string]*IncreaseSize) *bin {
	var best *bin
	for i := range d.Groups {
		group := &d.Groups[i]
		if asked[group.ID] == nil {
			asked[group.ID] = &IncreaseSize{Group: group.ID}
		}
		if group.Template == nil || d.memory.resting(group.ID, d.Now) || group.Target+asked[group.ID].Delta >= group.Max {
			continue
		}
		b := newBin(group.Template, nil)
		b.group, b.fresh = group.ID, true
		if cluster.fits(pod, b) && (best == nil || lessWaste(pod, b, best)) {
			best = b
		}
	}
	return best
}

// lessWaste is whether a would stand emptier of unused cpu and memory than b with the pod on it. Equal waste leaves the
// order of the groups.
func lessWaste(pod *corev1.Pod, a, b *bin) bool { return waste(pod, a) < waste(pod, b) }

func waste(pod *corev1.Pod, b *bin) float64 {
	var unused float64
	for name, want := range requests(pod) {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			unused += 1 - share(want, b.free[name])
		}
	}
	return unused
}

func share(part, whole resource.Quantity) float64 {
	if whole.IsZero() {
		return 0
	}
	return part.AsApproximateFloat64() / whole.AsApproximateFloat64()
}

// unschedulable is whether the scheduler tried the pod and found no place.
func unschedulable(pod *corev1.Pod) bool {
	if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil || finished(pod) {
		return false
	}
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
	})
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isReady(kubeNode *corev1.Node) bool {
	return slices.ContainsFunc(kubeNode.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// podsOn are the pods that take room on the kubeNode.
func (d *decision) podsOn(name string) []*corev1.Pod {
	var pods []*corev1.Pod
	for _, pod := range d.Pods {
		if pod.Spec.NodeName == name && !finished(pod) {
			pods = append(pods, pod)
		}
	}
	return pods
}
