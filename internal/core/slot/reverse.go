package slot

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// reversal is a machine on its way down, whoever it is for: a claim, or nobody (an unclaimed machine).
type reversal struct {
	// claim is nil for an unclaimed machine.
	claim *claim
	// jobs, attempts and lastAttempt are the record that the reversal keeps, on the claim or on the slot.
	jobs        *[]v2.JobRecord
	attempts    *int32
	lastAttempt **metav1.Time
	// prefix names the Jobs.
	prefix string
	// drains is whether pods are evicted first: only from a machine that served.
	drains bool
	// registered is whether this boot's kubelet ever reported.
	registered bool
	// notBefore holds the first Job back while nothing has registered: a shutdown sent into a BIOS proves nothing. It is
	// the end of the boot's window, computed where nobody wrote it on the claim.
	notBefore time.Time
	// drainSince is when draining began; zero: it begins now.
	drainSince time.Time
	// left says which pods the drain left behind when its time was over; empty: none.
	left string
}

// reverse takes down the machine of claims that are no longer wanted: cordon, drain, shutdown Job, off believed or
// assumed, kubeNode removed, finalizer off. The newest owing claim keeps the record; older ones end with it.
func reverse(r *run) {
	owing := r.owing()
	if len(owing) == 0 || r.in.Slot == nil || r.in.NamespaceTerminating {
		return
	}
	c := owing[0]
	r.registerLate(c)
	belief, waits := r.nothingBought(c)
	if belief == nil && !waits {
		belief = r.switchOff(r.claimReversal(c))
	}
	if belief == nil {
		return
	}
	for _, c := range owing {
		r.endReversal(c, belief)
	}
	r.settleOff(belief, owing[0])
}

// registerLate records a kubelet that reports only now that its boot is being reversed: how long the boot took is what
// the budget should have been.
func (r *run) registerLate(c *claim) {
	if r.kubeletOn && !registered(c) && !facts.ReachedReady(c.NodeClaim) {
		r.register(c)
	}
}

func (r *run) claimReversal(c *claim) *reversal {
	return &reversal{
		claim: c, jobs: &c.Status.Jobs, attempts: &c.Status.ShutdownAttempts, lastAttempt: &c.Status.LastShutdownAttemptAt,
		prefix:     c.Name,
		drains:     facts.ReachedReady(c.NodeClaim) && c.Status.Reason != v2.ReasonMachineGone,
		registered: registered(c),
		notBefore:  r.deadlineOf(c),
		drainSince: conditionSince(c.Status.Conditions, v2.ConditionDrained, metav1.ConditionFalse),
	}
}

// nothingBought ends a boot whose startup pod never ran, once its Job and pods are seen gone: there is no machine to
// switch off. It waits while the Job is still going away; neither means that there may be a machine.
func (r *run) nothingBought(c *claim) (belief *offBelief, waits bool) {
	if r.kubeletOn || registered(c) || facts.ReachedReady(c.NodeClaim) || !firstStart(c.Status.Jobs).IsZero() {
		return nil, false
	}
	for i := range c.Status.Jobs {
		record := &c.Status.Jobs[i]
		switch {
		case record.Operation != v2.OperationStartup:
		case record.StartedAt != nil, record.Outcome != "" && record.Outcome != v2.JobNeverStarted:
			return nil, false
		case record.UID == "" && r.taken(record.Name): // by another owner: ours was never made
		case record.UID == "":
			r.assume(Absence{Kind: KindJob, Name: record.Name})
		case record.Outcome == "":
			r.giveUpJob(record, r.in.Now.Sub(record.CreatedAt.Time))
		}
	}
	if !r.clearJobs(v2.OperationShutdown) {
		return nil, true
	}
	return &offBelief{nothingBought: true, why: "the startup Job never ran, so there is no machine to switch off"}, false
}

// switchOff drives the machine one step further down and answers the belief that ends the reversal, or nil.
func (r *run) switchOff(v *reversal) *offBelief {
	r.cameBack(v)
	if belief := r.believedOff(v); belief != nil {
		return belief
	}
	if r.hold.Held {
		r.deferDown(v)
		return nil
	}
	// A power-off Job waits for the next observation: a cordon that was refused must not be followed by a shutdown.
	if r.kubeletOn && r.cordon(v.prefix+" is being switched off") {
		return nil
	}
	if !r.drained(v) || !r.clearJobs(v2.OperationShutdown) {
		return nil
	}
	if !v.registered && !r.kubeletOn && !r.passed(v.notBefore) && !r.early(v) {
		return nil
	}
	return r.shutdown(v)
}

// early is whether a boot that has not registered may be shut down before its window has passed: its switch says on, and one
// Job is not done yet. That it is on record says only that it was about to be made.
func (r *run) early(v *reversal) bool {
	first := facts.LastJob(*v.jobs, v2.OperationShutdown)
	return r.reading.State == v2.PowerOn && (first == nil || first.Outcome == "")
}

