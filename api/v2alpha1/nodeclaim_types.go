package v2alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ClaimPhase is where a claim is in its life. The empty phase reads as pending.
//
// +kubebuilder:validation:Enum=pending;booting;ready;failed;completed
type ClaimPhase string

// The phases of a claim.
const (
	// ClaimPending is a request with no lifecycle Job yet: the only phase that can be cancelled.
	ClaimPending ClaimPhase = "pending"
	// ClaimBooting is a committed boot: it is reversed, never interrupted.
	ClaimBooting ClaimPhase = "booting"
	// ClaimReady is a machine that is up, joined and through the readiness gate.
	ClaimReady ClaimPhase = "ready"
	// ClaimFailed is terminal: the attempt produced no usable machine, or lost it.
	ClaimFailed ClaimPhase = "failed"
	// ClaimCompleted is terminal: the request was ended on purpose.
	ClaimCompleted ClaimPhase = "completed"
)

// Call is the entry point that made, or ended, a claim.
//
// +kubebuilder:validation:Enum=IncreaseSize;DecreaseTargetSize;DeleteNodes;Create;Delete
type Call string

// The calls.
const (
	// CallIncreaseSize is cluster-autoscaler asking for more machines; a person uses it as well.
	CallIncreaseSize Call = "IncreaseSize"
	// CallDecreaseTargetSize is cluster-autoscaler taking pending requests back.
	CallDecreaseTargetSize Call = "DecreaseTargetSize"
	// CallDeleteNodes is cluster-autoscaler, or a person, giving machines back by name. On a claim it is the mark.
	CallDeleteNodes Call = "DeleteNodes"
	// CallCreate is another engine, or adoption, asking for one machine.
	CallCreate Call = "Create"
	// CallDelete is another engine, or a person with kubectl delete, ending a claim.
	CallDelete Call = "Delete"
)

// Operation is what a lifecycle Job does to a machine.
//
// +kubebuilder:validation:Enum=Startup;Shutdown
type Operation string

// The operations.
const (
	// OperationStartup switches the machine on with the slot's startupPodSpec.
	OperationStartup Operation = "Startup"
	// OperationShutdown switches the machine off with the slot's shutdownPodSpec.
	OperationShutdown Operation = "Shutdown"
)

// JobOutcome is how a lifecycle Job ended.
//
// +kubebuilder:validation:Enum=Succeeded;Failed;TimedOut;NeverStarted;Unknown
type JobOutcome string

// The outcomes of a lifecycle Job.
const (
	// JobSucceeded is exit code 0, which says that the command ran and nothing about the machine.
	JobSucceeded JobOutcome = "Succeeded"
	// JobFailed is any other exit code, or a pod that was lost.
	JobFailed JobOutcome = "Failed"
	// JobTimedOut is a container that was still running at the end of the Job's time.
	JobTimedOut JobOutcome = "TimedOut"
	// JobNeverStarted is a Job none of whose containers ever ran: it proves and counts nothing.
	JobNeverStarted JobOutcome = "NeverStarted"
	// JobUnknown is a Job that vanished before its end was read; evidence about the machine decides instead.
	JobUnknown JobOutcome = "Unknown"
)

// The rules on a claim's spec compare what is meant, not how it is spelled: a client that reads and writes a claim spells
// 15m as 15m0s, drops the fraction of a second, and leaves out what is empty.

