package slot

import (
	"cmp"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// deadline ends a boot that ran out of time or whose startup Job ended badly. It bounds pending and booting only: a
// claim that owns a machine is not destroyed by a budget it already spent. A hold stops every clock.
func deadline(r *run) {
	c := r.wanted()
	if c == nil || r.in.Slot == nil || r.in.NamespaceTerminating || r.hold.Held || r.gateOpens {
		return
	}
	switch facts.Phase(c.NodeClaim) {
	case v2.ClaimPending:
		r.pendingDeadline(c)
	case v2.ClaimBooting:
		if r.startupEnded(c) || r.gateTimedOut(c) {
			return
		}
		r.bootingDeadline(c)
	}
}

// budgetOf is the time that the claim's boot has.
func (r *run) budgetOf(c *claim) time.Duration {
	if own := c.Spec.MaxNodeProvisionTime; own != nil {
		return max(r.policy.Budget(), min(own.Duration, policy.Longest))
	}
	return r.policy.EffectiveBudget()
}

// deadlineOf is the end of the claim's boot window: its own deadlineAt, else requestedAt plus its budget. After a hold a
// whole budget counts from the end of the hold.
func (r *run) deadlineOf(c *claim) time.Time {
	budget := r.budgetOf(c)
	requested := facts.RequestedAt(c.NodeClaim)
	deadline := requested.Add(budget)
	if c.Spec.DeadlineAt != nil {
		deadline = c.Spec.DeadlineAt.Time
	}
	if from := r.unheld(requested); from.After(requested) {
		deadline = from.Add(budget)
	}
	return deadline
}

func (r *run) pendingDeadline(c *claim) {
	if r.kubeletOn && !r.passed(r.unheld(c.CreationTimestamp.Time).Add(r.policy.JoinPatience)) {
		return
	}
	if deadline := r.deadlineOf(c); r.passed(deadline) {
		waitedFor := v2.ConditionLaunched
		if r.kubeletOn && !r.owed() {
			waitedFor = v2.ConditionInitialized
		}
		r.fail(c, v2.ReasonDeadlineExceeded,
			joinSentence("nothing was bought before "+instant(deadline), conditionMessage(c.Status.Conditions, waitedFor)))
	}
}

func (r *run) bootingDeadline(c *claim) {
	if c.Spec.DeadlineAt == nil {
		if last := lastProgress(c); r.passed(r.unheld(last).Add(max(r.policy.StuckThreshold, r.budgetOf(c)))) {
			r.fail(c, v2.ReasonStuckTransition, fmt.Sprintf("booting without a deadline and without progress since %s", instant(last)))
		}
		return
	}
	if deadline := r.deadlineOf(c); r.passed(deadline) {
		r.fail(c, v2.ReasonDeadlineExceeded, fmt.Sprintf("%s before %s (requested %s)",
			r.missing(c), instant(deadline), instant(facts.RequestedAt(c.NodeClaim))))
	}
}

// missing says what the boot did not show, and tells a power command that was accepted from one that was not.
func (r *run) missing(c *claim) string {
	if registered(c) {
		return "the machine registered but was not through the readiness gate"
	}
	if last := facts.LastJob(c.Status.Jobs, v2.OperationStartup); last != nil && last.Outcome == v2.JobSucceeded {
		return fmt.Sprintf("startup Job %s succeeded%s, but no kubelet reported as %s (no power, a boot that hangs, or a kubelet "+
			"that is refused, as after its disk was replaced)", last.Name, quoted(last.Message), r.in.Slot.Spec.KubernetesNodeName)
	}
	return "no kubelet reported as " + r.in.Slot.Spec.KubernetesNodeName
}

// gateTimedOut ends a boot that registered long ago and never came through the gate.
func (r *run) gateTimedOut(c *claim) bool {
	at := conditionSince(c.Status.Conditions, v2.ConditionRegistered, metav1.ConditionTrue)
	if at.IsZero() || !r.passed(r.unheld(at).Add(r.policy.ReadinessGate)) {
		return false
	}
	why := "it has gone silent"
	if r.kubeletOn {
		why = joinWaits(r.gateWaits(r.in.KubeNode))
	}
	message := fmt.Sprintf("registered %s, not through the readiness gate within %s: %s", instant(at), r.policy.ReadinessGate, why)
	r.fail(c, v2.ReasonReadinessGateTimeout, message)
	r.noteSlot(c, true, v2.EventReadinessGateTimeout, message)
	return true
}

// startupEnded reads the startup Job's end, and ends a boot whose Job ended badly. A kubelet that reports outranks
// whatever the Job says.
func (r *run) startupEnded(c *claim) bool {
	record := facts.LastJob(c.Status.Jobs, v2.OperationStartup)
	if record == nil {
		return false
	}
	if record.Outcome == "" {
		r.startupOverdue(record)
	}
	switch record.Outcome {
	case "":
		return false
	case v2.JobSucceeded:
		r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionTrue, "StartupJobSucceeded", "startup Job "+record.Name+" succeeded")
		return false
	case v2.JobUnknown:
		r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionUnknown, "StartupJobUnknown", record.Message)
		return false
	}
	reason := v2.ReasonStartupJobTimeout
	if failedEarly(record, r.policy.StartupJob) {
		reason = v2.ReasonStartupJobFailed
	}
	message := describeJob(record)
	r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionFalse, string(reason), message)
	if r.kubeletOn || registered(c) {
		return false
	}
	r.fail(c, reason, message)
	return true
}

