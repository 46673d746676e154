package standin

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Words that a cluster autoscaler and the cluster agree on.
const (
	// TaintToBeDeleted marks a kubeNode that is being removed; its value is the Unix time of the decision.
	TaintToBeDeleted = "ToBeDeletedByClusterAutoscaler"
	// AnnotationScaleDownDisabled set to "true" keeps a kubeNode whatever happens.
	AnnotationScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
	// AnnotationFakeNodeReason on an invented node says why it is invented.
	AnnotationFakeNodeReason = "k8s.io/cluster-autoscaler/fake-node-reason"
)

// scaleDown removes the kubeNodes that have been idle for their group's unneeded time, never below the floor.
func (d *decision) scaleDown() {
	var idle []string
	leaving := d.leaving()
	for _, kubeNode := range d.KubeNodes {
		if !d.idle(kubeNode) {
			continue
		}
		idle = append(idle, kubeNode.Name)
		since, known := d.memory.Idle[kubeNode.Name]
		if !known {
			since = d.Now
			d.memory.Idle[kubeNode.Name] = since
		}
		group := d.groupOf(kubeNode)
		if group == nil || d.asked || d.Now.Sub(since) < group.Options.UnneededTime ||
			d.Now.Sub(d.memory.ScaledUpAt) < d.config.DelayAfterAdd {
			continue
		}
		if group.Target-leaving[group.ID] <= kubeNode.Min {
			continue
		}
		leaving[group.ID]++
		d.do(RemoveKubeNode{Group: group.ID, KubeNode: kubeNode.Node})
	}
	keepOnly(d.memory.Idle, idle)
}

// leaving counts, per group, the removals under way that the target may not show yet.
func (d *decision) leaving() map[string]int32 {
	n := map[string]int32{}
	for _, kubeNode := range d.KubeNodes {
		if kubeNode.Leaving {
			n[kubeNode.Group]++
		}
	}
	return n
}

func (d *decision) groupOf(kubeNode KubeNode) *Group {
	for i := range d.Groups {
		if d.Groups[i].ID == kubeNode.Group {
			return &d.Groups[i]
		}
	}
	return nil
}

// idle is whether the kubeNode is one of ours, not needed by a pending pod, and runs nothing that would have to go
// elsewhere.
func (d *decision) idle(kubeNode KubeNode) bool {
	if kubeNode.Group == "" || kubeNode.Leaving || d.needed[kubeNode.Name] || leavingTaint(kubeNode.Node) ||
		kubeNode.Annotations[AnnotationScaleDownDisabled] == "true" {
		return false
	}
	for _, pod := range d.podsOn(kubeNode.Name) {
		if !stays(pod) {
			return false
		}
	}
	return true
}

// stays is whether the pod belongs to its kubeNode and goes with it: a DaemonSet's or a mirror pod.
func stays(pod *corev1.Pod) bool {
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
		return true
	}
	controller := metav1.GetControllerOf(pod)
	return controller != nil && controller.Kind == "DaemonSet"
}
