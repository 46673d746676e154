package slot

import (
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Decision is what is to be done about one machine. Its fields stand in the order in which commit writes them: intent is
// saved before the act, and nothing is announced that was not saved. Every write carries the UID and resourceVersion of
// the object it was decided on; the first write that is refused ends the commit, and the next observation decides again.
type Decision struct {
	// Assumes are the absences the decision relies on. Each is read again, live, before the first write; if the object
	// is there after all, nothing is written.
	Assumes []Absence
	// Relies is the kubeNode on whose kubelet's word the decision newly says something of the machine: that it is on, ready,
	// lost or off. It is read again, live, before each status is written; if it has changed or is gone, nothing more is
	// written. Nil: nothing is newly said, or there was no kubeNode, which is then among the absences.
	Relies *corev1.Node
	// Brake asks for the manager's MachineGone token before the first write. Refused, nothing is written and the note
	// ObservationSuspended is published instead.
	Brake bool

	// Finalizers are added first: no machine is committed without one.
	Finalizers []AddFinalizer
	// Claims are the claims whose status changes, winner of a hand-over first.
	Claims []ClaimStatus
	// Slot is the slot's new status, or nil when nothing changed.
	Slot *SlotStatus
	// Actions touch Jobs, pods and the kubeNode. A cordon and a power-off Job are never in one Decision.
	Actions []Action
	// Removals come last: what must not be lost before the rest is saved.
	Removals []Removal
	// Notes are published, in order, once everything above has been written.
	Notes []Note

	// Wake is when to decide again though nothing changed; zero: only on a change.
	Wake time.Time
}

// Empty is whether the decision changes nothing.
func (d Decision) Empty() bool {
	return len(d.Finalizers) == 0 && len(d.Claims) == 0 && d.Slot == nil && len(d.Actions) == 0 && len(d.Removals) == 0
}

// Kind names the kinds of object whose absence a decision can rely on.
type Kind string

// The kinds.
const (
	KindSlot     Kind = "slot"
	KindClaim    Kind = "claim"
	KindJob      Kind = "job"
	KindKubeNode Kind = "kubeNode"
)

// Absence is an object that the decision assumes not to exist.
type Absence struct {
	Kind Kind
	Name string
	// UID, if set, narrows the assumption: an object of that name with another UID does not contradict it.
	UID types.UID
}

// ClaimStatus is the complete new status of a claim.
type ClaimStatus struct {
	// Claim is the claim as observed; its UID and resourceVersion are the write's preconditions.
	Claim  *v2.NodeClaim
	Status v2.NodeClaimStatus
}

// SlotStatus is the complete new status of the slot.
type SlotStatus struct {
	// Slot is the slot as observed.
	Slot   *v2.Node
	Status v2.NodeStatus
}

// AddFinalizer puts our finalizer on exactly one of a claim or the slot, as observed.
type AddFinalizer struct {
	Claim *v2.NodeClaim
	Slot  *v2.Node
}

// Action is a write to a Job, a pod or the kubeNode, or the creation of a claim. The set is closed.
type Action interface{ action() }

// CreateJob creates a lifecycle Job. AlreadyExists is success when the Job found has the same controller owner by UID.
type CreateJob struct{ Job *batchv1.Job }

// DeleteJob deletes an unfinished Job, by UID, with its pods.
type DeleteJob struct {
	Name string
	UID  types.UID
}

// SetJobTTL sets ttlSecondsAfterFinished on a Job whose outcome has been saved.
type SetJobTTL struct {
	Name    string
	UID     types.UID
	Seconds int32
}

// PatchKubeNode brings the kubeNode from Before, as observed, to After: labels, annotations, taints, unschedulable and
// providerID.
type PatchKubeNode struct {
	Before, After *corev1.Node
	// Does says in words what the patch is for: "cordon", "uncordon", "strip leftovers", "stamp".
	Does []string
}

// Evict asks the API server to evict a pod, which respects PodDisruptionBudgets. A refusal ends nothing:
// the next observation tries again.
type Evict struct {
	Namespace, Name string
	UID             types.UID
}

// DeleteKubeNode removes the kubeNode of a machine that is believed off, by UID and resourceVersion.
type DeleteKubeNode struct{ KubeNode *corev1.Node }

// CreateClaim adopts a machine that is already on.
type CreateClaim struct{ Claim *v2.NodeClaim }

func (CreateJob) action()      {}
func (DeleteJob) action()      {}
func (SetJobTTL) action()      {}
func (PatchKubeNode) action()  {}
func (Evict) action()          {}
func (DeleteKubeNode) action() {}
func (CreateClaim) action()    {}

// Removal takes something away that protects or bounds. The set is closed.
type Removal interface{ removal() }

// ClearDeadline closes the boot window of a claim that became ready: it clears spec.deadlineAt.
type ClearDeadline struct{ Claim *v2.NodeClaim }

// DeleteClaim deletes a claim: an ended one whose time to live is over, or one that carries a mark without its delete.
type DeleteClaim struct{ Claim *v2.NodeClaim }

// DropFinalizer takes our finalizer off exactly one of a claim or the slot.
type DropFinalizer struct {
	Claim *v2.NodeClaim
	Slot  *v2.Node
}

func (ClearDeadline) removal() {}
func (DeleteClaim) removal()   {}
func (DropFinalizer) removal() {}

// Note is one event. Repeats of the same object, type, reason and action coalesce.
type Note struct {
	// Claim, or else Slot, is the object the event is about.
	Claim *v2.NodeClaim
	Slot  *v2.Node
	// Related is the claim behind an event on the slot; nil when there is none.
	Related *v2.NodeClaim
	// Warning makes the event's type Warning; otherwise it is Normal.
	Warning bool
	// Reason is one of the Event constants of the API.
	Reason string
	// Message carries the numbers.
	Message string
}