// NodeClaimSpec is one request for one machine, written by the gRPC provider or by a person. It does not change once made,
// but for two moves of the operator: a DeleteNodes is recorded in request.call and request.nodes, and deadlineAt is
// cleared when the machine is ready. Whoever wants something else makes another claim.
//
// +kubebuilder:validation:XValidation:rule="has(self.requestedAt) == has(oldSelf.requestedAt) && (!has(self.requestedAt) || int(self.requestedAt) == int(oldSelf.requestedAt))",fieldPath=".requestedAt",message="a claim records one request: requestedAt cannot change"
// +kubebuilder:validation:XValidation:rule="has(self.requestedBy) == has(oldSelf.requestedBy) && (!has(self.requestedBy) || self.requestedBy == oldSelf.requestedBy)",fieldPath=".requestedBy",message="a claim records one request: requestedBy cannot change"
// +kubebuilder:validation:XValidation:rule="!has(self.deadlineAt) || has(oldSelf.deadlineAt) && int(self.deadlineAt) == int(oldSelf.deadlineAt)",fieldPath=".deadlineAt",message="a deadline can be cleared, not set or moved"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.deadlineAt) || !has(self.requestedAt) || self.deadlineAt > self.requestedAt",fieldPath=".deadlineAt",message="the deadline must lie after requestedAt",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.maxNodeProvisionTime) == has(oldSelf.maxNodeProvisionTime) && (!has(self.maxNodeProvisionTime) || self.maxNodeProvisionTime == oldSelf.maxNodeProvisionTime || duration(self.maxNodeProvisionTime) == duration(oldSelf.maxNodeProvisionTime))",fieldPath=".maxNodeProvisionTime",message="a claim records one request: maxNodeProvisionTime cannot change"
// +kubebuilder:validation:XValidation:rule="self.?ttlSecondsAfterFinished == oldSelf.?ttlSecondsAfterFinished",fieldPath=".ttlSecondsAfterFinished",message="a claim records one request: ttlSecondsAfterFinished cannot change"
// +kubebuilder:validation:XValidation:rule="self.?episode.orValue(0) == oldSelf.?episode.orValue(0)",fieldPath=".episode",message="an episode's number is given once, when the claim is made"
type NodeClaimSpec struct {
	// The slot this claim asks for, by name. Only name is read; namespace, if set, must be the claim's own. Cannot change.
	// +kubebuilder:validation:XValidation:rule="has(self.name) && self.name != ''",fieldPath=".name",message="the slot's name is required",reason=FieldValueRequired
	// +kubebuilder:validation:XValidation:rule="(has(self.name) ? self.name : '') == (has(oldSelf.name) ? oldSelf.name : '')",fieldPath=".name",message="a claim asks for one slot: slotRef cannot change"
	// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || self.?name.orValue('') == '' || self.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",fieldPath=".name",message="must be the name of a slot: lower-case letters, digits, '-' and '.', such as worker-01",optionalOldSelf=true
	SlotRef corev1.ObjectReference `json:"slotRef"`
	// Which call asked for the machine, for which group, with which arguments. Only a DeleteNodes may be recorded later: call
	// becomes DeleteNodes and nodes what it named. From that write on the machine is not wanted and not counted any more.
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.group) || has(self.group) && self.group == oldSelf.group",fieldPath=".group",message="a claim records one request: group cannot change"
	// +kubebuilder:validation:XValidation:rule="self.?delta.orValue(0) == oldSelf.?delta.orValue(0)",fieldPath=".delta",message="a claim records one request: delta cannot change"
	// +kubebuilder:validation:XValidation:rule="!has(oldSelf.call) || has(self.call) && (self.call == oldSelf.call || self.call == 'DeleteNodes')",fieldPath=".call",message="only a DeleteNodes can be recorded on a claim"
	// +kubebuilder:validation:XValidation:rule="has(self.call) && self.call == 'DeleteNodes' || (has(self.nodes) ? self.nodes : []) == (has(oldSelf.nodes) ? oldSelf.nodes : [])",fieldPath=".nodes",message="nodes can change only together with the record of a DeleteNodes"
	// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || !has(self.group) || self.group.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",fieldPath=".group",message="must be the name of a Group: lower-case letters, digits, '-' and '.', such as worker-nodes",optionalOldSelf=true
	Request ClaimRequest `json:"request"`
	// When the machine was asked for. The boot budget is counted from it, or from the claim's creation where that is earlier.
	// Written by the provider. Default: the claim's creation.
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// Who asked, in free text for people: cluster-autoscaler, or your name. Never parsed. Default: the name of the user who
	// made the claim, where the webhook runs.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// Until when the machine must be through the readiness gate; after it the claim fails with DeadlineExceeded and what was
	// started is switched off. It bounds the boot, not the machine's life: the operator clears it when the claim is ready,
	// and nobody can set it again. Default: requestedAt plus the group's effective budget, enforced also where it is absent.
	// +optional
	DeadlineAt *metav1.Time `json:"deadlineAt,omitempty"`
	// The group's maxNodeProvisionTime when the claim was made. Where deadlineAt is absent, or counts anew from the end of a
	// hold, the time that a boot has is this, or the sum of the group's timeouts where that is longer; a change of the group
	// does not reach a claim. Written by the provider. Default: none, which leaves it to the group.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	// Seconds for which the claim is kept for reading after it failed or completed. It is never collected before the slot's
	// digest is saved and its machine is dealt with. Default 3600.
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// The number of this episode of the slot, from which the provider derives the claim's name: of two providers that race
	// for a slot, only one can create it. Cannot change. Leave it out of a claim made by hand.
	// +kubebuilder:validation:Minimum=0
	// +optional
	Episode int64 `json:"episode,omitempty"`
}

