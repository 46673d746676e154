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

// GroupSpec is the policy of one pool of machines. Slots join the pool with the label "group: <name of this Group>".
// You write it, usually from Git; the operator only reads it. Durations are written like 90s, 15m or 1h30m.
type GroupSpec struct {
	// Who may ask for machines of this pool. ClusterAutoscaler offers it to cluster-autoscaler over gRPC; people may make
	// claims as well. None hides it from cluster-autoscaler: only claims made by hand wake its machines.
	// Default ClusterAutoscaler.
	// +kubebuilder:default=ClusterAutoscaler
	// +optional
	Engine Engine `json:"engine,omitempty"`
	// The number of machines below which cluster-autoscaler is told not to shrink the pool, and below which its decreases
	// are refused. It is a floor for scale-down, not an order to boot: whether an empty pool is filled up to it is
	// cluster-autoscaler's flag --enforce-node-group-min-size. What is told is never more than the pool can serve.
	// Default 0.
	// +kubebuilder:default=0
	// +kubebuilder:validation:Minimum=0
	// +optional
	MinSize int32 `json:"minSize,omitempty"`
	// How long one machine of this pool may take from request to ready. It lengthens the boot deadline of new claims when
	// it is above the computed budget (12m10s with default timeouts), never shortens it, and is what cluster-autoscaler
	// hears, plus a margin so that our deadline comes first. Raise it for machines that spend minutes in their firmware.
	// Default: none, the budget alone counts. Changing it leaves existing claims as they are.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	// Taints that keep a claim out of ready for as long as its kubeNode carries one of them, and that template nodes leave
	// out. Name the taint that your network or storage plug-in removes once it works on the machine.
	// Default: node.cilium.io/agent-not-ready with effect NoExecute. An empty list, [], means that there are none.
	// +kubebuilder:default={{key: "node.cilium.io/agent-not-ready", effect: NoExecute}}
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	NodeReadinessTaints []ReadinessTaint `json:"nodeReadinessTaints,omitzero"`
	// Share of a machine's requested CPU or memory, a decimal number from 0 to 1 in quotes, under which
	// cluster-autoscaler may take the machine away. Default: cluster-autoscaler's --scale-down-utilization-threshold.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0([.][0-9]+)?|1([.]0+)?)$')",message=`must be a decimal number from 0 to 1, in quotes, such as "0.5"`
	// +optional
	ScaleDownUtilizationThreshold string `json:"scaleDownUtilizationThreshold,omitempty"`
	// Share of a machine's requested GPUs, a decimal number from 0 to 1 in quotes, under which cluster-autoscaler may take
	// a GPU machine away. Default: cluster-autoscaler's --scale-down-gpu-utilization-threshold.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^(0([.][0-9]+)?|1([.]0+)?)$')",message=`must be a decimal number from 0 to 1, in quotes, such as "0.5"`
	// +optional
	ScaleDownGpuUtilizationThreshold string `json:"scaleDownGpuUtilizationThreshold,omitempty"`
	// How long a machine must have been unneeded before cluster-autoscaler takes it away. A boot costs minutes and wears
	// the hardware, so a homelab wants more than a cloud. Default: cluster-autoscaler's --scale-down-unneeded-time.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 90s, 15m or 1h30m"
	// +optional
	ScaleDownUnneededTime *metav1.Duration `json:"scaleDownUnneededTime,omitempty"`
	// How long a machine must have been unready before cluster-autoscaler takes it away. Our own bound on a ready machine
	// that fell silent is timeouts.machineGone. Default: cluster-autoscaler's --scale-down-unready-time.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s')",message="must be a duration of at least 1s, such as 90s, 15m or 1h30m"
	// +optional
	ScaleDownUnreadyTime *metav1.Duration `json:"scaleDownUnreadyTime,omitempty"`
	// Whether cluster-autoscaler grows and shrinks the pool only as a whole. Think twice: through this protocol it never
	// shrinks such a pool again once it has more than one machine. Default: unset, cluster-autoscaler's own setting.
	// +optional
	ZeroOrMaxNodeScaling *bool `json:"zeroOrMaxNodeScaling,omitempty"`
	// Whether cluster-autoscaler leaves the pods of DaemonSets out when it computes how busy a machine is.
	// Default: unset, cluster-autoscaler's --ignore-daemonsets-utilization.
	// +optional
	IgnoreDaemonSetsUtilization *bool `json:"ignoreDaemonSetsUtilization,omitempty"`
	// The durations of a boot and of a shutdown where this pool differs from the defaults. The boot budget, and with it
	// the deadline of new claims, is computed from them. Default: every default.
	// +optional
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// What happens to a machine that is on though no live claim names its slot, two minutes after that is first seen.
	// Shutdown drains it and switches it off, in at most three attempts. Adopt makes a claim for it if it passes the
	// readiness gate, which is how one installs onto a running cluster. Ignore leaves it alone. A control-plane machine,
	// and one without which no other could run its shutdown Job, is left alone whatever this says. Default Shutdown.
	// +kubebuilder:default=Shutdown
	// +optional
	UnclaimedMachines UnclaimedPolicy `json:"unclaimedMachines,omitempty"`
	// Whether the kubeNode is deleted as the last act of a shutdown that we performed and believe. cluster-autoscaler
	// counts kubeNodes of machines that are off as broken and stops scaling when there are too many, so set false only for
	// a pool without it. With false, leftover taints and cordons are taken off at the next boot. Default true.
	// +kubebuilder:default=true
	// +optional
	RemoveNodeAfterShutdown *bool `json:"removeNodeAfterShutdown,omitempty"`
}

