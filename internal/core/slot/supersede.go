package slot

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// supersede lets the newest of several wanted claims take the slot over from the others. Nothing starts until it has
// settled: the provider that lost a race withdraws its own claim within that time.
func supersede(r *run) {
	winner, losers := r.rivals()
	if len(losers) == 0 {
		return
	}
	if !r.passed(winner.CreationTimestamp.Add(r.policy.SupersedeSettle)) {
		r.frozen = true
		return
	}
	if heir := mostAdvanced(losers); facts.Committed(heir.NodeClaim) && !facts.Committed(winner.NodeClaim) {
		r.handOver(heir, winner)
	}
	for _, loser := range losers {
		r.move(loser, v2.ClaimFailed, v2.ReasonSuperseded, fmt.Sprintf("claim %s is newer and owns slot %s", winner.Name, r.in.Name))
		r.noteClaim(loser, false, v2.EventClaimSuperseded, fmt.Sprintf("superseded by the newer claim %s", winner.Name))
		r.dropFinalizer(loser)
	}
}

// rivals are the newest wanted claim, and those from which it takes the slot over: the other wanted ones and, where it has
// the machine already, one that was marked before its own end was saved. That one must not switch the machine off.
func (r *run) rivals() (winner *claim, losers []*claim) {
	for _, c := range r.claims {
		switch wanted := facts.Wanted(c.NodeClaim, r.in.Slot); {
		case wanted && winner == nil:
			winner = c
		case wanted:
			losers = append(losers, c)
		case winner != nil && facts.Committed(winner.NodeClaim) && facts.Live(c.NodeClaim) && facts.Committed(c.NodeClaim):
			losers = append(losers, c)
		}
	}
	return winner, losers
}

// mostAdvanced is the claim that carries the machine: ready before booting before pending, the newest first.
func mostAdvanced(claims []*claim) *claim {
	rank := func(c *claim) int {
		return slices.Index([]v2.ClaimPhase{v2.ClaimPending, v2.ClaimBooting, v2.ClaimReady}, facts.Phase(c.NodeClaim))
	}
	best := claims[0]
	for _, c := range claims[1:] {
		if rank(c) > rank(best) {
			best = c
		}
	}
	return best
}

// handOver gives the machine's record to the winner: phase, attempt, Jobs, evidence. What the winner asked for stays its
// own. A startup Job that was recorded but never seen is not handed over: the winner makes its own.
func (r *run) handOver(from, to *claim) {
	to.Status.Phase, to.Status.Message = from.Status.Phase, "machine taken over from claim "+from.Name
	to.Status.Attempt = from.Status.Attempt
	to.Status.ReadyAt = from.Status.ReadyAt
	to.Status.NodeName, to.Status.ProviderID = from.Status.NodeName, from.Status.ProviderID
	to.Status.Jobs = nil
	for _, record := range from.Status.Jobs {
		if record.UID != "" {
			to.Status.Jobs = append(to.Status.Jobs, record)
		} else {
			r.assume(Absence{Kind: KindJob, Name: record.Name})
		}
	}
	to.Status.Conditions = slices.Clone(from.Status.Conditions)
	r.claimCondition(to, v2.ConditionMachineCommitted, metav1.ConditionTrue, string(to.Status.Phase), to.Status.Message)
	r.commitFinalizer(to)
}
