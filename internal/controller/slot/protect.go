package slot

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// controlPlaneTaints are those whose NoSchedule every power pod tolerates.
var controlPlaneTaints = []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"}

// protected says why the machine must be neither shut down as unclaimed nor adopted; empty when it may.
func protected(slot *v2.Node, p policy.Policy, kubeNode *corev1.Node, all []*corev1.Node) string {
	if kubeNode != nil && facts.ControlPlane(kubeNode) {
		return "kubeNode " + kubeNode.Name + " has a control-plane role"
	}
	shutdown := job.PodSpec(slot, v2.OperationShutdown, p)
	another := slices.ContainsFunc(all, func(other *corev1.Node) bool {
		return other.Name != slot.Spec.KubernetesNodeName && runsPowerJobs(other, shutdown)
	})
	if !another {
		return "no other Ready, schedulable kubeNode could run the shutdown Job"
	}
	return ""
}

// shared says which other slot names the same kubeNode; empty: none does. Admission refuses a second one, but where nobody
// answered it the machine that one slot's claim has would look unclaimed to the other.
func shared(slot *v2.Node, named []*v2.Node) string {
	for _, other := range named {
		if other.Name != slot.Name {
			return "slot " + other.Name + " names kubeNode " + slot.Spec.KubernetesNodeName + " as well: delete one of the two"
		}
	}
	return ""
}

// runsPowerJobs is whether a lifecycle Job of that pod spec could run on the kubeNode now.
func runsPowerJobs(kubeNode *corev1.Node, spec v2.MinimalPodSpec) bool {
	if !facts.KubeNodeReady(kubeNode) || kubeNode.Spec.Unschedulable || kubeNode.DeletionTimestamp != nil {
		return false
	}
	for key, value := range spec.NodeSelector {
		if got, ok := kubeNode.Labels[key]; !ok || got != value {
			return false
		}
	}
	return !slices.ContainsFunc(kubeNode.Spec.Taints, func(taint corev1.Taint) bool { return !tolerated(taint, spec) })
}

func tolerated(taint corev1.Taint, spec v2.MinimalPodSpec) bool {
	if taint.Effect == corev1.TaintEffectPreferNoSchedule ||
		taint.Effect == corev1.TaintEffectNoSchedule && slices.Contains(controlPlaneTaints, taint.Key) {
		return true
	}
	return slices.ContainsFunc(spec.Tolerations, func(t corev1.Toleration) bool { return tolerates(t, taint) })
}

// tolerates follows the scheduler's rule for Equal and Exists; other operators are taken as a no, which can only make a
// machine stay on.
func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect || t.Key != "" && t.Key != taint.Key {
		return false
	}
	switch t.Operator {
	case corev1.TolerationOpExists:
		return true
	case "", corev1.TolerationOpEqual:
		return t.Key != "" && t.Value == taint.Value
	}
	return false
}
