package facts

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Taints and annotations of others that this project reads or strips.
const (
	TaintToBeDeleted       = "ToBeDeletedByClusterAutoscaler"
	TaintDeletionCandidate = "DeletionCandidateOfClusterAutoscaler"
	TaintUnregistered      = "karpenter.sh/unregistered"
	TaintUninitialized     = "node.cloudprovider.kubernetes.io/uninitialized"

	AnnotationScaleDownDisabled = "cluster-autoscaler.kubernetes.io/scale-down-disabled"
)

// Evidence is what the cluster says about a machine's power.
type Evidence string

// On is a kubelet that reports (Ready True or False), or an out-of-band reading of on; Silent is neither.
const (
	On     Evidence = "on"
	Silent Evidence = "silent"
)

// ReadyCondition is the kubeNode's Ready condition, or nil.
func ReadyCondition(kubeNode *corev1.Node) *corev1.NodeCondition {
	if kubeNode == nil {
		return nil
	}
	for i := range kubeNode.Status.Conditions {
		if kubeNode.Status.Conditions[i].Type == corev1.NodeReady {
			return &kubeNode.Status.Conditions[i]
		}
	}
	return nil
}

// KubeletOn is whether the kubelet reports: Ready is True or False. Unknown is what the node lifecycle controller writes
// about a silent one.
func KubeletOn(kubeNode *corev1.Node) bool {
	ready := ReadyCondition(kubeNode)
	return ready != nil && ready.Status != corev1.ConditionUnknown
}

// KubeNodeReady is whether the kubeNode is Ready.
func KubeNodeReady(kubeNode *corev1.Node) bool {
	ready := ReadyCondition(kubeNode)
	return ready != nil && ready.Status == corev1.ConditionTrue
}

// Power is on when the kubelet reports or a fresh reading says on; else silent.
func Power(kubeNode *corev1.Node, fresh Reading) Evidence {
	if KubeletOn(kubeNode) || fresh.State == v2.PowerOn {
		return On
	}
	return Silent
}

// GateTaints lists the readiness taints of the policy that the kubeNode still carries.
func GateTaints(kubeNode *corev1.Node, p policy.Policy) []corev1.Taint {
	var found []corev1.Taint
	for _, taint := range kubeNode.Spec.Taints {
		if GateTaint(taint, p) {
			found = append(found, taint)
		}
	}
	return found
}

// GateTaint is whether the taint is one of the policy's readiness taints.
func GateTaint(taint corev1.Taint, p policy.Policy) bool {
	return slices.ContainsFunc(p.ReadinessTaints, func(want v2.ReadinessTaint) bool {
		return want.Key == taint.Key && (want.Effect == "" || want.Effect == taint.Effect)
	})
}

// Leftover is whether the taint is one an autoscaler left behind, which no booting machine keeps.
// Karpenter's is stripped only in a pool of cluster-autoscaler's.
func Leftover(taint corev1.Taint, engine v2.Engine) bool {
	switch taint.Key {
	case TaintToBeDeleted, TaintDeletionCandidate:
		return true
	case TaintUnregistered:
		return engine != v2.EngineNone
	}
	return false
}

// ControlPlane is whether the kubeNode carries a control-plane role.
func ControlPlane(kubeNode *corev1.Node) bool {
	if kubeNode == nil {
		return false
	}
	_, controlPlane := kubeNode.Labels["node-role.kubernetes.io/control-plane"]
	_, master := kubeNode.Labels["node-role.kubernetes.io/master"]
	return controlPlane || master
}
