package v2alpha1

// ClaimReason is the one-word outcome of a claim.
type ClaimReason string

// The reasons of a claim. Each says what is true; the claim's phase says how it ended.
const (
	// ReasonDeadlineExceeded is a boot window that passed without a registered machine through the gate. The claim is
	// failed and the boot reversed.
	ReasonDeadlineExceeded ClaimReason = "DeadlineExceeded"
	// ReasonStartupJobFailed is a startup Job that ended badly. The claim is failed and the boot reversed.
	ReasonStartupJobFailed ClaimReason = "StartupJobFailed"
	// ReasonStartupJobTimeout is a startup Job that did not end, or never got a pod, in its time. The claim is failed and
	// the boot reversed, if there was one.
	ReasonStartupJobTimeout ClaimReason = "StartupJobTimeout"
	// ReasonReadinessGateTimeout is a machine that registered and never came through the gate. The claim is failed and the
	// boot reversed.
	ReasonReadinessGateTimeout ClaimReason = "ReadinessGateTimeout"
	// ReasonAttemptLimitExceeded is a claim made by hand on a slot that is cooling off. It is failed; nothing was bought.
	ReasonAttemptLimitExceeded ClaimReason = "AttemptLimitExceeded"
	// ReasonMachineGone is a ready machine that was silent for too long. The claim is failed and owes nothing while the
	// silence lasts.
	ReasonMachineGone ClaimReason = "MachineGone"
	// ReasonSuperseded is a newer live claim that owns the slot now. The claim is failed and owes nothing.
	ReasonSuperseded ClaimReason = "Superseded"
	// ReasonSlotDeleted is a slot that was deleted: completed when the machine was reversed first, failed where that was
	// not possible in bounds or the slot was gone already.
	ReasonSlotDeleted ClaimReason = "SlotDeleted"
	// ReasonStuckTransition is a booting claim that has no deadline and made no progress. It is failed and reversed.
	ReasonStuckTransition ClaimReason = "StuckTransition"
	// ReasonCancelledByDecreaseTargetSize is a pending claim that cluster-autoscaler took back. It is completed, if it is
	// there long enough to say so.
	ReasonCancelledByDecreaseTargetSize ClaimReason = "CancelledByDecreaseTargetSize"
	// ReasonNodeDeleted is a DeleteNodes that named the machine. The claim is completed once it is reversed.
	ReasonNodeDeleted ClaimReason = "NodeDeleted"
	// ReasonDeletedByHand is a claim that a person deleted. It is completed once the machine is reversed.
	ReasonDeletedByHand ClaimReason = "DeletedByHand"
	// ReasonShutdownJobFailed is no end: a shutdown Job of a reversal failed, and the next one follows after a pause.
	ReasonShutdownJobFailed ClaimReason = "ShutdownJobFailed"
	// ReasonShutdownJobTimeout is no end: a shutdown Job of a reversal did not end in its time, and the next one follows.
	ReasonShutdownJobTimeout ClaimReason = "ShutdownJobTimeout"
)

// Condition types of a claim. Each is present once its question can be asked.
const (
	// ConditionMachineCommitted asks whether the claim bought a machine: True from booting on. On an ended claim it says
	// whether there was a machine to clean up, and it is what starts a reversal.
	ConditionMachineCommitted = "MachineCommitted"
	// ConditionLaunched asks whether the startup Job ended well.
	ConditionLaunched = "Launched"
	// ConditionRegistered asks whether the kubelet reported after this boot was committed. A kubeNode from before proves
	// nothing. The gate's clock starts at its transition to True.
	ConditionRegistered = "Registered"
	// ConditionInitialized asks whether the kubeNode is Ready, uncordoned and free of the group's readiness taints.
	ConditionInitialized = "Initialized"
	// ConditionReady asks, on a claim, whether its machine is usable now; on a slot, whether it can serve or is serving a
	// claim; on a group, whether its spec is in force.
	ConditionReady = "Ready"
	// ConditionDrained asks whether the pods left the machine before its shutdown Job, or why it was not drained.
	ConditionDrained = "Drained"
	// ConditionMachineObservedOff asks whether the machine of a ready claim is silent, whose transition is the clock of
	// MachineGone; and, in a reversal, whether the machine is off. Unknown with reason AssumedOff is a shutdown whose
	// attempts are spent without a sign of life.
	ConditionMachineObservedOff = "MachineObservedOff"
)

// Condition types of a slot; Ready is shared by all three kinds.
const (
	// ConditionNodeReadinessTaints asks whether the kubeNode carries readiness taints of the group; the message lists them.
	ConditionNodeReadinessTaints = "NodeReadinessTaints"
	// ConditionCapacityDrift asks whether the kubeNode offers less than spec.nodeCapacity declares.
	ConditionCapacityDrift = "CapacityDrift"
	// ConditionProviderIDMismatch asks whether the kubeNode carries another providerID than the slot expects.
	ConditionProviderIDMismatch = "ProviderIDMismatch"
	// ConditionCoolingOff asks whether failed boots keep the slot from being offered; the message says until when.
	ConditionCoolingOff = "CoolingOff"
	// ConditionHeld asks whether a person stopped every power operation; the message is who and why. Its transition to
	// False restarts the clocks of the slot's claims.
	ConditionHeld = "Held"
	// ConditionProtected asks whether the machine must not be shut down as unclaimed nor adopted, because it is a control
	// plane or no other could run its shutdown Job.
	ConditionProtected = "Protected"
	// ConditionUnclaimedMachine asks whether the machine is on though no claim wants it.
	ConditionUnclaimedMachine = "UnclaimedMachine"
	// ConditionPowerConflict asks whether the kubelet and the machine's power switch have disagreed for two minutes.
	ConditionPowerConflict = "PowerObservationConflict"
	// ConditionGroupMissing asks whether the group that governs the slot does not exist; nothing is powered off for it.
	ConditionGroupMissing = "GroupMissing"
	// ConditionGroupChangePending asks whether the slot's label names another group than its live claim, which counts
	// until it ends.
	ConditionGroupChangePending = "GroupChangePending"
	// ConditionMarkedForDeletionByCA asks whether the kubeNode carries cluster-autoscaler's ToBeDeleted taint.
	ConditionMarkedForDeletionByCA = "ClusterAutoscalerMarkedForDeletion"
)

