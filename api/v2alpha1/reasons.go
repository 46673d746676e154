package v2alpha1

// ClaimReason is the one-word outcome of a claim.
type ClaimReason string

// The reasons of a claim.
const (
	ReasonDeadlineExceeded              ClaimReason = "DeadlineExceeded"
	ReasonStartupJobFailed              ClaimReason = "StartupJobFailed"
	ReasonStartupJobTimeout             ClaimReason = "StartupJobTimeout"
	ReasonReadinessGateTimeout          ClaimReason = "ReadinessGateTimeout"
	ReasonAttemptLimitExceeded          ClaimReason = "AttemptLimitExceeded"
	ReasonMachineGone                   ClaimReason = "MachineGone"
	ReasonSuperseded                    ClaimReason = "Superseded"
	ReasonSlotDeleted                   ClaimReason = "SlotDeleted"
	ReasonStuckTransition               ClaimReason = "StuckTransition"
	ReasonCancelledByDecreaseTargetSize ClaimReason = "CancelledByDecreaseTargetSize"
	ReasonNodeDeleted                   ClaimReason = "NodeDeleted"
	ReasonDeletedByHand                 ClaimReason = "DeletedByHand"
	ReasonShutdownJobFailed             ClaimReason = "ShutdownJobFailed"
	ReasonShutdownJobTimeout            ClaimReason = "ShutdownJobTimeout"
)

// Condition types of a claim.
const (
	ConditionMachineCommitted   = "MachineCommitted"
	ConditionLaunched           = "Launched"
	ConditionRegistered         = "Registered"
	ConditionInitialized        = "Initialized"
	ConditionReady              = "Ready"
	ConditionDrained            = "Drained"
	ConditionMachineObservedOff = "MachineObservedOff"
)

// Condition types of a slot; Ready is shared by all three kinds.
const (
	ConditionNodeReadinessTaints   = "NodeReadinessTaints"
	ConditionCapacityDrift         = "CapacityDrift"
	ConditionProviderIDMismatch    = "ProviderIDMismatch"
	ConditionCoolingOff            = "CoolingOff"
	ConditionHeld                  = "Held"
	ConditionProtected             = "Protected"
	ConditionUnclaimedMachine      = "UnclaimedMachine"
	ConditionPowerConflict         = "PowerObservationConflict"
	ConditionGroupMissing          = "GroupMissing"
	ConditionGroupChangePending    = "GroupChangePending"
	ConditionMarkedForDeletionByCA = "ClusterAutoscalerMarkedForDeletion"
)

// Condition types of a group.
const (
	ConditionHeterogeneousCapacity = "HeterogeneousCapacity"
	ConditionPowerJobsFailing      = "PowerJobsFailing"
	ConditionBootsHealthy          = "BootsHealthy"
)

// EventAction is the action every event on a claim carries, so that repeats coalesce by (object, type, reason, action).
const EventAction = "nodeclaim"

// Event reasons on a claim.
const (
	EventClaimCreated                = "ClaimCreated"
	EventClaimBooting                = "ClaimBooting"
	EventClaimReady                  = "ClaimReady"
	EventClaimFailed                 = "ClaimFailed"
	EventClaimCancelled              = "ClaimCancelled"
	EventClaimCompleted              = "ClaimCompleted"
	EventClaimSuperseded             = "ClaimSuperseded"
	EventShutdownAttemptLimitReached = "ShutdownAttemptLimitReached"
	EventShutdownNotObserved         = "ShutdownNotObserved"
)

// Event reasons on a slot.
const (
	EventScaleUpRequested     = "ScaleUpRequested"
	EventScaleUpCompleted     = "ScaleUpCompleted"
	EventScaleUpDeferred      = "ScaleUpDeferred"
	EventScaleDownRequested   = "ScaleDownRequested"
	EventScaleDownCompleted   = "ScaleDownCompleted"
	EventScaleDownDeferred    = "ScaleDownDeferred"
	EventReadinessGateTimeout = "ReadinessGateTimeout"
	EventUnclaimedMachine     = "UnclaimedMachine"
	EventMachineAssumedOff    = "MachineAssumedOff"
	EventObservationSuspended = "ObservationSuspended"
	EventStaleScaleDownTaint  = "StaleScaleDownTaint"
	EventCoolingOff           = "CoolingOff"
	EventProviderIDMismatch   = "ProviderIDMismatch"
	EventCapacityDrift        = "CapacityDrift"
)
