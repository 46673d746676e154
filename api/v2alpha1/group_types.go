package v2alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Engine names who may ask for machines of a pool.
//
// +kubebuilder:validation:Enum=ClusterAutoscaler;None
type Engine string

// The engines.
const (
	// EngineClusterAutoscaler offers the pool to cluster-autoscaler over gRPC.
	EngineClusterAutoscaler Engine = "ClusterAutoscaler"
	// EngineNone leaves the pool to people: only hand-made claims wake its machines.
	EngineNone Engine = "None"
)

// UnclaimedPolicy says what happens to a machine that is on though no live claim names its slot.
//
// +kubebuilder:validation:Enum=Shutdown;Adopt;Ignore
type UnclaimedPolicy string

// The policies for unclaimed machines.
const (
	// UnclaimedShutdown drains the machine and switches it off after a grace.
	UnclaimedShutdown UnclaimedPolicy = "Shutdown"
	// UnclaimedAdopt makes a claim for the machine, if the slot is otherwise offerable and the kubeNode passes the gate.
	UnclaimedAdopt UnclaimedPolicy = "Adopt"
	// UnclaimedIgnore leaves the machine alone.
	UnclaimedIgnore UnclaimedPolicy = "Ignore"
)

// GroupSpec is the policy of one pool of machines. Slots join the pool with the label "group".
type GroupSpec struct {
	// +kubebuilder:default=ClusterAutoscaler
	// +optional
	Engine Engine `json:"engine,omitempty"`
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinSize int32 `json:"minSize,omitempty"`
	// +optional
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	// +listType=atomic
	// +optional
	NodeReadinessTaints []ReadinessTaint `json:"nodeReadinessTaints,omitzero"`
	// +optional
	ScaleDownUtilizationThreshold string `json:"scaleDownUtilizationThreshold,omitempty"`
	// +optional
	ScaleDownGpuUtilizationThreshold string `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	// +optional
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	// +optional
	ScaleDownUnreadyTime *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	// +optional
	ZeroOrMaxNodeScaling *bool `json:"zeroOrMaxNodeScaling,omitempty"`
	// +optional
	IgnoreDaemonSetsUtilization *bool `json:"ignoreDaemonSetsUtilization,omitempty"`
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// +kubebuilder:default=Shutdown
	// +optional
	UnclaimedMachines UnclaimedPolicy `json:"unclaimedMachines,omitempty"`
	// +kubebuilder:default=true
	// +optional
	RemoveNodeAfterShutdown *bool `json:"removeNodeAfterShutdown,omitempty"`
}

// ReadinessTaint is a taint that keeps a claim out of ready while the kubeNode carries it.
type ReadinessTaint struct {
	// +kubebuilder:validation:MinLength=1
	Key string `json:"key"`
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	// +optional
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// Timeouts override the default durations of the pool. The boot budget is computed from them.
type Timeouts struct {
	// +optional
	StartupJob *metav1.Duration `json:"startupJob,omitempty"`
	// +optional
	Registration *metav1.Duration `json:"registration,omitempty"`
	// +optional
	ReadinessGate *metav1.Duration `json:"readinessGate,omitempty"`
	// +optional
	ShutdownJob *metav1.Duration `json:"shutdownJob,omitempty"`
	// +optional
	ShutdownSettle *metav1.Duration `json:"shutdownSettle,omitempty"`
	// +optional
	Drain *metav1.Duration `json:"drain,omitempty"`
	// +optional
	MachineGone *metav1.Duration `json:"machineGone,omitempty"`
}

// GroupStatus is what the group controller observes of the pool.
type GroupStatus struct {
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +optional
	Slots int32 `json:"slots"`
	// +optional
	Offerable int32 `json:"offerable"`
	// +optional
	TargetSize int32 `json:"targetSize"`
	// +optional
	Ready int32 `json:"ready"`
	// +optional
	EffectiveBudget *metav1.Duration `json:"effectiveBudget,omitempty"`
	// +optional
	BootSecondsP95 *int64 `json:"bootSecondsP95,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Group is the policy of one pool: its floor, its time budgets, its readiness taints and its scale-down options.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hlgroup,categories=homelab-autoscaler
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   GroupSpec   `json:"spec,omitempty"`
	Status GroupStatus `json:"status,omitempty"`
}

// GroupList is a list of groups.
//
// +kubebuilder:object:root=true
type GroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Group `json:"items"`
}
