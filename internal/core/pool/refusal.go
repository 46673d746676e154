package pool

import (
	"fmt"
	"strconv"
	"time"
)

// Obstacle is why a slot is not offerable.
type Obstacle string

// The obstacles, in the order in which they are looked for. MachineOn is last, so that "otherwise offerable" can be
// asked of a machine that is on.
const (
	ObstacleGroupMissing      Obstacle = "GroupMissing"
	ObstacleSlotGone          Obstacle = "SlotGone"
	ObstacleOtherGroup        Obstacle = "OtherGroup"
	ObstacleSlotDeleting      Obstacle = "SlotDeleting"
	ObstacleClaimed           Obstacle = "Claimed"
	ObstacleOwesReversal      Obstacle = "OwesReversal"
	ObstacleClaimDeleting     Obstacle = "ClaimDeleting"
	ObstacleUnclaimedShutdown Obstacle = "UnclaimedShutdown"
	ObstacleJobUnfinished     Obstacle = "JobUnfinished"
	ObstacleHeld              Obstacle = "Held"
	ObstacleCoolingOff        Obstacle = "CoolingOff"
	ObstacleMachineOn         Obstacle = "MachineOn"
	// ObstacleErrored is the group's own: the slot's failed boot still stands in the target.
	ObstacleErrored Obstacle = "Errored"
)

// Refusal says that a slot is not offerable, why, and when time alone will change that.
type Refusal struct {
	Obstacle Obstacle
	// Until is when the obstacle ends by itself; zero: not by itself.
	Until time.Time

	// name is the group, claim or Job behind the obstacle; note is what else there is to say of it, and count a number.
	name, note string
	count      int32
}

// Detail names the claim, Job, hold or time behind the obstacle. It is put into words only when somebody asks: most
// refusals are never read.
func (r *Refusal) Detail() string {
	switch r.Obstacle {
	case ObstacleGroupMissing:
		return "group " + r.name + " does not exist"
	case ObstacleSlotGone:
		return "the slot does not exist"
	case ObstacleOtherGroup:
		return "it is labelled with group " + strconv.Quote(r.name)
	case ObstacleSlotDeleting:
		return "the slot is being deleted"
	case ObstacleClaimed:
		return "claim " + r.name + " is " + r.note
	case ObstacleOwesReversal:
		return "claim " + r.name + " is " + r.note + " and its machine is still to be switched off"
	case ObstacleClaimDeleting:
		return "claim " + r.name + " is being deleted"
	case ObstacleUnclaimedShutdown:
		return "its machine is on for nobody and is being switched off"
	case ObstacleJobUnfinished:
		return "job " + r.name + " has not ended"
	case ObstacleHeld:
		return "held: " + r.note
	case ObstacleCoolingOff:
		return fmt.Sprintf("cooling off until %s after %d failed boots", r.Until.UTC().Format(time.RFC3339), r.count)
	case ObstacleMachineOn:
		return "its machine is on (" + r.note + ")"
	case ObstacleErrored:
		return "the failed boot of claim " + r.name + " still counts"
	}
	return string(r.Obstacle)
}
