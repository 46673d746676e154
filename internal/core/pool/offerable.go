package pool

import (
	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Offerable is nil when the group may hand the slot out: it carries the label of a group that exists, no claim lives or
// is going away on it, no reversal is owed, no lifecycle Job is unfinished, nobody holds it, it is not cooling off, it
// is not being deleted, and its machine is not on. Else it says what stands in the way. Which engine may ask is not a
// property of the slot.
func Offerable(v View, s Slot) *Refusal {
	for _, obstacle := range obstacles {
		if refusal := obstacle(v, s); refusal != nil {
			return refusal
		}
	}
	return nil
}

var obstacles = [...]func(View, Slot) *Refusal{
	belongsElsewhere, claimed, unclaimedShutdown, jobUnfinished, held, coolingOff, machineOn,
}

func belongsElsewhere(v View, s Slot) *Refusal {
	switch {
	case v.Group == nil:
		return &Refusal{Obstacle: ObstacleGroupMissing, name: v.Name}
	case s.Object == nil:
		return &Refusal{Obstacle: ObstacleSlotGone}
	case s.Object.Labels[v2.LabelGroup] != v.Name:
		return &Refusal{Obstacle: ObstacleOtherGroup, name: s.Object.Labels[v2.LabelGroup]}
	case s.Object.DeletionTimestamp != nil:
		return &Refusal{Obstacle: ObstacleSlotDeleting}
	}
	return nil
}

func claimed(_ View, s Slot) *Refusal {
	if live := facts.NewestLive(s.Claims); live != nil {
		refusal := &Refusal{Obstacle: ObstacleClaimed, name: live.Name, note: string(facts.Phase(live))}
		if facts.Marked(live, s.Object) {
			refusal.note += " and on its way out"
		}
		return refusal
	}
	for _, claim := range s.Claims {
		if facts.OwesReversal(claim, s.Object) {
			return &Refusal{Obstacle: ObstacleOwesReversal, name: claim.Name, note: string(facts.Phase(claim))}
		}
	}
	for _, claim := range s.Claims {
		if claim.DeletionTimestamp != nil {
			return &Refusal{Obstacle: ObstacleClaimDeleting, name: claim.Name}
		}
	}
	return nil
}

// unclaimedShutdown is a reversal without a claim: once its first Job exists, only believed or assumed off ends it.
func unclaimedShutdown(_ View, s Slot) *Refusal {
	if record := s.Object.Status.Unclaimed; record != nil && len(record.Jobs) > 0 {
		return &Refusal{Obstacle: ObstacleUnclaimedShutdown}
	}
	return nil
}

func jobUnfinished(_ View, s Slot) *Refusal {
	if s.UnfinishedJob != "" {
		return &Refusal{Obstacle: ObstacleJobUnfinished, name: s.UnfinishedJob}
	}
	return nil
}

func held(v View, s Slot) *Refusal {
	if hold := facts.HoldOf(s.Object, v.Now); hold.Held {
		return &Refusal{Obstacle: ObstacleHeld, note: hold.Why, Until: hold.Until}
	}
	return nil
}

func coolingOff(v View, s Slot) *Refusal {
	digest := s.Object.Status.LastClaim
	if until := facts.CoolingOffUntil(digest, v.Policy, v.Now); !until.IsZero() {
		return &Refusal{Obstacle: ObstacleCoolingOff, Until: until, count: facts.Streak(digest)}
	}
	return nil
}

func machineOn(_ View, s Slot) *Refusal {
	status := s.Object.Status
	switch {
	case facts.KubeletOn(s.KubeNode):
		return &Refusal{Obstacle: ObstacleMachineOn, note: string(v2.PowerSourceKubelet)}
	case status.PowerState == v2.PowerOn && status.PowerSource == v2.PowerSourceOutOfBand:
		return &Refusal{Obstacle: ObstacleMachineOn, note: string(status.PowerSource)}
	}
	return nil
}
