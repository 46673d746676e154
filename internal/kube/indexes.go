package kube

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// The cache's indexes, for client.MatchingFields. Each is named for what it finds and by what.
const (
	// IndexClaimsBySlot finds claims by spec.slotRef.name.
	IndexClaimsBySlot = "claimsBySlot"
	// IndexClaimsByGroup finds claims by spec.request.group.
	IndexClaimsByGroup = "claimsByGroup"
	// IndexSlotsByGroup finds slots by their label "group".
	IndexSlotsByGroup = "slotsByGroup"
	// IndexSlotsByKubeNodeName finds slots by spec.kubernetesNodeName.
	IndexSlotsByKubeNodeName = "slotsByKubeNodeName"
	// IndexJobsBySlot finds Jobs by the label that names their slot.
	IndexJobsBySlot = "jobsBySlot"
	// IndexPodsByKubeNode finds pods by spec.nodeName.
	IndexPodsByKubeNode = "podsByKubeNode"
	// IndexPodsByJob finds pods by the UID of the Job that controls them.
	IndexPodsByJob = "podsByJob"
)

// AddIndexes registers every index. It must be called before the cache starts.
func AddIndexes(ctx context.Context, indexer client.FieldIndexer) error {
	for _, index := range indexes() {
		if err := indexer.IndexField(ctx, index.of, index.name, index.values); err != nil {
			return fmt.Errorf("adding index %s: %w", index.name, err)
		}
	}
	return nil
}

type index struct {
	name   string
	of     client.Object
	values client.IndexerFunc
}

func indexes() []index {
	return []index{
		on(IndexClaimsBySlot, func(c *v2.NodeClaim) string { return c.Spec.SlotRef.Name }),
		on(IndexClaimsByGroup, func(c *v2.NodeClaim) string { return c.Spec.Request.Group }),
		on(IndexSlotsByGroup, func(s *v2.Node) string { return s.Labels[v2.LabelGroup] }),
		on(IndexSlotsByKubeNodeName, func(s *v2.Node) string { return s.Spec.KubernetesNodeName }),
		on(IndexJobsBySlot, func(j *batchv1.Job) string { return j.Labels[v2.LabelNode] }),
		on(IndexPodsByKubeNode, func(p *corev1.Pod) string { return p.Spec.NodeName }),
		on(IndexPodsByJob, jobOf),
	}
}

// on makes the index of one kind by one value; the empty value indexes nothing.
func on[T any, PT interface {
	*T
	client.Object
}](name string, value func(PT) string) index {
	return index{name: name, of: PT(new(T)), values: func(object client.Object) []string {
		if v := value(object.(PT)); v != "" {
			return []string{v}
		}
		return nil
	}}
}

// jobOf is the UID of the Job that controls the pod, or nothing.
func jobOf(pod *corev1.Pod) string {
	if owner := metav1.GetControllerOf(pod); owner != nil && owner.Kind == "Job" {
		return string(owner.UID)
	}
	return ""
}
