package slot

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// claim is a claim being decided on: a copy whose status the stages change, beside what was observed.
type claim struct {
	*v2.NodeClaim
	seen *v2.NodeClaim
}

// run is one Step under way. Stages read the Input and write the copies; finish compares them with what was observed.
type run struct {
	in  Input
	d   Decision
	err error

	now    metav1.Time
	policy policy.Policy

	// claims are copies of Input.Claims, newest first: the winner of a hand-over is written before the losers.
	claims []*claim
	// slot is the slot's new status.
	slot v2.NodeStatus
	// kubeNode is the kubeNode as it shall be; does says in words what is changed on it.
	kubeNode *corev1.Node
	does     []string

	hold    facts.Hold
	reading facts.Reading
	// power is the evidence: on by kubelet or by the machine's own switch; kubeletOn is the kubelet's part of it.
	power     facts.Evidence
	kubeletOn bool
	// silentSince is when the silence began; the zero time while the machine is on.
	silentSince time.Time
	// frozen stops boots and joins in this pass: two live claims are being sorted out.
	frozen bool
	// relies is whether the decision newly says something of the machine on the kubelet's word.
	relies bool
	// gateOpens is whether only our own patch of the kubeNode stands between the claim and ready: then no clock is judged.
	gateOpens bool
	// offRule is by which off is believed; off is set by the reversal that ended in this pass.
	offRule []offClause
	off     *offBelief
}

func newRun(in Input) *run {
	r := &run{in: in, now: metav1.NewTime(in.Now), policy: in.Policy, offRule: offRule()}
	for _, c := range in.Claims {
		r.claims = append(r.claims, &claim{NodeClaim: c.DeepCopy(), seen: c})
	}
	slices.SortFunc(r.claims, func(a, b *claim) int { return facts.Older(b, a) })
	if in.Slot != nil {
		in.Slot.Status.DeepCopyInto(&r.slot)
	}
	r.kubeNode = in.KubeNode.DeepCopy()
	r.hold = facts.HoldOf(in.Slot, in.Now)
	r.readPower()
	for _, c := range r.claims {
		r.admit(c)
		r.readJobs(c, &c.Status.Jobs, c.UID)
		r.countShutdowns(c.seen.Status.Jobs, c.Status.Jobs, &c.Status.ShutdownAttempts, &c.Status.LastShutdownAttemptAt)
	}
	if u := r.slot.Unclaimed; u != nil && in.Slot != nil {
		r.readJobs(nil, &u.Jobs, in.Slot.UID)
		r.countShutdowns(in.Slot.Status.Unclaimed.Jobs, u.Jobs, &u.ShutdownAttempts, &u.LastShutdownAttemptAt)
	}
	return r
}

// owner is the newest live claim: it owns the slot, marked or not.
func (r *run) owner() *claim {
	for _, c := range r.claims {
		if facts.Live(c.NodeClaim) {
			return c
		}
	}
	return nil
}

// wanted is the claim for whose sake the machine shall be on, or nil.
func (r *run) wanted() *claim {
	for _, c := range r.claims {
		if facts.Wanted(c.NodeClaim, r.in.Slot) {
			return c
		}
	}
	return nil
}

// owing are the claims that owe a reversal, newest first.
func (r *run) owing() []*claim {
	var owing []*claim
	for _, c := range r.claims {
		if facts.OwesReversal(c.NodeClaim, r.in.Slot) {
			owing = append(owing, c)
		}
	}
	return owing
}

// owed is whether a reversal must end before anything may join or boot: a claim's, or an unclaimed machine's whose first
// shutdown Job exists.
func (r *run) owed() bool { return len(r.owing()) > 0 || r.unclaimedOwed() }

func (r *run) unclaimedOwed() bool { return r.slot.Unclaimed != nil && len(r.slot.Unclaimed.Jobs) > 0 }

// wake asks for another decision at t, if that is in the future and sooner than what was asked already.
func (r *run) wake(t time.Time) {
	if t.After(r.in.Now) && (r.d.Wake.IsZero() || t.Before(r.d.Wake)) {
		r.d.Wake = t
	}
}

// passed is whether t has come; until then it wakes us at t.
func (r *run) passed(t time.Time) bool {
	r.wake(t)
	return !r.in.Now.Before(t)
}

// unheld is the later of a clock's own start and the end of the slot's last hold: nothing counts while held. A hold that
// is seen to have ended ends now.
func (r *run) unheld(start time.Time) time.Time {
	if r.holdEnds() {
		return r.in.Now
	}
	held := meta.FindStatusCondition(r.slot.Conditions, v2.ConditionHeld)
	if held != nil && held.Status == metav1.ConditionFalse && held.LastTransitionTime.After(start) {
		return held.LastTransitionTime.Time
	}
	return start
}

func (r *run) act(a Action)      { r.d.Actions = append(r.d.Actions, a) }
func (r *run) remove(rm Removal) { r.d.Removals = append(r.d.Removals, rm) }
func (r *run) assume(ab Absence) { r.d.Assumes = append(r.d.Assumes, ab) }

// rely has the kubeNode, or that there is none, read again in the commit: what is newly said of the machine rests on it.
func (r *run) rely() { r.relies = true }

func (r *run) engine() v2.Engine {
	if r.in.Group == nil {
		return ""
	}
	return r.in.Group.Spec.Engine
}

// noteClaim publishes an event on a claim.
func (r *run) noteClaim(c *claim, warning bool, reason, message string) {
	r.d.Notes = append(r.d.Notes, Note{Claim: c.seen, Warning: warning, Reason: reason, Message: message})
}

// noteSlot publishes an event on the slot, related to the claim behind it, if any.
func (r *run) noteSlot(c *claim, warning bool, reason, message string) {
	if r.in.Slot == nil {
		return
	}
	note := Note{Slot: r.in.Slot, Warning: warning, Reason: reason, Message: message}
	if c != nil {
		note.Related = c.seen
	}
	r.d.Notes = append(r.d.Notes, note)
}

// commitFinalizer puts our finalizer on the claim and on the slot, unless they carry it.
func (r *run) commitFinalizer(c *claim) {
	if !facts.HasFinalizer(c.NodeClaim) && c.DeletionTimestamp == nil {
		r.d.Finalizers = append(r.d.Finalizers, AddFinalizer{Claim: c.seen})
		c.Finalizers = append(c.Finalizers, v2.FinalizerNodeClaim)
	}
}

// dropFinalizer lets a claim go.
func (r *run) dropFinalizer(c *claim) {
	if !facts.HasFinalizer(c.NodeClaim) {
		return
	}
	c.Finalizers = slices.DeleteFunc(c.Finalizers, func(f string) bool { return f == v2.FinalizerNodeClaim })
	// What an earlier stage of this pass put on is not put on at all: an heir whose boot ends with the hand-over.
	r.d.Finalizers = slices.DeleteFunc(r.d.Finalizers, func(f AddFinalizer) bool { return f.Claim == c.seen })
	if facts.HasFinalizer(c.seen) {
		r.remove(DropFinalizer{Claim: c.seen})
	}
}
