package standin

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	resources "k8s.io/component-helpers/resource"
	scheduling "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// bin is a kubeNode, or the template of one to come, with what is on it: the unit of first-fit. A bin is one hostname.
type bin struct {
	kubeNode *corev1.Node
	group    string
	// fresh is whether the machine has not been asked for yet.
	fresh bool
	pods  []*corev1.Pod
	free  corev1.ResourceList
}

func newBin(kubeNode *corev1.Node, pods []*corev1.Pod) *bin {
	b := &bin{kubeNode: kubeNode, free: kubeNode.Status.Allocatable.DeepCopy()}
	for _, pod := range pods {
		b.add(pod)
	}
	return b
}

// add puts the pod on the bin, whether it fits or not: what runs there runs there.
func (b *bin) add(pod *corev1.Pod) {
	b.pods = append(b.pods, pod)
	for name, want := range requests(pod) {
		left := b.free[name]
		left.Sub(want)
		b.free[name] = left
	}
}

// requests is what a pod takes of a kubeNode, itself included.
func requests(pod *corev1.Pod) corev1.ResourceList {
	list := resources.PodRequests(pod, resources.PodResourcesOptions{})
	list[corev1.ResourcePods] = onePod
	return list
}

// accepts is whether the scheduler could put the pod on the bin, topology aside.
func (b *bin) accepts(pod *corev1.Pod) bool {
	return b.hasRoom(pod) && b.selects(pod) && b.tolerated(pod) && !b.kubeNode.Spec.Unschedulable
}

func (b *bin) hasRoom(pod *corev1.Pod) bool {
	for name, want := range requests(pod) {
		left := b.free[name]
		if want.Sign() > 0 && left.Cmp(want) < 0 {
			return false
		}
	}
	return true
}

// selects is whether the pod's node selector and required node affinity name the bin. What cannot be parsed matches
// nothing, as for the scheduler.
func (b *bin) selects(pod *corev1.Pod) bool {
	match, err := nodeaffinity.GetRequiredNodeAffinity(pod).Match(b.kubeNode)
	return err == nil && match
}

// tolerated is whether the pod may land on the bin in spite of its taints.
func (b *bin) tolerated(pod *corev1.Pod) bool {
	_, untolerated := scheduling.FindMatchingUntoleratedTaint(klog.Background(), b.kubeNode.Spec.Taints, pod.Spec.Tolerations,
		func(t *corev1.Taint) bool { return t.Effect != corev1.TaintEffectPreferNoSchedule }, false)
	return !untolerated
}

// repels is whether a required anti-affinity over hostnames, of the pod or of one that is there, keeps them apart.
func (b *bin) repels(pod *corev1.Pod) bool {
	return slices.ContainsFunc(b.pods, func(other *corev1.Pod) bool { return avoids(pod, other) || avoids(other, pod) })
}

func avoids(pod, other *corev1.Pod) bool {
	if pod.Spec.Affinity == nil || pod.Spec.Affinity.PodAntiAffinity == nil {
		return false
	}
	terms := pod.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return slices.ContainsFunc(terms, func(term corev1.PodAffinityTerm) bool {
		return term.TopologyKey == corev1.LabelHostname && inNamespaces(term, pod, other) && matches(term.LabelSelector, other)
	})
}

// inNamespaces is whether the term looks at the other pod's namespace. A namespace selector is taken to select all.
func inNamespaces(term corev1.PodAffinityTerm, pod, other *corev1.Pod) bool {
	if term.NamespaceSelector != nil {
		return true
	}
	if len(term.Namespaces) == 0 {
		return other.Namespace == pod.Namespace
	}
	return slices.Contains(term.Namespaces, other.Namespace)
}

func matches(selector *metav1.LabelSelector, pod *corev1.Pod) bool {
	parsed, err := metav1.LabelSelectorAsSelector(selector)
	return err == nil && parsed.Matches(labels.Set(pod.Labels))
}

// matching counts the bin's pods that a spread constraint of the pod looks at.
func (b *bin) matching(constraint corev1.TopologySpreadConstraint, pod *corev1.Pod) int32 {
	var n int32
	for _, other := range b.pods {
		if other.Namespace == pod.Namespace && other.DeletionTimestamp == nil && matches(constraint.LabelSelector, other) {
			n++
		}
	}
	return n
}
