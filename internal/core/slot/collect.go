package slot

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
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

// orphanJobs deletes unfinished lifecycle Jobs that serve nobody: their claim is gone, or has ended and owes nothing. A
// Job with two owners outlives its claim, so no garbage collector does this.
func (r *run) orphanJobs() {
	for _, j := range r.unfinished() {
		controller := metav1.GetControllerOf(j)
		if controller == nil || controller.Kind != "NodeClaim" || j.DeletionTimestamp != nil {
			continue
		}
		i := slices.IndexFunc(r.claims, func(c *claim) bool { return c.UID == controller.UID })
		switch {
		case i < 0 && r.inherited(j):
			continue
		case i < 0:
			r.assume(Absence{Kind: KindClaim, Name: controller.Name, UID: controller.UID})
		case facts.Live(r.claims[i].NodeClaim), facts.OwesReversal(r.claims[i].NodeClaim, r.in.Slot), r.inherited(j):
			continue
		}
		if !slices.Contains(r.d.Actions, Action(DeleteJob{Name: j.Name, UID: j.UID})) {
			r.deleteJob(j)
		}
	}
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
