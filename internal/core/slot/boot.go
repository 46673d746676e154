package slot

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
)

// boot switches a wanted machine on. Committing to a boot is one decision: finalizers, phase, attempt and the record of
// the startup Job are saved before the Job is made.
func boot(r *run) {
	c := r.wanted()
	if c == nil || r.in.Slot == nil || r.in.NamespaceTerminating {
		return
	}
	switch facts.Phase(c.NodeClaim) {
	case v2.ClaimPending:
		joins := r.kubeletOn && !r.owed() && !r.goingDown()
		if !r.frozen && !joins && !r.bootWaits(c) {
			r.startBoot(c)
		}
	case v2.ClaimBooting:
		if !r.frozen {
			r.repairBoot(c)
		}
	}
}

// bootWaits is whether the boot must wait, or the claim has just failed: a hold, a machine on its way down, an
// unfinished Job, or a slot that is cooling off.
func (r *run) bootWaits(c *claim) bool {
	switch {
	case r.hold.Held:
		r.deferBoot(c, "Held", "held: "+r.hold.Why)
	case r.owed():
		r.deferBoot(c, "SlotBusy", "the machine is still being switched off for an earlier request")
	case len(r.unfinished()) > 0:
		r.deferBoot(c, "SlotBusy", "lifecycle Job "+r.unfinished()[0].Name+" has not ended")
		r.clearJobs(v2.OperationStartup)
	default:
		return r.coolingOff(c)
	}
	return true
}

func (r *run) deferBoot(c *claim, reason, message string) {
	told := conditionReason(c.Status.Conditions, v2.ConditionLaunched) == reason
	r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionFalse, reason, message)
	if !told {
		r.noteSlot(c, false, v2.EventScaleUpDeferred, message)
	}
}

// coolingOff fails a claim on a slot that is cooling off. The provider does not offer such a slot, so it is a hand's.
func (r *run) coolingOff(c *claim) bool {
	digest := r.digestBefore(c)
	until := facts.CoolingOffUntil(digest, r.policy, r.in.Now)
	if until.IsZero() {
		return false
	}
	r.fail(c, v2.ReasonAttemptLimitExceeded, fmt.Sprintf(
		"%d boots in a row failed, the last with %s; the slot cools off until %s; to try now, patch status.lastClaim.attempt of slot %s to 0",
		digest.Attempt, digest.Reason, instant(until), r.in.Name))
	return true
}

func (r *run) startBoot(c *claim) {
	if r.in.KubeNode == nil {
		r.assume(Absence{Kind: KindKubeNode, Name: r.in.Slot.Spec.KubernetesNodeName})
	}
	r.commitFinalizer(c)
	r.commitSlotFinalizer()
	c.Status.Attempt = facts.Streak(r.digestBefore(c)) + 1
	created := r.newJob(c, v2.OperationStartup, 1, c.Name)
	c.Status.Jobs = addRecord(c.Status.Jobs, created.record)
	message := fmt.Sprintf("startup Job %s (attempt %d); committed, no longer cancelable", created.record.Name, c.Status.Attempt)
	r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionFalse, "StartupJobCreated", "startup Job "+created.record.Name+" has not ended")
	r.move(c, v2.ClaimBooting, "", message)
	r.act(created.action)
	r.noteClaim(c, false, v2.EventClaimBooting, message)
	r.noteSlot(c, false, v2.EventScaleUpRequested, fmt.Sprintf("switching the machine on with Job %s for claim %s", created.record.Name, c.Name))
}

// repairBoot makes the startup Job whose record was saved by a manager that did not live to create it, and that of a claim
// which took over from one whose Job was never made.
func (r *run) repairBoot(c *claim) {
	record := facts.LastJob(c.Status.Jobs, v2.OperationStartup)
	made := record != nil && (record.UID != "" || record.Outcome != "") || record == nil && (r.kubeletOn || registered(c))
	if made || r.hold.Held || !r.noneUnfinished() {
		return
	}
	if record != nil {
		r.createAgain(c, record, c.Name)
		return
	}
	created := r.newJob(c, v2.OperationStartup, 1, c.Name)
	c.Status.Jobs = addRecord(c.Status.Jobs, created.record)
	r.act(created.action)
}

// createAgain makes the Job of a record that was saved and whose Job was never seen. Where another owner's Job has the
// name by now, the record takes the next.
func (r *run) createAgain(c *claim, record *v2.JobRecord, prefix string) {
	created := r.newJob(c, record.Operation, record.N, prefix)
	record.N, record.Name = created.record.N, created.record.Name
	r.act(created.action)
}

// newJob is a lifecycle Job with its record, which is saved before the Job is created.
type newJob struct {
	record v2.JobRecord
	action CreateJob
}

// Its number is n, or the next whose name is free: a claim that was made again under its old name finds the Jobs of the
// former one, which outlive it by their time to live.
func (r *run) newJob(c *claim, op v2.Operation, n int32, prefix string) newJob {
	for r.taken(job.Name(prefix, op, n)) {
		n++
	}
	params := job.Params{
		Slot: r.in.Slot, Prefix: prefix, Operation: op, N: n, Policy: r.policy, AlwaysOn: r.in.AlwaysOn,
	}
	if c != nil {
		params.Claim = c.NodeClaim
	}
	return newJob{
		record: v2.JobRecord{Operation: op, N: n, Name: job.Name(prefix, op, n), CreatedAt: &r.now},
		action: CreateJob{Job: job.Build(params)},
	}
}

// taken is whether there is a Job of that name.
func (r *run) taken(name string) bool {
	return slices.ContainsFunc(r.in.Jobs, func(j Job) bool { return j.Name == name })
}

// commitSlotFinalizer keeps the slot while it has a machine that must be switched off with it.
func (r *run) commitSlotFinalizer() {
	if r.in.Slot.DeletionTimestamp == nil && !slices.Contains(r.in.Slot.Finalizers, v2.FinalizerSlot) &&
		!slices.ContainsFunc(r.d.Finalizers, func(f AddFinalizer) bool { return f.Slot != nil }) {
		r.d.Finalizers = append(r.d.Finalizers, AddFinalizer{Slot: r.in.Slot})
	}
}
