package observer

// What the power observer may do, and no more. Nothing here lists or watches Secrets: which of them it may get is said where
// it is installed, by their names.
//
// +kubebuilder:rbac:groups=infra.homecluster.dev,namespace=homelab-autoscaler-system,resources=nodes;nodeclaims,verbs=get;list;watch
// +kubebuilder:rbac:groups=infra.homecluster.dev,namespace=homelab-autoscaler-system,resources=nodes/status,verbs=patch
