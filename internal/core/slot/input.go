// Package slot is the whole decision for one machine: Step reads an Input and answers a Decision.
//
// Pure: no client, no context, no clock, no randomness, no log. controller/slot observes the Input and commits the
// Decision; whoever wants to know why a machine is on or off reads the stages of this package, in the order of Step.
package slot

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Input is everything a decision about one machine depends on, read once. A missing object is nil, never an error.
// Step leaves it alone.
type Input struct {
	// Now is the time of the observation.
	Now time.Time
	// Namespace and Name are the key: the slot's name, whether or not the slot exists.
	Namespace, Name string
	// Slot is the slot, or nil when it is gone. Its status holds the newest reading of the machine's own switch.
	Slot *v2.Node
	// Group is the group that governs the slot now (facts.GroupOf), or nil when it does not exist.
	Group *v2.Group
	// Policy is in force for the slot: policy.For(base, Group).
	Policy policy.Policy
	// Claims are all claims that name the slot, in any order.
	Claims []*v2.NodeClaim
	// Jobs are the lifecycle Jobs of the slot and of its claims, with their pods.
	Jobs []Job
	// KubeNode is the corev1.Node named by the slot's spec, or nil.
	KubeNode *corev1.Node
	// Pods are the pods bound to the kubeNode.
	Pods []*corev1.Pod
	// Budgets are the PodDisruptionBudgets of the namespaces of Pods.
	Budgets []*policyv1.PodDisruptionBudget
	// Protected says why the machine must not be shut down as unclaimed nor adopted; empty when it may.
	Protected string
	// AlwaysOn is whether a Ready, schedulable kubeNode exists that no slot names.
	AlwaysOn bool
	// NamespaceTerminating is whether the namespace of the slot is being deleted.
	NamespaceTerminating bool
}

// Job is a lifecycle Job with its pods.
type Job struct {
	*batchv1.Job
	Pods []*corev1.Pod
	// Complaint is why the Job has no pod, or why its pod has no containers yet, as the cluster's own events say (a quota, an
	// admission, a missing ServiceAccount or Secret); empty when it has them, or nobody complained.
	Complaint string
}
