package pool

import (
	"fmt"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Obstacle is why a slot is not offerable.
type Obstacle string

// The obstacles, in the order in which they are looked for. MachineOn is last, so that "otherwise offerable" can be
// asked of a machine that is on.
const (
	ObstacleGroupMissing  Obstacle = "GroupMissing"
	ObstacleSlotGone      Obstacle = "SlotGone"
	ObstacleOtherGroup    Obstacle = "OtherGroup"
	ObstacleSlotDeleting  Obstacle = "SlotDeleting"
	ObstacleClaimed       Obstacle = "Claimed"
	ObstacleClaimDeleting Obstacle = "ClaimDeleting"
	ObstacleOwesReversal  Obstacle = "OwesReversal"
	ObstacleJobUnfinished Obstacle = "JobUnfinished"
	ObstacleHeld          Obstacle = "Held"
	ObstacleCoolingOff    Obstacle = "CoolingOff"
	ObstacleMachineOn     Obstacle = "MachineOn"
	// ObstacleErrored is the group's own: the slot's failed boot still stands in the target.
	ObstacleErrored Obstacle = "Errored"
)

// Refusal says that a slot is not offerable, why, and when time alone will change that.
type Refusal struct {
	Obstacle Obstacle
	// Detail names the claim, Job, hold or time behind the obstacle.
	Detail string
	// Until is when the obstacle ends by itself; zero: not by itself.
	Until time.Time
}

func refuse(obstacle Obstacle, format string, args ...any) *Refusal {
	return &Refusal{Obstacle: obstacle, Detail: fmt.Sprintf(format, args...)}
}

// Offerable is nil when the group may hand the slot out: it carries the label of a group that exists, no claim lives or
// is going away on it, no reversal is owed, no lifecycle Job is unfinished, nobody holds it, it is not cooling off, it
// is not being deleted, and its machine is not on. Else it says what stands in the way. Which engine may ask is not a
// property of the slot.
func Offerable(v View, s Slot) *Refusal {
	for _, obstacle := range []func(View, Slot) *Refusal{
		belongsElsewhere, claimed, reversalOwed, jobUnfinished, held, coolingOff, machineOn,
	} {
		if refusal := obstacle(v, s); refusal != nil {
			return refusal
		}
	}
	return nil
}

func belongsElsewhere(v View, s Slot) *Refusal {
	switch {
	case v.Group == nil:
		return refuse(ObstacleGroupMissing, "group %s does not exist", v.Name)
	case s.Object == nil:
		return refuse(ObstacleSlotGone, "the slot does not exist")
	case s.Object.Labels[v2.LabelGroup] != v.Name:
		return refuse(ObstacleOtherGroup, "labelled %s=%s", v2.LabelGroup, s.Object.Labels[v2.LabelGroup])
	case s.Object.DeletionTimestamp != nil:
		return refuse(ObstacleSlotDeleting, "the slot is being deleted")
	}
	return nil
}

func claimed(_ View, s Slot) *Refusal {
	if live := facts.NewestLive(s.Claims); live != nil {
		if facts.Marked(live, s.Object) {
			return refuse(ObstacleClaimed, "claim %s is %s and on its way out", live.Name, facts.Phase(live))
		}
		return refuse(ObstacleClaimed, "claim %s is %s", live.Name, facts.Phase(live))
	}
	for _, claim := range s.Claims {
		if facts.OwesReversal(claim, s.Object) {
			return refuse(ObstacleOwesReversal, "claim %s is %s and its machine is still to be switched off",
				claim.Name, facts.Phase(claim))
		}
	}
	for _, claim := range s.Claims {
		if claim.DeletionTimestamp != nil {
			return refuse(ObstacleClaimDeleting, "claim %s is being deleted", claim.Name)
		}
	}
	return nil
}

// reversalOwed is the unclaimed shutdown: once its first Job exists, only believed or assumed off ends it.
func reversalOwed(_ View, s Slot) *Refusal {
	if record := s.Object.Status.Unclaimed; record != nil && len(record.Jobs) > 0 {
		return refuse(ObstacleOwesReversal, "an unclaimed machine is being switched off since %s",
			record.Since.UTC().Format(time.RFC3339))
	}
	return nil
}

func jobUnfinished(_ View, s Slot) *Refusal {
	if s.UnfinishedJob != "" {
		return refuse(ObstacleJobUnfinished, "job %s has not ended", s.UnfinishedJob)
	}
	return nil
}

func held(v View, s Slot) *Refusal {
	hold := facts.HoldOf(s.Object, v.Now)
	if !hold.Held {
		return nil
	}
	refusal := refuse(ObstacleHeld, "held: %s", hold.Why)
	refusal.Until = hold.Until
	return refusal
}

func coolingOff(v View, s Slot) *Refusal {
	digest := s.Object.Status.LastClaim
	until := facts.CoolingOffUntil(digest, v.Policy, v.Now)
	if until.IsZero() {
		return nil
	}
	refusal := refuse(ObstacleCoolingOff, "cooling off until %s after %d failed boots",
		until.UTC().Format(time.RFC3339), facts.Streak(digest))
	refusal.Until = until
	return refusal
}

func machineOn(_ View, s Slot) *Refusal {
	status := s.Object.Status
	switch {
	case facts.KubeletOn(s.KubeNode):
		return refuse(ObstacleMachineOn, "its machine is on (kubelet)")
	case status.PowerState == v2.PowerOn && status.PowerSource == v2.PowerSourceOutOfBand:
		return refuse(ObstacleMachineOn, "its machine is on (%s)", status.PowerSource)
	}
	return nil
}
