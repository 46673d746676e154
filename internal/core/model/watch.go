package model

// Act is what the manager does in a move.
type Act uint8

// The acts. All else that can happen is the world's, time included.
const (
	// Rest is none: the world moves.
	Rest Act = iota
	// Pass is a whole reconcile.
	Pass
	// Die is a reconcile that dies after so many writes as the move's Arg says.
	Die
	// Lag lets the informer caches lag from here on.
	Lag
	// PassLagging is a reconcile on what they held of the kind that the move's Arg says: an index into Cached.
	PassLagging
	// Pause is a leader that decides and stops after so many writes as the move's Arg says.
	Pause
	// GoOn lets it go on writing.
	GoOn
)

// Act is what the manager does in this move.
func (m Move) Act() Act {
	switch m.Event {
	case reconcile:
		return Pass
	case crash:
		return Die
	case freeze:
		return Lag
	case stale:
		return PassLagging
	case pause:
		return Pause
	case resume:
		return GoOn
	}
	return Rest
}

// Cached are the informers, each of which can lag by itself.
type Cached uint8

// The informers.
const (
	CachedEverything Cached = iota
	CachedClaims
	CachedSlots
	CachedJobs
	CachedKubeNodes
)

// Tell tells a transition in lines: what happened, and below it what was decided.
func (w *World) Tell(t *Transition) []string { return w.lines(t) }
