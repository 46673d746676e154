package v2alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// SlotPhase is a report on a slot, derived from evidence and claims and never read to decide anything.
//
// +kubebuilder:validation:Enum=off;pending;booting;ready;draining
type SlotPhase string

// The reported phases of a slot. Where several fit, the first of draining, pending, ready, booting, off is reported.
const (
	// SlotOff is a slot that nothing is going on with: no live claim, no machine known to be on.
	SlotOff SlotPhase = "off"
	// SlotPending is a slot whose claim has not started a boot yet.
	SlotPending SlotPhase = "pending"
	// SlotBooting is a slot whose machine is wanted but not usable: booting, or ready before and now silent or gated.
	SlotBooting SlotPhase = "booting"
	// SlotReady is a slot whose claim is ready and whose machine is on and through the gate.
	SlotReady SlotPhase = "ready"
	// SlotDraining is a slot whose machine is to be switched off, because a reversal is owed or nobody claims it.
	SlotDraining SlotPhase = "draining"
)

// PowerState is what is believed about a machine's power.
//
// +kubebuilder:validation:Enum=on;off;unknown
type PowerState string

// The power states.
const (
	// PowerOn is a kubelet that reports, or a power switch that says so.
	PowerOn PowerState = "on"
	// PowerOff is believed by the rule for off, from evidence.
	PowerOff PowerState = "off"
	// PowerUnknown is neither; it is never treated as off.
	PowerUnknown PowerState = "unknown"
)

// PowerSource says whose evidence a power state rests on.
//
// +kubebuilder:validation:Enum=kubelet;outOfBand;shutdownJob;assumed
type PowerSource string

// The sources of a power state.
const (
	// PowerSourceKubelet is the kubeNode's Ready condition, or its silence.
	PowerSourceKubelet PowerSource = "kubelet"
	// PowerSourceOutOfBand is a reading of the machine's own power switch.
	PowerSourceOutOfBand PowerSource = "outOfBand"
	// PowerSourceShutdownJob is a shutdown Job that ended well on a machine that was silent before it.
	PowerSourceShutdownJob PowerSource = "shutdownJob"
	// PowerSourceAssumed is a shutdown whose attempts are spent on a machine that showed no sign of life since.
	PowerSourceAssumed PowerSource = "assumed"
)

// Health is a one-word report on the kubeNode of a slot.
//
// +kubebuilder:validation:Enum=healthy;offline;unknown
type Health string

// The health reports.
const (
	// Healthy is a kubeNode that is Ready.
	Healthy Health = "healthy"
	// Offline is a machine whose kubelet is silent, or that has no kubeNode.
	Offline Health = "offline"
	// HealthUnknown is a kubelet that reports but is not Ready.
	HealthUnknown Health = "unknown"
)

