package pool

import (
	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// State is where a machine stands in its group, as the client is told.
type State string

// The states. Creating, Errored and Running count towards the target size; Deleting and Idle do not.
const (
	// Idle is not listed: nothing of this group asks for the machine, nor is it going down for it.
	Idle State = ""
	// Creating is wanted, pending or booting.
	Creating State = "creating"
	// Running is wanted and ready.
	Running State = "running"
	// Deleting is committed and unwanted, its reversal not ended.
	Deleting State = "deleting"
	// Errored is a boot that failed a moment ago and that nobody has answered; told as creating, with the error.
	Errored State = "errored"
)

// Standing is a slot's claim that decides its state in a group, and that state.
type Standing struct {
	State State
	// Phase is the furthest phase among the wanted claims: with two of them on a slot the newer takes over what the
	// older has reached, so that a machine that serves does not look as if it were being bought again.
	Phase v2.ClaimPhase
	// Claim is the newest claim behind the state; nil when Idle.
	Claim *v2.NodeClaim
}

// wanted are the claims because of which the machine is wanted, and the newest of them.
func (s Slot) wanted() (all []*v2.NodeClaim, newest *v2.NodeClaim) {
	for _, claim := range s.Claims {
		if !facts.Wanted(claim, s.Object) {
			continue
		}
		all = append(all, claim)
		if newest == nil || facts.Older(newest, claim) < 0 {
			newest = claim
		}
	}
	return all, newest
}

// StandingIn is the slot's state in a group, failed boots aside (see Summarize). The newest wanted claim's group has
// the machine; while there is one, no other group lists it, not even as going down.
func (s Slot) StandingIn(group string) Standing {
	all, newest := s.wanted()
	if newest != nil {
		if newest.Spec.Request.Group != group {
			return Standing{}
		}
		phase := furthest(all)
		if phase == v2.ClaimReady {
			return Standing{State: Running, Phase: phase, Claim: newest}
		}
		return Standing{State: Creating, Phase: phase, Claim: newest}
	}
	if claim := s.goingDown(); claim != nil && claim.Spec.Request.Group == group {
		return Standing{State: Deleting, Phase: facts.Phase(claim), Claim: claim}
	}
	return Standing{}
}

// goingDown is the newest claim whose machine is being reversed, or nil.
func (s Slot) goingDown() *v2.NodeClaim {
	var newest *v2.NodeClaim
	for _, claim := range s.Claims {
		reversing := facts.OwesReversal(claim, s.Object) ||
			facts.Live(claim) && facts.Committed(claim) && facts.Marked(claim, s.Object)
		if reversing && (newest == nil || facts.Older(newest, claim) < 0) {
			newest = claim
		}
	}
	return newest
}

func furthest(claims []*v2.NodeClaim) v2.ClaimPhase {
	best := v2.ClaimPending
	for _, claim := range claims {
		switch facts.Phase(claim) {
		case v2.ClaimReady:
			return v2.ClaimReady
		case v2.ClaimBooting:
			best = v2.ClaimBooting
		}
	}
	return best
}

// InstanceID is the id under which the machine is listed for the claim: what its kubeNode carries, else what the claim
// saw it carry, else what it is declared to carry.
func (s Slot) InstanceID(claim *v2.NodeClaim) string {
	switch {
	case s.KubeNode != nil && s.KubeNode.Spec.ProviderID != "":
		return s.KubeNode.Spec.ProviderID
	case claim != nil && claim.Status.ProviderID != "":
		return claim.Status.ProviderID
	case s.Object != nil:
		return facts.DeclaredProviderID(s.Object)
	}
	return v2.ProviderIDPrefix + s.Name
}
