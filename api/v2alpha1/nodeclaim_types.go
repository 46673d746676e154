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
	CallIncreaseSize       Call = "IncreaseSize"
	CallDecreaseTargetSize Call = "DecreaseTargetSize"
	CallDeleteNodes        Call = "DeleteNodes"
	CallCreate             Call = "Create"
	CallDelete             Call = "Delete"
)

// Operation is what a lifecycle Job does to a machine.
//
// +kubebuilder:validation:Enum=Startup;Shutdown
type Operation string

// The operations.
const (
	OperationStartup  Operation = "Startup"
	OperationShutdown Operation = "Shutdown"
)

// JobOutcome is how a lifecycle Job ended.
//
// +kubebuilder:validation:Enum=Succeeded;Failed;TimedOut;NeverStarted;Unknown
type JobOutcome string

// The outcomes of a lifecycle Job.
const (
	JobSucceeded    JobOutcome = "Succeeded"
	JobFailed       JobOutcome = "Failed"
	JobTimedOut     JobOutcome = "TimedOut"
	JobNeverStarted JobOutcome = "NeverStarted"
	JobUnknown      JobOutcome = "Unknown"
)

// NodeClaimSpec is one request for one machine.
type NodeClaimSpec struct {
	SlotRef corev1.ObjectReference `json:"slotRef"`
	Request ClaimRequest           `json:"request"`
	// +optional
	RequestedAt *metav1.Time `json:"requestedAt,omitempty"`
	// +kubebuilder:validation:MaxLength=256
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
	// +optional
	DeadlineAt *metav1.Time `json:"deadlineAt,omitempty"`
	// +optional
	MaxNodeProvisionTime *metav1.Duration `json:"maxNodeProvisionTime,omitempty"`
	// +kubebuilder:default=3600
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
	// +optional
	Episode int64 `json:"episode,omitempty"`
}

// ClaimRequest says which call asked, for which group, with which arguments.
type ClaimRequest struct {
	Call  Call   `json:"call"`
	Group string `json:"group"`
	// +optional
	Delta int32 `json:"delta,omitempty"`
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`
}

// ClaimOrigin is who asked first. A later DeleteNodes overwrites spec.request.call, so Step keeps it here.
type ClaimOrigin struct {
	Call  Call   `json:"call"`
	Group string `json:"group"`
	// +optional
	Delta int32 `json:"delta,omitempty"`
}

// ClaimEnd is which call ended a claim, and by whom.
type ClaimEnd struct {
	Call Call `json:"call"`
	// +listType=atomic
	// +optional
	Nodes []string `json:"nodes,omitempty"`
	// +optional
	By string `json:"by,omitempty"`
}

// JobRecord is what is remembered of one lifecycle Job.
type JobRecord struct {
	Operation Operation `json:"operation"`
	N         int32     `json:"n"`
	Name      string    `json:"name"`
	// +optional
	UID types.UID `json:"uid,omitempty"`
	// +optional
	CreatedAt *metav1.Time `json:"createdAt,omitempty"`
	// +optional
	StartedAt *metav1.Time `json:"startedAt,omitempty"`
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// +optional
	Outcome JobOutcome `json:"outcome,omitempty"`
	// +optional
	ExitCode *int32 `json:"exitCode,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
}

// NodeClaimStatus is how the request goes and how it ended.
type NodeClaimStatus struct {
	// +optional
	Phase ClaimPhase `json:"phase,omitempty"`
	// +optional
	Attempt int32 `json:"attempt,omitempty"`
	// +optional
	ShutdownAttempts int32 `json:"shutdownAttempts,omitempty"`
	// +optional
	LastShutdownAttemptAt *metav1.Time `json:"lastShutdownAttemptAt,omitempty"`
	// +optional
	Reason ClaimReason `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	CreatedBy *ClaimOrigin `json:"createdBy,omitempty"`
	// +optional
	EndedBy *ClaimEnd `json:"endedBy,omitempty"`
	// +optional
	ReadyAt *metav1.Time `json:"readyAt,omitempty"`
	// +optional
	FinishedAt *metav1.Time `json:"finishedAt,omitempty"`
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// +listType=atomic
	// +optional
	Jobs []JobRecord `json:"jobs,omitempty"`
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// NodeClaim is one request for one machine: who asked, until when, which attempt, how it ended.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:shortName=nc,categories=homelab-autoscaler
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