// cameBack gives a machine whose kubelet appears during its reversal one fresh streak of attempts: now that it can hear
// them, they may land.
func (r *run) cameBack(v *reversal) {
	if !r.kubeletOn || r.slot.PowerState == v2.PowerOn || firstStart(*v.jobs).IsZero() || *v.attempts == 0 {
		return
	}
	if v.claim == nil {
		if last := facts.LastJob(*v.jobs, v2.OperationShutdown); last != nil && last.N <= r.policy.MaxShutdownAttempts {
			*v.attempts = 0
		}
		return
	}
	if conditionReason(v.claim.Status.Conditions, v2.ConditionMachineObservedOff) == reasonCameBack {
		return
	}
	*v.attempts = 0
	r.claimCondition(v.claim, v2.ConditionMachineObservedOff, metav1.ConditionFalse, reasonCameBack,
		"the kubelet reported during the shutdown: the attempts start afresh")
}

const reasonCameBack = "CameBack"

// deferDown says once that a hold keeps the machine from going down.
func (r *run) deferDown(v *reversal) {
	const reason = "Held"
	message := "held: " + r.hold.Why
	var told bool
	if v.claim == nil {
		told = conditionReason(r.in.Slot.Status.Conditions, v2.ConditionUnclaimedMachine) == reason
		r.slotCondition(v2.ConditionUnclaimedMachine, metav1.ConditionTrue, reason, message)
	} else {
		told = conditionReason(v.claim.Status.Conditions, v2.ConditionMachineObservedOff) == reason
		r.claimCondition(v.claim, v2.ConditionMachineObservedOff, metav1.ConditionFalse, reason, message)
	}
	if !told {
		r.noteSlot(v.claim, false, v2.EventScaleDownDeferred, message)
	}
}

// endReversal ends one claim with the belief. A failed claim stays what it is; a live one completes.
func (r *run) endReversal(c *claim, belief *offBelief) {
	status, reason := metav1.ConditionTrue, "ObservedOff"
	switch {
	case belief.assumed:
		status, reason = metav1.ConditionUnknown, "AssumedOff"
	case belief.released:
		status, reason = metav1.ConditionFalse, "Released"
	case belief.nothingBought:
		reason = "NothingBought"
	}
	r.claimCondition(c, v2.ConditionMachineObservedOff, status, reason, belief.why)
	if facts.Live(c.NodeClaim) {
		r.endLive(c, belief)
	}
	r.dropFinalizer(c)
}

func (r *run) endLive(c *claim, belief *offBelief) {
	reason := r.endReason(c)
	message := fmt.Sprintf("%s, %s after the request", belief.why, r.age(c))
	if belief.released {
		r.move(c, v2.ClaimFailed, reason, message)
		r.noteClaim(c, true, v2.EventClaimFailed, fmt.Sprintf("%s: %s", reason, message))
		return
	}
	r.move(c, v2.ClaimCompleted, reason, message)
	if c.Status.EndedBy == nil || c.Status.EndedBy.By == r.bySlot() { // no cancel was announced
		r.noteClaim(c, false, v2.EventClaimCompleted, message)
	}
}

// settleOff does once, for the machine, what the end of a reversal means: the kubeNode goes, the slot says so.
func (r *run) settleOff(belief *offBelief, c *claim) {
	r.off = belief
	if r.removes(belief) {
		r.removeKubeNode()
	}
	switch {
	case belief.assumed:
		r.noteSlot(c, true, v2.EventMachineAssumedOff, belief.why)
	case belief.released, belief.nothingBought:
	default:
		r.slot.LastShutdownTime = &r.now
		if scalesDown(c) {
			r.noteSlot(c, false, v2.EventScaleDownCompleted, belief.why)
		}
	}
}

// scalesDown is whether the reversal makes the pool smaller than it was. A boot that failed does not: its failure has been
// told, and a slot whose boots fail all day shall not tell each of them twice.
func scalesDown(c *claim) bool {
	return c == nil || facts.Live(c.NodeClaim) || facts.ReachedReady(c.NodeClaim) || c.Status.Phase == v2.ClaimCompleted
}

// removes is whether the kubeNode goes with the belief.
func (r *run) removes(belief *offBelief) bool {
	return belief.removeKubeNode && r.policy.RemoveKubeNode && !r.hold.Held && r.in.KubeNode != nil
}

// removeKubeNode deletes the kubeNode instead of whatever else was to be done to it.
func (r *run) removeKubeNode() {
	r.act(DeleteKubeNode{KubeNode: r.in.KubeNode})
	r.does = nil
}

// newShutdown records and creates the n-th shutdown Job.
func (r *run) newShutdown(v *reversal, n int32) {
	first := facts.LastJob(*v.jobs, v2.OperationShutdown) == nil
	created := r.newJob(v.claim, v2.OperationShutdown, n, v.prefix)
	*v.jobs = addRecord(*v.jobs, created.record)
	r.act(created.action)
	if first && scalesDown(v.claim) {
		message := "switching the machine off with Job " + created.record.Name
		if v.left != "" {
			message += "; " + v.left
		}
		r.noteSlot(v.claim, v.left != "", v2.EventScaleDownRequested, message)
	}
}