// NodeSpec is the configuration of one machine. You write it, usually from Git; the operator only reads it. It never says
// whether the machine should be on: for that, make a NodeClaim.
//
// +kubebuilder:validation:XValidation:rule="has(self.startupPodSpec) || has(self.power) && (has(self.power.ipmi) || has(self.power.redfish) || has(self.power.wakeOnLan) || has(self.power.http) && has(self.power.http.powerOn))",fieldPath=".startupPodSpec",message="is needed unless power can switch the machine on: ipmi, redfish, wakeOnLan, or http with powerOn",reason=FieldValueRequired
// +kubebuilder:validation:XValidation:rule="has(self.shutdownPodSpec) || has(self.power) && (has(self.power.ipmi) || has(self.power.redfish) || has(self.power.ssh) || has(self.power.http) && (has(self.power.http.powerOff) || has(self.power.http.softOff)))",fieldPath=".shutdownPodSpec",message="is needed unless power can switch the machine off: ipmi, redfish, ssh, or http with softOff or powerOff",reason=FieldValueRequired
type NodeSpec struct {
	// The name with which the machine's kubelet registers, usually its host name. No two slots may share it, and it
	// cannot change while a claim is live. Choosing the slot's own name saves confusion.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be a name that a kubelet registers with: lower-case letters, digits, '-' and '.', such as worker-01.lan"
	KubernetesNodeName string `json:"kubernetesNodeName"`
	// The machine's power switch: a BMC, a smart plug, a network card that wakes it, ssh. What it can do needs no pod spec:
	// the Job's pod is derived from it, and status.switch shows how. Default: none, and both pod specs are needed.
	// +optional
	Power *PowerSwitch `json:"power,omitempty"`
	// How the machine is switched on: one container that runs as a Job, away from slots, with hardened defaults. It should be
	// harmless on a machine that is on already. Its exit code says whether the command ran, not whether the power changed:
	// only a kubelet, or the power switch itself, says that. It wins over power. Default: what power says.
	// +optional
	StartupPodSpec MinimalPodSpec `json:"startupPodSpec,omitzero"`
	// How the machine is switched off, with an orderly shutdown: its pods were drained, its disks are still mounted. It runs
	// up to three times, so it should be harmless on a machine that is going down or off. It runs like startupPodSpec, and
	// never on the machine that it switches off. It wins over power. Default: what power says.
	// +optional
	ShutdownPodSpec MinimalPodSpec `json:"shutdownPodSpec,omitzero"`
	// What the machine offers to pods once it is up, as its kubeNode's allocatable will say: cpu, memory, pods,
	// ephemeral-storage, extended resources such as GPUs. cluster-autoscaler plans with it while no machine of the pool is
	// up, so without it a pool cannot grow from zero. Slots of one pool should agree. Default: none.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int || isQuantity(self[name]))",message="every value must be a quantity, such as 7800m, 30Gi or 110"
	// +kubebuilder:validation:XValidation:rule="self.all(name, type(self[name]) == int ? self[name] >= 0 : !self[name].startsWith('-'))",message="a machine cannot offer less than nothing: leave out what it does not have"
	// +kubebuilder:validation:XValidation:rule="['cpu', 'memory', 'pods'].all(name, !(name in self) || (type(self[name]) == int ? self[name] != 0 : !self[name].matches('^[+]?[0.]+([a-zA-Z].*)?$')))",message="a machine without cpu, memory or pods can run nothing: give the real number, or leave it out"
	// +optional
	NodeCapacity corev1.ResourceList `json:"nodeCapacity,omitempty"`
	// Labels that are put on the kubeNode at every registration and into the template that cluster-autoscaler plans with.
	// Default: none beyond our own.
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="a label's key is a name, with or without a prefix such as example.com/, of letters, digits, '-', '_' and '.', at most 63"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="a label's value is letters, digits, '-', '_' and '.', at most 63"
	// +optional
	NodeLabels map[string]string `json:"nodeLabels,omitempty"`
	// Taints that are put on the kubeNode while it boots and into the template that cluster-autoscaler plans with, so that
	// only pods that tolerate them buy this machine. One that is a readiness taint of the group too is left out of the template,
	// and put on a kubeNode once, for its agent to take off. Default: none.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="!has(self.key) || self.key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",fieldPath=".key",message="must be a taint's key, such as example.com/gpu"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.value) || self.value.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')",fieldPath=".value",message="must be a label value: letters, digits, '-', '_' and '.', at most 63"
	// +kubebuilder:validation:XValidation:rule="self.all(t, !has(t.key) || !has(t.effect) || self.exists_one(u, has(u.key) && has(u.effect) && u.key == t.key && u.effect == t.effect))",message="no two taints may share key and effect: a kubeNode can carry only one of them"
	// +listType=atomic
	// +optional
	NodeTaints []corev1.Taint `json:"nodeTaints,omitempty"`
	// Taints that are left out of a template taken from this machine while it is up, because they will be gone from a
	// freshly booted one: those that a start-up agent removes. They are not removed from the kubeNode. Default: none.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:XValidation:rule="!has(self.key) || self.key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')",fieldPath=".key",message="must be a taint's key, such as example.com/gpu"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.value) || self.value.matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')",fieldPath=".value",message="must be a label value: letters, digits, '-', '_' and '.', at most 63"
	// +listType=atomic
	// +optional
	TaintsToRemove []corev1.Taint `json:"taintsToRemove,omitempty"`
	// What the machine costs. It feeds cluster-autoscaler's price expander, decides which of several offerable slots is
	// woken first, and appears in reports. Default: unknown, which is chosen after every known price.
	// +optional
	Pricing *Pricing `json:"pricing,omitempty"`
	// How many watts the machine draws while it is on, on average. It feeds the energy in metrics and reports and decides
	// nothing. Default: unknown.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Watts *int32 `json:"watts,omitempty"`
	// The providerID with which the kubelet registers, where a distribution sets its own, for example k3s://worker-01. It is
	// an expectation: what the kubeNode really carries wins, and a difference shows as the condition ProviderIDMismatch.
	// Default: homelab://<slot>, which is also what a kubeNode without one gets.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// Whether the slot is held: no power operation starts, it takes no new claim from cluster-autoscaler, and the clocks of
	// its claims stand still. A machine that is on stays on. This is the hold for Git; people at a shell use the annotation
	// infra.homecluster.dev/hold, which can also end by itself. Default false.
	// +kubebuilder:default=false
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// Pricing is what an hour of the machine, and of a pod on it, costs, in any one currency used throughout the cluster.
type Pricing struct {
	// Cost of an hour for which the machine is on, a decimal number in quotes, for example "0.05".
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,12}([.][0-9]+)?$')",message=`must be a decimal number, in quotes and not negative, such as "0.05"`
	HourlyRate string `json:"hourlyRate"`
	// Cost of an hour of one pod on the machine, a decimal number in quotes, for example "0.001".
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,12}([.][0-9]+)?$')",message=`must be a decimal number, in quotes and not negative, such as "0.05"`
	PodRate string `json:"podRate"`
}

