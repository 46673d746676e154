package slot

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
)

// collect repairs what a crash, a restore or a hand left incomplete, and takes away what has ended: claims whose time
// to live is over, Jobs whose claim is gone, finalizers that guard nothing.
func collect(r *run) {
	for _, c := range r.claims {
		r.repair(c)
		r.expire(c)
	}
	if r.in.Slot == nil {
		return
	}
	r.orphanJobs()
	r.slotFinalizer()
}

func (r *run) repair(c *claim) {
	if facts.Terminal(c.NodeClaim) {
		if c.Status.FinishedAt == nil {
			c.Status.FinishedAt = &r.now
		}
		if !facts.OwesReversal(c.NodeClaim, r.in.Slot) {
			r.dropFinalizer(c)
		}
		return
	}
	if r.in.Slot == nil || r.in.NamespaceTerminating || !facts.Committed(c.NodeClaim) {
		return
	}
	r.commitFinalizer(c)
	if c.Status.Phase == v2.ClaimReady && c.Spec.DeadlineAt != nil {
		// The boot window is over: a deadline that still stands would read as an overdue attempt.
		r.remove(ClearDeadline{Claim: c.seen})
	}
}

// expire deletes an ended claim after its time to live. Its digest is on the slot by then: the slot's status is written
// before any removal.
func (r *run) expire(c *claim) {
	if !facts.Terminal(c.NodeClaim) || c.DeletionTimestamp != nil || facts.HasFinalizer(c.NodeClaim) {
		return
	}
	ttl := r.policy.ClaimTTL
	if own := c.Spec.TTLSecondsAfterFinished; own != nil {
		ttl = time.Duration(*own) * time.Second
	}
	if r.passed(c.Status.FinishedAt.Add(ttl)) {
		r.remove(DeleteClaim{Claim: c.seen})
	}
}

// orphanJobs ends lifecycle Jobs that serve nobody: their claim is gone, or has ended and owes nothing, or they are of
// an unclaimed period that is over. An unfinished one is deleted; one that has ended gets its time to live, which nobody
// else would give it. A Job with two owners outlives its claim, so no garbage collector does this.
func (r *run) orphanJobs() {
	for i := range r.in.Jobs {
		j := &r.in.Jobs[i]
		ended := facts.JobFinished(j.Job)
		controller := metav1.GetControllerOf(j)
		if controller == nil || j.DeletionTimestamp != nil || ended && j.Spec.TTLSecondsAfterFinished != nil || !r.orphaned(j, controller, ended) {
			continue
		}
		switch {
		case ended:
			r.act(SetJobTTL{Name: j.Name, UID: j.UID, Seconds: job.TTL(r.in.Slot, operationOf(j))})
		case !slices.Contains(r.d.Actions, Action(DeleteJob{Name: j.Name, UID: j.UID})):
			r.deleteJob(j)
		}
	}
}

// orphaned is whether nobody keeps a record of the Job any more.
func (r *run) orphaned(j *Job, controller *metav1.OwnerReference, ended bool) bool {
	if r.inherited(j) {
		return false
	}
	if controller.Kind != "NodeClaim" {
		return r.slot.Unclaimed == nil || !slices.ContainsFunc(r.slot.Unclaimed.Jobs, func(record v2.JobRecord) bool { return record.Name == j.Name })
	}
	i := slices.IndexFunc(r.claims, func(c *claim) bool { return c.UID == controller.UID })
	if i < 0 {
		r.assume(Absence{Kind: KindClaim, Name: controller.Name, UID: controller.UID})
		return true
	}
	return !ended && facts.Terminal(r.claims[i].NodeClaim) && !facts.OwesReversal(r.claims[i].NodeClaim, r.in.Slot)
}

func operationOf(j *Job) v2.Operation {
	if j.Labels[v2.LabelOperation] == job.OperationLabel(v2.OperationStartup) {
		return v2.OperationStartup
	}
	return v2.OperationShutdown
}

// inherited is whether a live claim took the Job over from a superseded one.
func (r *run) inherited(j *Job) bool {
	owner := r.owner()
	return owner != nil && slices.ContainsFunc(owner.Status.Jobs, func(record v2.JobRecord) bool { return record.UID == j.UID })
}

// slotFinalizer keeps the slot exactly while a machine must be switched off with its spec.
func (r *run) slotFinalizer() {
	needed := r.unclaimedOwed() || slices.ContainsFunc(r.claims, func(c *claim) bool {
		return facts.Live(c.NodeClaim) && facts.Committed(c.NodeClaim) || facts.OwesReversal(c.NodeClaim, r.in.Slot)
	})
	needed = needed && !r.in.NamespaceTerminating
	has := slices.Contains(r.in.Slot.Finalizers, v2.FinalizerSlot)
	switch {
	case needed && !has:
		r.commitSlotFinalizer()
	case !needed && has:
		r.remove(DropFinalizer{Slot: r.in.Slot})
	}
}