// ClaimRequest says which call asked, for which group, with which arguments.
type ClaimRequest struct {
	// The entry point. A claim starts as IncreaseSize, which people use as well, or as Create for other engines and for
	// adoption. DeleteNodes marks the claim: its machine is to be switched off. DecreaseTargetSize and Delete appear where
	// the end of a claim is recorded.
	Call Call `json:"call"`
	// The Group the request was for. It governs the slot until the claim ends, even if the slot's label changes meanwhile.
	// The claim carries it as the label "group" as well.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Group string `json:"group"`
	// By how much the call changed the size of the group: how many machines an IncreaseSize asked for in one breath, of which
	// this claim is one. Negative for a decrease. Default 0, which means that it was not said.
	// +optional
	Delta int32 `json:"delta,omitempty"`
	// The kubeNodes, or provider ids, that a DeleteNodes named. Default: none.
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`
}

// ClaimOrigin is who asked first. A later DeleteNodes overwrites spec.request.call, so the operator keeps it here.
type ClaimOrigin struct {
	// The entry point that made the claim.
	Call Call `json:"call"`
	// The Group that was asked for.
	Group string `json:"group"`
	// By how much the first call changed the size of the group; 0 when it did not say.
	// +optional
	Delta int32 `json:"delta,omitempty"`
}

// ClaimEnd is which call ended a claim, and by whom.
type ClaimEnd struct {
	// The entry point that ended the claim: DecreaseTargetSize, DeleteNodes, or Delete for kubectl delete and other engines.
	Call Call `json:"call"`
	// The kubeNodes, or provider ids, that a DeleteNodes named.
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// Who made the call, in free text, where that is known.
	// +optional
	By string `json:"by,omitempty"`
}

// JobRecord is what is remembered of one lifecycle Job. It outlives the Job, and is written before the Job is created, so
// that a restarted operator neither forgets a Job nor runs one twice.
type JobRecord struct {
	// Whether the Job switches the machine on (Startup) or off (Shutdown).
	Operation Operation `json:"operation"`
	// The number of the Job among those of its operation and claim, counting from 1. It only ever grows, unlike
	// shutdownAttempts, and is part of the Job's name.
	N int32 `json:"n"`
	// The Job's object name: <claim>-up-<n> or <claim>-down-<n>.
	Name string `json:"name"`
	// The UID of the Job. Absent until the Job has been seen; a Job of the same name with another UID is not this one.
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// When the Job was created.
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// When a container of the Job was seen to have run. Absent: it never ran, so it proves nothing and counts as no attempt.
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// When the Job ended.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// How the Job ended: Succeeded, Failed, TimedOut, NeverStarted (no container ran), or Unknown (the Job vanished before
	// its end was read). Absent until then.
	// +optional
	Outcome JobOutcome `json:"outcome,omitempty"`
	// What the container's process returned; 0 means that the command ran, not that the power changed.
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// The last line of the container's output, or why there was no container.
	// +optional
	Message string `json:"message,omitempty"`
}

// NodeClaimStatus is how the request goes and how it ended. The slot controller is its only writer; the provider adds
// endedBy to a failed claim.
type NodeClaimStatus struct {
	// Where the claim is in its life. pending: nothing has been started, and the request can be taken back; an absent phase
	// means the same. booting: the machine has been bought, and from here on can only be reversed. ready: it is up, joined
	// and through the readiness gate. failed and completed are ends: it never became usable or was lost; or it was ended on
	// purpose.
	// +optional
	Phase ClaimPhase `json:"phase,omitempty"`
	// Which boot in a row of this slot the claim is: 1 after a boot that became ready, one more after each that did not.
	// Counted when the boot starts, so a cancelled claim has none; a startup Job that never ran is taken back out.
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// How many shutdown Jobs of the present streak started while the machine still showed life. At 3 there is a pause of 30m.
	// To go on at once, patch it to 0 in the status subresource.
	// +optional
	ShutdownAttempts int32 `json:"shutdownAttempts,omitempty"`
	// When the newest of those attempts was counted; the pause runs from here.
	// +optional
	LastShutdownAttemptAt *metav1.Time `json:"lastShutdownAttemptAt,omitempty"`
	// Why the claim ended, in one word: DeadlineExceeded, StartupJobFailed, StartupJobTimeout, ReadinessGateTimeout,
	// AttemptLimitExceeded, MachineGone, Superseded, SlotDeleted, StuckTransition, CancelledByDecreaseTargetSize, NodeDeleted
	// or DeletedByHand. Before the end, ShutdownJobFailed or ShutdownJobTimeout while a shutdown is tried again.
	// +optional
	Reason ClaimReason `json:"reason,omitempty"`
	// The numbers behind reason, or what a claim is waiting for, in a sentence for people.
	// +optional
	Message string `json:"message,omitempty"`
	// Who asked first, kept because the record of a DeleteNodes overwrites spec.request. Written with the first status.
	// +optional
	CreatedBy *ClaimOrigin `json:"createdBy,omitempty"`
	// Which call ended the claim, written when its mark or deletion is first seen. On a failed claim the provider writes it
	// when cluster-autoscaler takes the errored instance back.
	// +optional
	EndedBy *ClaimEnd `json:"endedBy,omitempty"`
	// When the machine was through the gate; absent if it never was.
	// +optional
	ReadyAt *metav1.Time `json:"readyAt,omitempty"`
	// When the claim reached failed or completed. Its time to live is counted from here.
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// The kubeNode that the machine registered as in this boot; absent before.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// The providerID that this kubeNode carries, under which cluster-autoscaler knows the machine.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// The lifecycle Jobs of this claim, oldest first.
	// +listType=atomic
	// +optional
	Jobs []JobRecord `json:"jobs,omitempty"`
	// The generation of the spec that the rest of this status was computed from.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// The state of the claim as standard conditions: MachineCommitted, Launched, Registered, Initialized, Ready, Drained,
	// MachineObservedOff. Each is there once its question can be asked, and they stay readable after the end.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeClaim is one request for one machine: who asked, with which call, until when, which attempt, how it ended. A machine
// is wanted exactly while a live, unmarked claim names its slot: to wake one by hand, create a claim; to give it back,
// delete the claim, and the machine is drained and switched off before the object goes.
//
// cluster-autoscaler's claims are made by the gRPC provider. A slot has one live claim; of two, the newer wins.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=nc,categories=homelab-autoscaler
// +kubebuilder:printcolumn:name="Slot",type=string,JSONPath=`.spec.slotRef.name`,description="Slot the claim asks for"
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.spec.request.group`,description="Group the request was for"
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.phase`,description="Where the claim is in its life; empty means pending"
// +kubebuilder:printcolumn:name="Attempt",type=integer,JSONPath=`.status.attempt`,description="Which boot in a row of the slot"
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.reason`,description="Why the claim ended"
// +kubebuilder:printcolumn:name="Requested-By",type=string,JSONPath=`.spec.requestedBy`,description="Who asked"
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Deadline",type=string,JSONPath=`.spec.deadlineAt`,priority=1,description="Until when the boot must be through the gate"
// +kubebuilder:printcolumn:name="Call",type=string,JSONPath=`.spec.request.call`,priority=1,description="Call that asked, or DeleteNodes once marked"
// +kubebuilder:printcolumn:name="Ready-At",type=string,JSONPath=`.status.readyAt`,priority=1,description="When the machine was through the gate"
// +kubebuilder:printcolumn:name="Finished",type=string,JSONPath=`.status.finishedAt`,priority=1,description="When the claim ended"
// +kubebuilder:validation:XValidation:rule="oldSelf.hasValue() || size(self.metadata.name) <= 51",fieldPath=".metadata",message="metadata.name starts the names of its Jobs, which are label values: at most 51 characters",optionalOldSelf=true
// +kubebuilder:validation:XValidation:rule="has(self.spec) || oldSelf.hasValue() && !has(oldSelf.value().spec)",fieldPath=".spec",message="a claim needs a spec: the slot it asks for in slotRef, and the request",reason=FieldValueRequired,optionalOldSelf=true
type NodeClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   NodeClaimSpec   `json:"spec,omitempty"`
	Status NodeClaimStatus `json:"status,omitempty"`
}

// NodeClaimList is a list of claims.
//
// +kubebuilder:object:root=true
type NodeClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NodeClaim `json:"items"`
}
