package v2alpha1

// Labels, annotations, finalizers and taints of ours.
const (
	// LabelGroup on a slot or a claim names its Group.
	LabelGroup = "group"
	// LabelNode on a claim, Job or kubeNode names the slot.
	LabelNode = "infra.homecluster.dev/node"
	// LabelKubeNodeGroup on a kubeNode names the Group it was stamped for.
	LabelKubeNodeGroup = "infra.homecluster.dev/group"
	// LabelNamespace on a kubeNode names the namespace of its slot.
	LabelNamespace = "infra.homecluster.dev/namespace"
	// LabelNodeClaim on a lifecycle Job names the claim it serves.
	LabelNodeClaim = "infra.homecluster.dev/nodeclaim"
	// LabelOperation on a lifecycle Job is startup or shutdown.
	LabelOperation = "infra.homecluster.dev/operation"
	// LabelAttempt on a lifecycle Job is the claim's attempt.
	LabelAttempt = "infra.homecluster.dev/attempt"

	// AnnotationHold on a slot stops every power operation: "<who and why>".
	AnnotationHold = "infra.homecluster.dev/hold"
	// AnnotationHoldUntil on a slot ends the hold at an RFC 3339 time; unreadable means held.
	AnnotationHoldUntil = "infra.homecluster.dev/hold-until"
	// AnnotationCordoned on a kubeNode marks a cordon as ours.
	AnnotationCordoned = "infra.homecluster.dev/cordoned-by"
	// AnnotationHeld on a kubeNode marks as ours what keeps cluster-autoscaler from giving it back while its slot is held.
	AnnotationHeld = "infra.homecluster.dev/held-by"
	// AnnotationCallID on a claim carries the id of the provider call that made it.
	AnnotationCallID = "infra.homecluster.dev/call-id"

	// FinalizerNodeClaim is on a claim from booting on, until its machine is reversed or released.
	FinalizerNodeClaim = "infra.homecluster.dev/nodeclaim-finalizer"
	// FinalizerSlot is on a slot while it has a committed machine.
	FinalizerSlot = "infra.homecluster.dev/slot-finalizer"

	// ProviderIDPrefix followed by the slot's name is the providerID a kubeNode gets when it has none.
	ProviderIDPrefix = "homelab://"
)