// Condition types of a group.
const (
	// ConditionHeterogeneousCapacity asks whether slots of the group differ in what they offer, so that
	// cluster-autoscaler has to plan with the least of them.
	ConditionHeterogeneousCapacity = "HeterogeneousCapacity"
	// ConditionPowerJobsFailing asks whether the newest lifecycle Job of any slot never got to run: a fault of the pool,
	// an image or a Secret for example, and of no single machine.
	ConditionPowerJobsFailing = "PowerJobsFailing"
	// ConditionBootsHealthy asks whether the newest boots of the group's slots became ready.
	ConditionBootsHealthy = "BootsHealthy"
)

// EventAction is the action every event on a claim carries, so that repeats coalesce by (object, type, reason, action).
const EventAction = "nodeclaim"

// Event reasons on a claim. Each tells one transition, after it has been saved.
const (
	// EventClaimCreated is our first write to a claim: who asked, with which call, for which group, until when.
	EventClaimCreated = "ClaimCreated"
	// EventClaimBooting is pending to booting: the startup Job, and that the request can no longer be cancelled.
	EventClaimBooting = "ClaimBooting"
	// EventClaimReady is the move to ready: the kubeNode, and the time since requestedAt.
	EventClaimReady = "ClaimReady"
	// EventClaimFailed is the move to failed, Superseded excepted: the reason, the number behind it, and what the Job
	// said last. A Warning.
	EventClaimFailed = "ClaimFailed"
	// EventClaimCancelled is the first sight of a cancel of a live claim: which call, by whom, naming what.
	EventClaimCancelled = "ClaimCancelled"
	// EventClaimCompleted is the move to completed without a cancel behind it: the machine is off, and how long it took.
	EventClaimCompleted = "ClaimCompleted"
	// EventClaimSuperseded is the move to failed because of a newer claim, which it names.
	EventClaimSuperseded = "ClaimSuperseded"
	// EventShutdownAttemptLimitReached is a streak of shutdown attempts that is spent: when it resumes, and the patch
	// that resumes it now. A Warning.
	EventShutdownAttemptLimitReached = "ShutdownAttemptLimitReached"
	// EventShutdownNotObserved is a shutdown Job that ended well on a machine that is still on: attempt n of how many. A
	// Warning.
	EventShutdownNotObserved = "ShutdownNotObserved"
)

// Event reasons on a slot. They tell what happens to the machine; the claim behind it is the event's related object.
const (
	// EventScaleUpRequested is a startup Job that is about to be made.
	EventScaleUpRequested = "ScaleUpRequested"
	// EventScaleUpCompleted is a machine that came through the gate.
	EventScaleUpCompleted = "ScaleUpCompleted"
	// EventScaleUpDeferred is a boot that has to wait: the slot is held, or still busy with what came before.
	EventScaleUpDeferred = "ScaleUpDeferred"
	// EventScaleDownRequested is a reversal that begins, unless of a boot that failed: ClaimFailed has told of that.
	EventScaleDownRequested = "ScaleDownRequested"
	// EventScaleDownCompleted is such a reversal that ended with the machine believed off.
	EventScaleDownCompleted = "ScaleDownCompleted"
	// EventScaleDownDeferred is a reversal that has to wait for the end of a hold.
	EventScaleDownDeferred = "ScaleDownDeferred"
	// EventReadinessGateTimeout is a machine that registered and never came through the gate: what it still lacked.
	EventReadinessGateTimeout = "ReadinessGateTimeout"
	// EventUnclaimedMachine is a machine that was seen on though no claim wants it, and what will be done about it.
	EventUnclaimedMachine = "UnclaimedMachine"
	// EventMachineAssumedOff is a shutdown without evidence: its attempts are spent and the machine shows no sign of life.
	EventMachineAssumedOff = "MachineAssumedOff"
	// EventObservationSuspended is a silence on which nothing is done because other machines fell silent with it.
	EventObservationSuspended = "ObservationSuspended"
	// EventStaleScaleDownTaint is a scale-down taint that has stayed on a ready, unmarked machine for ten minutes.
	EventStaleScaleDownTaint = "StaleScaleDownTaint"
	// EventCoolingOff is a slot that is not offered for a while after failed boots: until when, and how to clear it.
	EventCoolingOff = "CoolingOff"
	// EventProviderIDMismatch is a kubeNode that carries another providerID than the slot expects.
	EventProviderIDMismatch = "ProviderIDMismatch"
	// EventCapacityDrift is a kubeNode that offers less than the slot declares.
	EventCapacityDrift = "CapacityDrift"
)
