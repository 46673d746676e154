package slot

import (
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// ErrIllegalMove is a phase move that the phase table refuses. Nothing is written for it.
var ErrIllegalMove = errors.New("illegal move of a claim's phase")

// nextPhases is the phase table: where a claim may go from each phase. Failed and completed are ends.
func nextPhases(from v2.ClaimPhase) []v2.ClaimPhase {
	switch from {
	case v2.ClaimPending:
		return []v2.ClaimPhase{v2.ClaimBooting, v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed}
	case v2.ClaimBooting:
		return []v2.ClaimPhase{v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed}
	case v2.ClaimReady:
		return []v2.ClaimPhase{v2.ClaimCompleted, v2.ClaimFailed}
	default:
		return nil
	}
}

// move is the only writer of a claim's phase. A terminal move stamps finishedAt and reads MachineCommitted off the phase
// it came from, so that an ended claim says whether there is a machine to switch off.
func (r *run) move(c *claim, to v2.ClaimPhase, reason v2.ClaimReason, message string) {
	from := facts.Phase(c.NodeClaim)
	if !slices.Contains(nextPhases(from), to) {
		r.err = fmt.Errorf("%w: claim %s from %s to %s (%s)", ErrIllegalMove, c.Name, from, to, reason)
		return
	}
	committed := metav1.ConditionFalse
	if from != v2.ClaimPending || to == v2.ClaimBooting || to == v2.ClaimReady {
		committed = metav1.ConditionTrue
	}
	c.Status.Phase, c.Status.Reason, c.Status.Message = to, reason, message
	r.claimCondition(c, v2.ConditionMachineCommitted, committed, string(to), message)
	switch to {
	case v2.ClaimReady:
		c.Status.ReadyAt = &r.now
		r.claimCondition(c, v2.ConditionReady, metav1.ConditionTrue, "Ready", message)
	case v2.ClaimFailed, v2.ClaimCompleted:
		c.Status.FinishedAt = &r.now
		r.claimCondition(c, v2.ConditionReady, metav1.ConditionFalse, string(reason), message)
	}
}
