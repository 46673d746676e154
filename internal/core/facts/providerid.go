package facts

import (
	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// DeclaredProviderID is what the slot's kubeNode is expected to carry: spec.providerID, else homelab://<slot>.
func DeclaredProviderID(slot *v2.Node) string {
	if slot.Spec.ProviderID != "" {
		return slot.Spec.ProviderID
	}
	return v2.ProviderIDPrefix + slot.Name
}

// InstanceID is the id under which the slot's machine is listed: what its kubeNode carries, which is the truth and
// immutable, and the declared one until there is one.
func InstanceID(slot *v2.Node, kubeNode *corev1.Node) string {
	if kubeNode != nil && kubeNode.Spec.ProviderID != "" {
		return kubeNode.Spec.ProviderID
	}
	return DeclaredProviderID(slot)
}
