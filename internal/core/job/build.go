package job

import (
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// containerName is the name of the only container of a lifecycle Job.
const containerName = "power"

// Params says which Job to build.
type Params struct {
	// Slot is the machine to act on.
	Slot *v2.Node
	// Claim is whom the Job is for; nil for an unclaimed machine, whose Jobs the slot owns.
	Claim *v2.NodeClaim
	// Prefix is the first part of the Job's name: the claim's name, or UnclaimedPrefix.
	Prefix    string
	Operation v2.Operation
	// N counts the Jobs of this operation from 1.
	N int32
	// Policy gives the Job's time.
	Policy policy.Policy
	// AlwaysOn is whether a node exists that no slot names: then the pod must run there, else it only should.
	AlwaysOn bool
}

// Build makes the Job. It runs at most one pod, at most once, away from the machine it acts on, without an API token.
func Build(p Params) *batchv1.Job {
	timeout := p.Policy.StartupJob
	if p.Operation == v2.OperationShutdown {
		timeout = p.Policy.ShutdownJob
	}
	labels := p.labels()
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Name:            Name(p.Prefix, p.Operation, p.N),
			Namespace:       p.Slot.Namespace,
			Labels:          labels,
			OwnerReferences: p.owners(),
		},
		Spec: batchv1.JobSpec{
			Parallelism:           ptr.To[int32](1),
			Completions:           ptr.To[int32](1),
			BackoffLimit:          ptr.To[int32](0),
			ActiveDeadlineSeconds: ptr.To(max(1, int64(timeout/time.Second))),
			// A pod that is going away still works the switch: its successor waits until it has really ended.
			PodReplacementPolicy: ptr.To(batchv1.Failed),
			// A node drain is not the machine's fault, so it does not spend the only try.
			PodFailurePolicy: &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
				Action: batchv1.PodFailurePolicyActionIgnore,
				OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue,
				}},
			}}},
			// No ttlSecondsAfterFinished yet: it is set once the outcome has been saved.
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{
					Labels:      labels,
					Annotations: map[string]string{"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"},
				},
				Spec: podSpec(PodSpec(p.Slot, p.Operation, p.Policy), p),
			},
		},
	}
}

// TTL is the ttlSecondsAfterFinished that the slot asks for on Jobs of an operation (600 when it does not say).
func TTL(slot *v2.Node, op v2.Operation) int32 {
	spec := slot.Spec.StartupPodSpec
	if op == v2.OperationShutdown {
		spec = slot.Spec.ShutdownPodSpec
	}
	return ptr.Deref(spec.TTLSecondsAfterFinished, defaultTTLSeconds)
}

// defaultTTLSeconds keeps a finished Job for ten minutes: long enough to read its pod's log after an alert.
const defaultTTLSeconds = 600

func (p Params) labels() map[string]string {
	labels := map[string]string{
		v2.LabelNode:      p.Slot.Name,
		v2.LabelOperation: OperationLabel(p.Operation),
	}
	if group := p.Slot.Labels[v2.LabelGroup]; group != "" {
		labels[v2.LabelGroup] = group
	}
	if p.Claim != nil {
		labels[v2.LabelNodeClaim] = p.Claim.Name
		labels[v2.LabelAttempt] = strconv.Itoa(int(p.Claim.Status.Attempt))
		if p.Claim.Spec.Request.Group != "" {
			labels[v2.LabelGroup] = p.Claim.Spec.Request.Group
		}
	}
	return labels
}

// OperationLabel is the value of the operation label on a Job and its pod: startup or shutdown.
func OperationLabel(op v2.Operation) string {
	if op == v2.OperationStartup {
		return "startup"
	}
	return "shutdown"
}

// owners makes the claim the controller and the slot a second owner, so that the Job can be found from both. The Job of
// an unclaimed machine has only the slot.
func (p Params) owners() []metav1.OwnerReference {
	slot := metav1.OwnerReference{
		APIVersion: v2.GroupVersion.String(), Kind: "Node", Name: p.Slot.Name, UID: p.Slot.UID,
	}
	if p.Claim == nil {
		slot.Controller = ptr.To(true)
		return []metav1.OwnerReference{slot}
	}
	return []metav1.OwnerReference{{
		APIVersion: v2.GroupVersion.String(), Kind: "NodeClaim", Name: p.Claim.Name, UID: p.Claim.UID, Controller: ptr.To(true),
	}, slot}
}