// NodeStatus is what is observed and believed of one machine. The slot controller is its only writer, but for
// powerReading, which is the power observer's; every value can be derived again from claims, Jobs and the kubeNode, except
// the memory in episode, lastClaim and unclaimed.
type NodeStatus struct {
	// One word on where the slot stands, the first of these that fits. draining: its machine is to be switched off, or is on
	// and claimed by nobody. pending: its claim has not started a boot. ready: its claim is ready, its machine on and through
	// the gate. booting: its machine is wanted but not usable. off: none of these. A report that nothing decides by.
	// +optional
	Phase SlotPhase `json:"phase,omitempty"`
	// What is believed about the machine's power: on, off, or unknown, which is never treated as off.
	// +optional
	PowerState PowerState `json:"powerState,omitempty"`
	// When an observation first differed from the one before it: the start of the present silence, or of the present signs
	// of life. A silent machine is judged from here on.
	// +optional
	PowerStateSince *metav1.Time `json:"powerStateSince,omitempty"`
	// Whose evidence powerState rests on: the kubelet, an outOfBand reading of the power switch, a shutdownJob that ended
	// well on a machine that was silent already, or, without evidence, assumed after every shutdown attempt was spent.
	// +optional
	PowerSource PowerSource `json:"powerSource,omitempty"`
	// What the machine's own power switch said when it was last asked, and when. The power observer writes it, and nobody
	// else; absent where no observer runs, or the switch cannot be read. It is evidence beside the kubelet's: an on keeps the
	// machine from being believed off, an off that the switch turned to after a shutdown Job started ends the wait for it. A
	// reading that is older than 5 minutes counts as unknown.
	// +optional
	PowerReading *PowerReading `json:"powerReading,omitempty"`
	// How the Jobs work the switch that spec.power declares; absent where it declares none, or pod specs win over it in both
	// directions.
	// +optional
	Switch *SwitchReport `json:"switch,omitempty"`
	// One word on the kubeNode. healthy: it is Ready. offline: its kubelet is silent, or there is no kubeNode. unknown: the
	// kubelet reports but is not Ready.
	// +optional
	Health Health `json:"health,omitempty"`
	// The providerID that the kubeNode carries; empty while it has none. It is the id under which cluster-autoscaler knows
	// the machine.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// The number of the newest episode of this slot, counting from 1. The next claim made by the provider or by adoption
	// gets the next number, and its name is derived from it.
	// +optional
	Episode int64 `json:"episode,omitempty"`
	// The newest episode in short: who asked, how often was tried, how it ended. It is kept after the claim is collected, and
	// saved before that. Failed boots in a row make the slot cool off for 30m, doubling to 6h, as lastClaim.attempt and
	// finishedAt say; patch lastClaim.attempt to 0 to clear that.
	// +optional
	LastClaim *ClaimDigest `json:"lastClaim,omitempty"`
	// The record of a machine that is on though no claim wants it; absent at all other times.
	// +optional
	Unclaimed *UnclaimedRecord `json:"unclaimed,omitempty"`
	// When a claim of this slot last became ready.
	// +optional
	LastStartupTime *metav1.Time `json:"lastStartupTime,omitempty"`
	// When the machine was last believed to have gone off.
	// +optional
	LastShutdownTime *metav1.Time `json:"lastShutdownTime,omitempty"`
	// The generation of the spec that the rest of this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The state of the slot as standard conditions: Ready, NodeReadinessTaints, CapacityDrift, ProviderIDMismatch,
	// CoolingOff, Held, Protected, UnclaimedMachine, PowerObservationConflict, GroupMissing, GroupChangePending,
	// ClusterAutoscalerMarkedForDeletion. Each is there once its question can be asked.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PowerReading is what a machine's power switch says of its power.
type PowerReading struct {
	// What the switch says: on, off, or unknown where it cannot be reached, does not answer in words that are understood, or
	// says now this and now that. Unknown is never treated as off.
	State PowerState `json:"state"`
	// When the switch was first heard to say so, of all readings since that say the same or nothing. While the state is
	// unknown it is that of the state before.
	Since metav1.Time `json:"since"`
	// When the switch was asked, by the observer's clock. While nothing changes it is brought up to date every few minutes.
	ObservedAt metav1.Time `json:"observedAt"`
	// Which switch said so: protocol and address, for example ipmi 10.0.0.5:623.
	// +kubebuilder:validation:MaxLength=300
	// +optional
	Source string `json:"source,omitempty"`
	// Why the state is unknown, in words; empty where it is known.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ClaimDigest is what a slot remembers of its newest episode after the claim has been collected. A claim that was
// cancelled before its boot is no episode.
type ClaimDigest struct {
	// The claim this is the digest of.
	Name string `json:"name"`
	// The slot itself, so that a digest read on its own says which machine it is about.
	Slot string `json:"slot"`
	// How far the claim came; booting or ready while it lives.
	// +optional
	Phase ClaimPhase `json:"phase,omitempty"`
	// Which boot in a row this was: 1 after a success, more after failures. At 3 and above a failed slot cools off before
	// it is offered again. Patch it to 0 to offer the slot at once.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// Who asked first: the call that made the claim, its group and its arguments. The call that ended it is in endedBy.
	// +optional
	Request ClaimRequest `json:"request,omitempty"`
	// The claim's spec.requestedBy: who asked, as free text.
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// The call that ended the claim, with the nodes it named and who made it; absent when nobody asked for the end.
	// +optional
	EndedBy *ClaimEnd `json:"endedBy,omitempty"`
	// Why the claim ended, or why its shutdown is being tried again: one word, listed at NodeClaim.status.reason.
	// +optional
	Reason ClaimReason `json:"reason,omitempty"`
	// When the machine was asked for.
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// Until when the boot had to be through the gate.
	// +optional
	DeadlineAt *metav1.Time `json:"deadlineAt,omitempty"`
	// When the machine was through the gate; absent if it never was.
	// +optional
	ReadyAt *metav1.Time `json:"readyAt,omitempty"`
	// When the claim reached failed or completed. The cool-off is counted from here.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
}

// UnclaimedRecord is the story of a machine that is on though no claim wants it. It exists only while that lasts, and is
// how the bounded shutdown attempts survive a restart of the operator.
type UnclaimedRecord struct {
	// When the machine was first seen on and unclaimed. The Group's policy acts two minutes later.
	Since metav1.Time `json:"since"`
	// When its pods were first asked to leave: the time that the group gives a drain is counted from here. Absent before, and
	// where there was nothing to drain.
	// +optional
	DrainingSince *metav1.Time `json:"drainingSince,omitempty"`
	// How many shutdown Jobs of the present streak started. At 3 there is a pause of 30m; patch it to 0 to go on now.
	// +optional
	ShutdownAttempts int32 `json:"shutdownAttempts,omitempty"`
	// When the newest of those attempts was counted; the pause runs from here.
	// +optional
	LastShutdownAttemptAt *metav1.Time `json:"lastShutdownAttemptAt,omitempty"`
	// The shutdown Jobs of this period, oldest first.
	// +listType=atomic
	// +optional
	Jobs []JobRecord `json:"jobs,omitempty"`
}

// Node is a slot: the configuration of one physical machine that can be switched on and off, and what is known about it.
// The label "group" says which Group the slot belongs to. It is not the Kubernetes node of the core API, which the
// machine's kubelet registers once the machine is up.
//
// Whether the machine should be on is not written here: it is wanted exactly while a live, unmarked NodeClaim names the
// slot. While the slot has a machine to switch off it carries a finalizer, so that deleting it from Git switches the
// machine off first.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=slot,categories=homelab-autoscaler
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.metadata.labels.group`,description="Group the slot belongs to"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Where the slot stands"
// +kubebuilder:printcolumn:name="Power",type=string,JSONPath=`.status.powerState`,description="What is believed about the machine's power"
// +kubebuilder:printcolumn:name="Claim",type=string,JSONPath=`.status.lastClaim.name`,description="Claim of the newest episode"
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.lastClaim.attempt`,description="Boots in a row without success, this one included"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="KubeNode",type=string,JSONPath=`.spec.kubernetesNodeName`,priority=1,description="Name with which the kubelet registers"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.lastClaim.reason`,priority=1,description="Why the newest episode ended"
// +kubebuilder:printcolumn:name="Held",type=string,JSONPath=`.status.conditions[?(@.type=="Held")].status`,priority=1,description="Whether a person holds the slot"
// +kubebuilder:printcolumn:name="ProviderID",type=string,JSONPath=`.status.providerID`,priority=1,description="What the kubeNode carries"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 44",fieldPath=".metadata",message="metadata.name starts the names of its claims and Jobs, which are label values: at most 44 characters",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.spec) || oldSelf.hasValue() && !has(oldSelf.value().spec)",fieldPath=".spec",message="a slot needs a spec: the name of its kubeNode, and how the machine is switched on and off",reason=FieldValueRequired,optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="!has(self.spec) || !has(oldSelf.spec) || !has(oldSelf.spec.kubernetesNodeName) || has(self.spec.kubernetesNodeName) && self.spec.kubernetesNodeName == oldSelf.spec.kubernetesNodeName || !has(self.status) || !(has(self.status.phase) && self.status.phase in ['pending', 'booting', 'ready'] || has(self.status.lastClaim) && has(self.status.lastClaim.phase) && self.status.lastClaim.phase in ['pending', 'booting', 'ready'])",fieldPath=".spec.kubernetesNodeName",message="cannot change while a claim of this slot is live, which status.lastClaim names: delete the claim, and change it once the slot is off"
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
