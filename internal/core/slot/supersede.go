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
	r.finishHandOvers()
	var wanted []*claim
	for _, c := range r.claims {
		if facts.Wanted(c.NodeClaim, r.in.Slot) {
			wanted = append(wanted, c)
		}
	}
	if len(wanted) < 2 {
		return
	}
	winner, losers := wanted[0], wanted[1:]
	if !r.passed(winner.CreationTimestamp.Add(r.policy.SupersedeSettle)) {
		r.frozen = true
		return
	}
	if heir := mostAdvanced(losers); facts.Committed(heir.NodeClaim) && !facts.Committed(winner.NodeClaim) {
		r.handOver(heir, winner)
	}
	for _, loser := range losers {
		r.supersededBy(loser, winner)
	}
}

// finishHandOvers ends the claims whose machine a newer one has taken over already: the manager died between the two
// writes. From then on the machine is the newer claim's to serve or to switch off, whichever of the two was marked since.
func (r *run) finishHandOvers() {
	for i, older := range r.claims {
		if !facts.Live(older.NodeClaim) || !facts.Committed(older.NodeClaim) {
			continue
		}
		if heir := slices.IndexFunc(r.claims[:i], func(c *claim) bool { return tookOver(c, older) }); heir >= 0 {
			r.supersededBy(older, r.claims[heir])
		}
	}
}

// tookOver is whether a newer claim has the machine of an older one. A slot is booted for one claim at a time, so two live
// claims that committed are the two sides of a hand-over; one that has ended since still has the older one's Jobs on record.
func tookOver(newer, older *claim) bool {
	if !facts.Committed(newer.NodeClaim) {
		return false
	}
	boot := facts.LastJob(older.Status.Jobs, v2.OperationStartup)
	return facts.Live(newer.NodeClaim) || boot != nil && boot.UID != "" &&
		slices.ContainsFunc(newer.Status.Jobs, func(record v2.JobRecord) bool { return record.UID == boot.UID })
}

func (r *run) supersededBy(loser, winner *claim) {
	r.move(loser, v2.ClaimFailed, v2.ReasonSuperseded, fmt.Sprintf("claim %s is newer and owns slot %s", winner.Name, r.in.Name))
	r.noteClaim(loser, false, v2.EventClaimSuperseded, fmt.Sprintf("superseded by the newer claim %s", winner.Name))
	r.dropFinalizer(loser)
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