// ReadinessTaint is a taint that keeps a claim out of ready while the kubeNode carries it.
type ReadinessTaint struct {
	// The key of the taint on the kubeNode, for example node.cilium.io/agent-not-ready. Its value does not matter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	// +kubebuilder:validation:XValidation:rule="self.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",message="must be a taint's key, such as node.cilium.io/agent-not-ready"
	Key string `json:"key"`
	// The effect that the taint must have to count: NoSchedule, PreferNoSchedule or NoExecute. Default: any effect.
	// +kubebuilder:validation:Enum=NoSchedule;PreferNoSchedule;NoExecute
	// +optional
	Effect corev1.TaintEffect `json:"effect,omitempty"`
}

// Timeouts override the default durations of the pool, each by at most 24h. The boot budget is startupJob +
// registration + readinessGate plus fixed reserves of 1m40s (12m10s with the defaults); a claim's deadline lies at least
// one budget after its request.
type Timeouts struct {
	// How long a startup Job may take, waiting for a pod included. After it the claim fails with StartupJobTimeout.
	// Part of the boot budget. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	StartupJob *metav1.Duration `json:"startupJob,omitempty"`
	// The time reserved for the kubelet to register. It only sizes the boot budget: what ends the wait for a kubelet is the
	// claim's deadline, since firmware alone can take minutes. Default 90s.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	Registration *metav1.Duration `json:"registration,omitempty"`
	// How long a registered kubeNode may take to become Ready, schedulable and free of the readiness taints. After it the
	// claim fails with ReadinessGateTimeout and the machine is switched off. Part of the boot budget. Default 4m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	ReadinessGate *metav1.Duration `json:"readinessGate,omitempty"`
	// How long a shutdown Job may take, waiting for a pod included. A Job that ends late counts as one shutdown attempt
	// if its container ever ran. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	ShutdownJob *metav1.Duration `json:"shutdownJob,omitempty"`
	// How long a machine must stay silent after its shutdown Job started before it is believed to be off, and the least
	// time between two shutdown Jobs. Raise it for machines that unmount slowly. Default 2m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	ShutdownSettle *metav1.Duration `json:"shutdownSettle,omitempty"`
	// How long the pods of a machine may take to leave before its shutdown Job starts regardless. Evictions respect
	// PodDisruptionBudgets for this long. Default 5m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	Drain *metav1.Duration `json:"drain,omitempty"`
	// How long a ready machine may be silent before its claim fails with MachineGone and its slot is free for another. A
	// reboot must fit into it. Default: one boot budget, or maxNodeProvisionTime where that is longer.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	MachineGone *metav1.Duration `json:"machineGone,omitempty"`
}

// GroupStatus is what the group controller, its only writer, counts and computes from the pool's slots and claims. It is
// a report: the gRPC provider answers from the slots and claims themselves.
type GroupStatus struct {
	// The generation of the spec that the rest of this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// How many slots carry this Group's label, whatever their state.
	// +kubebuilder:default=0
	// +optional
	Slots int32 `json:"slots"`
	// How many slots could take a new claim now: not claimed, not on, not held, not cooling off, not being shut down or
	// deleted. targetSize plus offerable is the most machines the pool can have, and the maximum cluster-autoscaler is told.
	// +kubebuilder:default=0
	// +optional
	Offerable int32 `json:"offerable"`
	// How many machines the pool is meant to have now: its wanted claims, pending, booting or ready, and for two minutes a
	// boot that failed when no other slot could serve. It is what cluster-autoscaler is told.
	// +kubebuilder:default=0
	// +optional
	TargetSize int32 `json:"targetSize"`
	// How many machines are up, through the readiness gate and wanted.
	// +kubebuilder:default=0
	// +optional
	Ready int32 `json:"ready"`
	// The time one boot may take, from request to ready: the sum of the timeouts and reserves, or maxNodeProvisionTime
	// where that is longer. New claims get their deadline from it.
	// +optional
	EffectiveBudget *metav1.Duration `json:"effectiveBudget,omitempty"`
	// Seconds from request to ready that 95 of 100 boots did not exceed, over the newest episode of each slot. Absent while
	// no slot remembers a boot. Compare it with effectiveBudget before you shorten a timeout.
	// +optional
	BootSecondsP95 *int64 `json:"bootSecondsP95,omitempty"`
	// The state of the pool as standard conditions: Ready, HeterogeneousCapacity, PowerJobsFailing, BootsHealthy.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Group is the policy of one pool of machines: its floor, its time budgets, its readiness taints and its scale-down
// options. The machines of the pool are the slots that carry the label "group" with this Group's name; each Group whose
// engine is ClusterAutoscaler is one node group to cluster-autoscaler.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=hlgroup,categories=homelab-autoscaler
// +kubebuilder:printcolumn:name="Ready",type=integer,JSONPath=`.status.ready`,description="Machines that are up and wanted"
// +kubebuilder:printcolumn:name="Target",type=integer,JSONPath=`.status.targetSize`,description="Machines the pool is meant to have"
// +kubebuilder:printcolumn:name="Offerable",type=integer,JSONPath=`.status.offerable`,description="Slots that could take a new claim now"
// +kubebuilder:printcolumn:name="Slots",type=integer,JSONPath=`.status.slots`,description="Slots that carry the Group's label"
// +kubebuilder:printcolumn:name="Min",type=integer,JSONPath=`.spec.minSize`,description="Floor of the pool"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Engine",type=string,JSONPath=`.spec.engine`,priority=1,description="Who may ask for machines"
// +kubebuilder:printcolumn:name="Budget",type=string,JSONPath=`.status.effectiveBudget`,priority=1,description="Time one boot may take"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 63",fieldPath=".metadata",message="metadata.name is a label value on its slots: at most 63 characters",optionalOldSelf=true
type Group struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +kubebuilder:default={}
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
