package slot

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// shutdown runs the reversal's Jobs: one at a time, the next no sooner than the settle time after the former ended, at
// most a streak of them, then a pause (the machine shows life) or the assumption that it is off (it does not).
func (r *run) shutdown(v *reversal) *offBelief {
	last := facts.LastJob(*v.jobs, v2.OperationShutdown)
	switch {
	case last == nil:
		if r.noneUnfinished() { // an earlier reversal's Job may still be going away
			r.newShutdown(v, 1)
		}
		return nil
	case last.Outcome == "" && last.UID == "":
		if r.noneUnfinished() {
			r.createAgain(v.claim, last, v.prefix)
		}
		return nil
	case last.Outcome == "":
		r.shutdownOverdue(last)
		return nil
	}
	r.complain(v, last)
	if !r.passed(last.FinishedAt.Add(r.policy.ShutdownSettle)) || r.settling(v) || !r.noneUnfinished() {
		return nil
	}
	if last.Outcome == v2.JobSucceeded && r.kubeletOn && v.claim != nil && *v.attempts <= r.policy.MaxShutdownAttempts {
		r.notObserved(v, last)
	}
	if *v.attempts < r.policy.MaxShutdownAttempts && !r.slotRounds(last) {
		r.newShutdown(v, last.N+1)
		return nil
	}
	return r.attemptsSpent(v, last)
}

// settling is whether the machine fell silent after a shutdown Job started: it is about to be believed off, and another
// Job would only be in the way.
func (r *run) settling(v *reversal) bool {
	first := firstStart(*v.jobs)
	return r.power == facts.Silent && !first.IsZero() && !r.silentSince.Before(first)
}

// attemptsSpent decides what follows a spent streak.
func (r *run) attemptsSpent(v *reversal, last *v2.JobRecord) *offBelief {
	if !r.signOfLife(v) {
		if firstStart(*v.jobs).IsZero() && !r.passed(r.silentSince.Add(r.policy.ShutdownSettle)) {
			return nil // no Job was seen to start, so that this silence has yet to last
		}
		return &offBelief{source: v2.PowerSourceAssumed, assumed: true, why: fmt.Sprintf(
			"assumed off: %d shutdown Jobs brought no sign of life; %s", *v.attempts, describeJob(last))}
	}
	if r.slotRounds(last) {
		return &offBelief{released: true, why: fmt.Sprintf(
			"released: the slot is being deleted and %d shutdown Jobs did not switch the machine off; it may still be on", last.N)}
	}
	spent := r.now
	if *v.lastAttempt != nil {
		spent = **v.lastAttempt
	}
	resumes := r.unheld(spent.Time).Add(r.policy.ShutdownPause)
	if r.passed(resumes) {
		*v.attempts = 0
		r.newShutdown(v, last.N+1)
		return nil
	}
	r.pause(v, last, fmt.Sprintf("%d shutdown Jobs did not switch the machine off; the next comes %s", *v.attempts, instant(resumes)))
	return nil
}

// slotRounds is whether a slot that is being deleted has had its two rounds of attempts.
func (r *run) slotRounds(last *v2.JobRecord) bool {
	return r.in.Slot.DeletionTimestamp != nil && last.N >= 2*r.policy.MaxShutdownAttempts
}

const reasonPaused = "ShutdownPaused"

// pause shows, when the attempts are spent, when they resume, and says of the first time how to resume at once.
func (r *run) pause(v *reversal, last *v2.JobRecord, message string) {
	if v.claim == nil {
		r.slotCondition(v2.ConditionUnclaimedMachine, metav1.ConditionTrue, reasonPaused, message)
		return
	}
	told := conditionReason(v.claim.Status.Conditions, v2.ConditionMachineObservedOff) == reasonPaused
	r.claimCondition(v.claim, v2.ConditionMachineObservedOff, metav1.ConditionFalse, reasonPaused, message)
	if told {
		return
	}
	r.noteClaim(v.claim, true, v2.EventShutdownAttemptLimitReached, fmt.Sprintf(
		`%s; %s; to resume now: kubectl patch nodeclaim %s -n %s --subresource=status --type=merge -p '{"status":{"shutdownAttempts":0}}'`,
		message, describeJob(last), v.claim.Name, r.in.Namespace))
}

// complain shows on a live claim how the last Job went while the reversal goes on. It is not an end.
func (r *run) complain(v *reversal, last *v2.JobRecord) {
	if v.claim == nil {
		return
	}
	if last.Outcome == v2.JobSucceeded || last.Outcome == v2.JobUnknown {
		return
	}
	reason := v2.ReasonShutdownJobTimeout
	if failedEarly(last, r.policy.ShutdownJob) {
		reason = v2.ReasonShutdownJobFailed
	}
	if facts.Live(v.claim.NodeClaim) {
		v.claim.Status.Reason = reason
	}
	v.claim.Status.Message = describeJob(last)
}

// notObserved says that a Job ended well and changed nothing.
func (r *run) notObserved(v *reversal, last *v2.JobRecord) {
	if conditionReason(v.claim.Status.Conditions, v2.ConditionMachineObservedOff) == reasonPaused {
		return
	}
	message := fmt.Sprintf("Job %s succeeded%s, but the machine is still on %s later (attempt %d of %d)",
		last.Name, quoted(last.Message), r.policy.ShutdownSettle, *v.attempts, r.policy.MaxShutdownAttempts)
	r.claimCondition(v.claim, v2.ConditionMachineObservedOff, metav1.ConditionFalse, "StillOn", message)
	r.noteClaim(v.claim, true, v2.EventShutdownNotObserved, message)
}

// shutdownOverdue ends, by our own clock, a shutdown Job that did not end or never got a pod.
func (r *run) shutdownOverdue(record *v2.JobRecord) {
	if !r.passed(record.CreatedAt.Add(r.policy.ShutdownJob + r.policy.PollReserve)) {
		return
	}
	r.giveUpJob(record, r.policy.ShutdownJob)
	r.noneUnfinished()
}

// noneUnfinished deletes every unfinished Job of the slot and reports whether there was none.
func (r *run) noneUnfinished() bool {
	unfinished := r.unfinished()
	for _, j := range unfinished {
		r.deleteJob(j)
	}
	return len(unfinished) == 0
}
