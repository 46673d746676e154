package slot

// stage is one named part of the life of a machine.
type stage struct {
	name string
	run  func(*run)
}

// stages is the life of a machine, in order. Each stage reads what the earlier ones decided. Evidence in hand beats the
// clock, so the gate stands before the deadline.
func stages() []stage {
	return []stage{
		{"supersede", supersede}, // two live claims on one slot: the newest takes it over
		{"slot gone", slotGone},  // nothing left to switch: claims of a slot that is gone are released
		{"cancel", cancel},       // a mark is recorded, a pending claim let go
		{"join", join},           // the machine is up already: a pending claim takes it as it is
		{"gate", gate},           // registered, Ready, schedulable, free of readiness taints: ready
		{"deadline", deadline},   // the boot window, the gate's time, the startup Job's end
		{"boot", boot},           // a wanted machine is silent: switch it on
		{"lost", lost},           // a ready machine has been silent for too long
		{"reverse", reverse},     // a machine that is no longer wanted goes down
		{"unclaimed", unclaimed}, // a machine is on and nobody asked for it
		{"collect", collect},     // repairs, and the end of what has ended
		{"report", report},       // the slot's status, derived
	}
}

// Step decides what is to be done about one machine. It reads only its Input, leaves it alone, and answers the same
// Decision for the same Input. The error is ErrIllegalMove, wrapped; the Decision is then empty.
func Step(in Input) (Decision, error) {
	r := newRun(in)
	for _, s := range stages() {
		s.run(r)
		if r.err != nil {
			return Decision{}, r.err
		}
	}
	return r.finish(), nil
}
