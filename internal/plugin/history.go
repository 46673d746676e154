package plugin

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// historyOf lists the claims that are there, newest first, and the one that the slot remembers if it was collected.
func historyOf(slot *v2.Node, claims []*v2.NodeClaim, now time.Time) []past {
	all := []past{}
	claims = slices.Clone(claims)
	slices.SortFunc(claims, func(a, b *v2.NodeClaim) int { return facts.Older(b, a) })
	remembered := slot.Status.LastClaim
	for _, claim := range claims {
		if remembered != nil && remembered.Name == claim.Name {
			remembered = nil
		}
		all = append(all, past{Claim: claim.Name, Phase: facts.Phase(claim), Reason: claim.Status.Reason, Attempt: claim.Status.Attempt,
			AskedBy: claim.Spec.RequestedBy, Asked: facts.RequestedAt(claim), Call: claim.Spec.Request.Call, EndedBy: claim.Status.EndedBy,
			Boot:  between(new(metav1.NewTime(facts.RequestedAt(claim))), claim.Status.ReadyAt),
			Ready: readyFor(claim.Status.ReadyAt, claim.Status.FinishedAt, now)})
	}
	if remembered != nil {
		digest := past{Claim: remembered.Name, Phase: remembered.Phase, Reason: remembered.Reason, Attempt: remembered.Attempt,
			AskedBy: remembered.RequestedBy, Call: remembered.Request.Call, EndedBy: remembered.EndedBy, Collected: true,
			Boot: between(remembered.RequestedAt, remembered.ReadyAt), Ready: readyFor(remembered.ReadyAt, remembered.FinishedAt, now)}
		if remembered.RequestedAt != nil {
			digest.Asked = remembered.RequestedAt.Time
		}
		all = append(all, digest)
	}
	return all
}

func between(from, to *metav1.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return duration.HumanDuration(to.Sub(from.Time))
}

// readyFor is how long the machine was in use, up to now if it still is.
func readyFor(ready, finished *metav1.Time, now time.Time) string {
	switch {
	case ready == nil:
		return ""
	case finished == nil:
		return duration.HumanDuration(now.Sub(ready.Time))
	default:
		return between(ready, finished)
	}
}
