package standin

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// onePod is what a pod takes of a kubeNode's room for pods.
var onePod = resource.MustParse("1")

// packing is the cluster as first-fit sees it: the bins there are, and those that the pass adds.
type packing struct{ bins []*bin }

// firstFit puts the pod on the first bin that takes it, and returns that bin; nil when none does.
func (p *packing) firstFit(pod *corev1.Pod) *bin {
	for _, b := range p.bins {
		if p.fits(pod, b) {
			b.add(pod)
			return b
		}
	}
	return nil
}

// fits is whether the pod may go on the bin, given everything that is on the others.
func (p *packing) fits(pod *corev1.Pod, b *bin) bool {
	if !b.accepts(pod) || b.repels(pod) {
		return false
	}
	for _, constraint := range pod.Spec.TopologySpreadConstraints {
		if constraint.TopologyKey == corev1.LabelHostname &&
			constraint.WhenUnsatisfiable == corev1.DoNotSchedule && p.skew(pod, b, constraint) > constraint.MaxSkew {
			return false
		}
	}
	return true
}

// skew is how far the pod on this bin would stand out over the emptiest hostname that the pod could use by its
// selectors; b itself is one, also while it is not yet among the bins.
func (p *packing) skew(pod *corev1.Pod, b *bin, constraint corev1.TopologySpreadConstraint) int32 {
	here := b.matching(constraint, pod)
	least := here
	for _, other := range p.bins {
		if other.selects(pod) {
			least = min(least, other.matching(constraint, pod))
		}
	}
	if matches(constraint.LabelSelector, pod) {
		here++
	}
	return here - least
}
