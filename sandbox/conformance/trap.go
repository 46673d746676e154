package conformance

// Trap is something that cluster-autoscaler does with answers that look harmless, as a sentence.
type Trap string

// The traps, as they were found in the client's releases from 1.25 to 1.37.
const (
	TrapNodesLeftBehind  Trap = "a node left behind by a machine that is off counts as unready, and too many of them stop the client"
	TrapEarlyNodes       Trap = "a node whose boot is not through hides the machine that the client still awaits, and another is bought"
	TrapHalfOptions      Trap = "a duration missing from the options is zero to the client, or its end; any options take away its time for starting nodes"
	TrapInventedNodes    Trap = "the client makes nodes up: for instances that never registered, and copies of real ones where it expects more"
	TrapOtherIDs         Trap = "an instance counts as registered only if its id is what its node carries, byte for byte"
	TrapHalfBatches      Trap = "a delete that fails is undone by the client for its whole batch, and two deletes can come at once"
	TrapEmptyTemplates   Trap = "a template without bytes ends the client"
	TrapNoTemplates      Trap = "a group that is listed without a template stops every scale-up of an older client, and of any while it has a machine on its way"
	TrapLingeringMarks   Trap = "the client's mark for deletion stays on a node that returns, and tells it that the machine is gone"
	TrapGreedyDecreases  Trap = "after a time-out the client decreases by the whole request, also by what came up of it"
	TrapFailedBoots      Trap = "a failed boot is heard only as an instance that is being created with an error, and deleted until it is gone"
	TrapStrayErrors      Trap = "an error from a read about one group or node stops everything"
	TrapHotLoops         Trap = "an id that fails and is sold again at once is deleted and bought in a loop without a pause"
	TrapAllOrNothing     Trap = "a group that scales all or nothing never scales down"
	TrapTwoBounds        Trap = "the client reads a group's bounds from two calls"
	TrapRestartedClients Trap = "a client that restarts during a boot does not know that it asked"
	TrapUnmindedFloors   Trap = "the client minds the floor only if a flag of its own tells it to"
)

// Traps are all traps.
func Traps() []Trap {
	return []Trap{
		TrapNodesLeftBehind,
		TrapEarlyNodes,
		TrapHalfOptions,
		TrapInventedNodes,
		TrapOtherIDs,
		TrapHalfBatches,
		TrapEmptyTemplates,
		TrapNoTemplates,
		TrapLingeringMarks,
		TrapGreedyDecreases,
		TrapFailedBoots,
		TrapStrayErrors,
		TrapHotLoops,
		TrapAllOrNothing,
		TrapTwoBounds,
		TrapRestartedClients,
		TrapUnmindedFloors,
	}
}

// Unjudgeable are the traps that no call can spring, and why.
func Unjudgeable() map[Trap]string {
	return map[Trap]string{
		TrapRestartedClients: "nothing on the wire cures it",
		TrapUnmindedFloors:   "the flag is not on the wire",
	}
}
