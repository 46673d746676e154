package model

// Temperament is how a machine misbehaves through a whole history.
type Temperament uint8

// The temperaments.
const (
	Obedient       Temperament = iota
	NeverBoots                 // every power-on is swallowed
	SwallowsOnce               // the first power-on is swallowed
	LingeringTaint             // its kubelet registers with a readiness taint
	IgnoresSoftOff             // every shutdown is swallowed, and the Job says so
	IgnoresTwice               // two shutdowns are swallowed, the third works
	HangsGoingDown             // it hangs on its way down: silent, and on
	Lies                       // shutdown Jobs succeed and change nothing
	DiesWhileReady             // it loses power while it serves
	ComesBack                  // its kubelet goes silent and returns
	Unreachable                // shutdown Jobs never get to run
	BootsByItself              // somebody presses the power button
	temperaments
)

func (t Temperament) String() string {
	return [...]string{"obedient", "never boots", "swallows a power-on", "joins with a lingering taint", "ignores soft-off",
		"ignores soft-off twice", "hangs on the way down", "lies", "dies while ready", "comes back", "unreachable shutdown",
		"boots by itself"}[t]
}

// dice are a splitmix64 generator: the same seed gives the same history, on every machine and with every Go.
type dice uint64

func (d *dice) next() uint64 {
	*d += 0x9e3779b97f4a7c15
	z := uint64(*d)
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number from 0 up to, and without, n.
func (d *dice) below(n int) int { return int(d.next() % uint64(n)) }

// History is what one random history was and how it ended.
type History struct {
	Seed        uint64
	Temperament Temperament
	// Crashed and LeaderChanged are whether a manager died in it, or a paused leader went on.
	Crashed, LeaderChanged bool
	Moves                  int
	// On, Hidden and Boots are where the machine ended: on or off, why it may be on though nothing wants it, and how
	// often it was switched on.
	On, Wanted bool
	Hidden     string
	Boots      int
	Broken     *Broken
}

// historyMoves is how many moves a history has before its faults end.
const historyMoves = 140

// Episode plays one random history to its horizon: some hundred moves with a machine of one temperament, then everything
// that happens by itself until nothing does.
func (w *World) Episode(seed uint64) History {
	d := dice(seed)
	h := History{Seed: seed, Temperament: Temperament(d.below(int(temperaments)))}
	budget := episodeBudget(&d, h.Temperament)
	for _, kind := range w.Never {
		budget[kind] = 0
	}
	s := New(budget)
	start, shutdowns, startups := s, 0, 0
	var way []Move
	for range historyMoves {
		in, decided, broken := w.decideJudged(&s)
		if broken != nil {
			return w.broken(h, broken, start, append(way, Move{Event: reconcile}))
		}
		moves := w.temper(&s, w.moves(&s, decided), h.Temperament, startups, shutdowns)
		if len(moves) == 0 {
			break
		}
		m := w.choose(&d, moves)
		next, broken := w.follow(&s, m, in, decided)
		way = append(way, m)
		if broken != nil {
			return w.broken(h, broken, start, way)
		}
		switch w.starts(&s, m) {
		case startup:
			startups++
		case shutdown:
			shutdowns++
		}
		h.Crashed = h.Crashed || m.Event == crash
		h.LeaderChanged = h.LeaderChanged || m.Event == resume
		s = *next
	}
	h.Moves = len(way)
	s.Cache, s.Leader = nil, nil
	end, rest, broken := w.rest(&s, map[Key]bool{})
	if broken != nil {
		broken.History = append(w.tell(start, way), w.tell(s, rest)...)
		broken.Seed, broken.Moves, h.Broken = seed, len(way)+len(rest), broken
		return h
	}
	if again, life, broken := w.serve(end); broken != nil {
		broken.History = append(w.tell(start, way), append(w.tell(s, rest), w.tell(again, life)...)...)
		broken.Seed, broken.Moves, h.Broken = seed, len(way)+len(rest)+len(life), broken
		return h
	}
	h.On, h.Wanted, h.Boots = end.Metal.On, end.wanted() != nil, int(end.Metal.Boots)
	if h.On && !h.Wanted {
		h.Hidden = Hidden(end)
	}
	return h
}

func (w *World) broken(h History, broken *Broken, start State, way []Move) History {
	broken.History, broken.Seed, broken.Moves = w.tell(start, way), h.Seed, len(way)
	h.Broken = broken
	return h
}

// episodeBudget allows a history a little of everything, and more of what is ordinary.
func episodeBudget(d *dice, t Temperament) Budget {
	b := Budget{}.With(ProviderClaims, 4).With(HandClaims, 2).With(Marks, 3).With(ClaimDeletes, 1).With(Wakes, 60).With(Jumps, 3).
		With(BadEffects, 99).With(BadEnds, 4).With(Taints, 4).With(PodsBound, 1).With(Cordons, 1).With(Patches, 1)
	for _, rare := range []Kind{SlotDeletes, SlotCreates, KubeNodeDeletes, JobDeletes, Strips, Holds, GroupDeletes, Restores,
		Unfilled, Brakes, Polls, Stuck, Falsehoods, Silences, Returns, Deaths, Rises} {
		if d.below(4) == 0 {
			b[rare] = 1
		}
	}
	b[Polls] *= 8 // a switch that can be read is read again and again
	b[Stuck] *= 4
	switch t {
	case DiesWhileReady:
		b[Deaths] = 2
	case ComesBack:
		b[Silences], b[Returns] = 2, 2
	case BootsByItself:
		b[Rises] = 3
	}
	if d.below(40) == 0 {
		b[Terminations] = 1
	}
	for _, trouble := range []Kind{Crashes, StaleCaches, Leaders} {
		b[trouble] = uint8(d.below(3))
	}
	return b
}
