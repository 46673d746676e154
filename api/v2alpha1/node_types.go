package v2alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlotPhase is a report on a slot, derived from evidence and claims and never read to decide anything.
//
// +kubebuilder:validation:Enum=off;pending;booting;ready;draining
type SlotPhase string

// The reported phases of a slot.
const (
	SlotOff      SlotPhase = "off"
	SlotPending  SlotPhase = "pending"
	SlotBooting  SlotPhase = "booting"
	SlotReady    SlotPhase = "ready"
	SlotDraining SlotPhase = "draining"
)

// PowerState is what is believed about a machine's power.
//
// +kubebuilder:validation:Enum=on;off;unknown
type PowerState string

// The power states.
const (
	PowerOn      PowerState = "on"
	PowerOff     PowerState = "off"
	PowerUnknown PowerState = "unknown"
)

// PowerSource says whose evidence a power state rests on.
//
// +kubebuilder:validation:Enum=kubelet;outOfBand;shutdownJob;assumed
type PowerSource string

// The sources of a power state.
const (
	PowerSourceKubelet     PowerSource = "kubelet"
	PowerSourceOutOfBand   PowerSource = "outOfBand"
	PowerSourceShutdownJob PowerSource = "shutdownJob"
	PowerSourceAssumed     PowerSource = "assumed"
)

// Health is a one-word report on the kubeNode of a slot.
//
// +kubebuilder:validation:Enum=healthy;offline;unknown
type Health string

// The health reports.
const (
	Healthy       Health = "healthy"
	Offline       Health = "offline"
	HealthUnknown Health = "unknown"
)

// NodeSpec is the configuration of one machine. It never holds runtime intent.
type NodeSpec struct {
	KubernetesNodeName string         `json:"kubernetesNodeName"`
	StartupPodSpec     MinimalPodSpec `json:"startupPodSpec"`
	ShutdownPodSpec    MinimalPodSpec `json:"shutdownPodSpec"`
	// +optional
	NodeCapacity corev1.ResourceList `json:"nodeCapacity,omitempty"`
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// +listType=atomic
	// +optional
	NodeTaints []corev1.Taint `json:"nodeTaints,omitempty"`
	// +listType=atomic
	// +optional
	TaintsToRemove []corev1.Taint `json:"taintsToRemove,omitempty"`
	// +optional
	Pricing *Pricing `json:"pricing,omitempty"`
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Pricing is what an hour of the machine, and of a pod on it, costs, in any one currency used throughout the cluster.
type Pricing struct {
	HourlyRate string `json:"hourlyRate"`
	PodRate    string `json:"podRate"`
}

// NodeStatus is what is observed and believed of one machine.
type NodeStatus struct {
	// +optional
	Phase SlotPhase `json:"phase,omitempty"`
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`
	// +optional
	PowerStateSince *metav1.Time `json:"powerStateSince,omitempty"`
	// +optional
	PowerSource PowerSource `json:"powerSource,omitempty"`
	// +optional
	Health Health `json:"health,omitempty"`
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// +optional
	Episode int64 `json:"episode,omitempty"`
	// +optional
	LastClaim *ClaimDigest `json:"lastClaim,omitempty"`
	// +optional
	Unclaimed *UnclaimedRecord `json:"unclaimed,omitempty"`
	// +optional
	LastStartupTime *metav1.Time `json:"lastStartupTime,omitempty"`
	// +optional
	LastShutdownTime *metav1.Time `json:"lastShutdownTime,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ClaimDigest is what a slot remembers of its newest episode after the claim has been collected.
type ClaimDigest struct {
	Name string `json:"name"`
	Slot string `json:"slot"`
	// +optional
	Phase ClaimPhase `json:"phase,omitempty"`
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// +optional
	Request ClaimRequest `json:"request,omitempty"`
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// +optional
	EndedBy *ClaimEnd `json:"endedBy,omitempty"`
	// +optional
	Reason ClaimReason `json:"reason,omitempty"`
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// +optional
	DeadlineAt *metav1.Time `json:"deadlineAt,omitempty"`
	// +optional
	ReadyAt *metav1.Time `json:"readyAt,omitempty"`
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// UnclaimedRecord is the shutdown of a machine that is on though no claim wants it. It exists only while that lasts.
type UnclaimedRecord struct {
	Since metav1.Time `json:"since"`
	// +optional
	ShutdownAttempts int32 `json:"shutdownAttempts,omitempty"`
	// +optional
	LastShutdownAttemptAt *metav1.Time `json:"lastShutdownAttemptAt,omitempty"`
	// +listType=atomic
	// +optional
	Jobs []JobRecord `json:"jobs,omitempty"`
}

// Node is a slot: the configuration of one physical machine that can be switched on and off.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=slot,categories=homelab-autoscaler
type Node struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeSpec   `json:"spec,omitempty"`
	Status NodeStatus `json:"status,omitempty"`
}

// NodeList is a list of slots.
//
// +kubebuilder:object:root=true
type NodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Node `json:"items"`
}