// failedEarly is whether a Job failed by itself, with or without its container having run, and not because its time was over.
func failedEarly(record *v2.JobRecord, limit time.Duration) bool {
	return record.Outcome == v2.JobFailed ||
		record.Outcome == v2.JobNeverStarted && record.FinishedAt.Time.Before(record.CreatedAt.Add(limit))
}

// startupOverdue ends, by our own clock, a startup Job that did not end or never got a pod.
func (r *run) startupOverdue(record *v2.JobRecord) {
	if !r.passed(r.unheld(record.CreatedAt.Time).Add(r.policy.StartupJob + r.policy.PollReserve)) {
		return
	}
	r.giveUpJob(record, r.policy.StartupJob)
}

// giveUpJob writes an unfinished Job off in its record; whoever needs it gone deletes it.
func (r *run) giveUpJob(record *v2.JobRecord, limit time.Duration) {
	record.Outcome, record.FinishedAt = v2.JobTimedOut, &r.now
	why := "did not end"
	if record.StartedAt == nil {
		record.Outcome, why = v2.JobNeverStarted, "never got a running pod"
	}
	complaint := r.jobComplaint(record)
	if complaint == noPod {
		complaint = "" // said already
	}
	record.Message = joinSentence(fmt.Sprintf("%s within %s", why, limit), complaint)
}

// jobComplaint is what the Job or its pod says about not running, else what is remembered of it.
func (r *run) jobComplaint(record *v2.JobRecord) string {
	for i := range r.in.Jobs {
		if j := &r.in.Jobs[i]; j.UID == record.UID {
			return cmp.Or(complaint(j), facts.ReadJob(j.Job, j.Pods).Message, record.Message)
		}
	}
	return record.Message
}

func (r *run) fail(c *claim, reason v2.ClaimReason, message string) {
	r.move(c, v2.ClaimFailed, reason, message)
	r.noteClaim(c, true, v2.EventClaimFailed, fmt.Sprintf("%s: %s (attempt %d)", reason, message, c.Status.Attempt))
}

// lastProgress is the newest change of a claim's conditions and Job records.
func lastProgress(c *claim) time.Time {
	last := c.CreationTimestamp.Time
	for _, condition := range c.Status.Conditions {
		last = later(last, &condition.LastTransitionTime)
	}
	for _, record := range c.Status.Jobs {
		for _, at := range []*metav1.Time{record.CreatedAt, record.StartedAt, record.FinishedAt} {
			last = later(last, at)
		}
	}
	return last
}

func later(a time.Time, b *metav1.Time) time.Time {
	if b != nil && b.After(a) {
		return b.Time
	}
	return a
}
