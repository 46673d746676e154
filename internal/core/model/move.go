package model

import (
	"fmt"
	"time"

	"homecluster.dev/autoscaler/internal/core/slot"
)

// Step is slot.Step, or a mutant of it.
type Step func(slot.Input) (slot.Decision, error)

// World is what a history is played with: the function to be proven, the rules of its commit, and the laws.
type World struct {
	Step  Step
	Rules Rules
	Laws  []Law
	// Eager lets nothing happen between the passes of a manager that is alive: it decides until nothing is left to decide,
	// and only then, or when it has died or been paused, does the world go on. The states in between are left to scopes
	// that are not eager.
	Eager bool
	// Never are kinds of things that happen in no random history.
	Never []Kind
	// Watch, if set, is shown every move of a random history before it is judged.
	Watch func(*Transition)
	// Everywhere, if set, collects the states that explorations visit: those of several may overlap.
	Everywhere map[Key]struct{}
	// Tally counts, by law, how often it was judged.
	Tally map[string]int

	events []event
	keys   keyer
}

// NewWorld is the world as it is: slot.Step, its rules of commit and every law.
func NewWorld() *World {
	return &World{Step: slot.Step, Rules: TheRules(), Laws: Laws(), Tally: map[string]int{}, events: events()}
}

// Move is one thing that happens: an event by its index, or something the manager does. It is small, because an explorer
// keeps one for every state.
type Move struct{ Event, Arg uint8 }

// The manager's moves stand above the events.
const (
	// reconcile observes, decides and commits, all at once.
	reconcile uint8 = 200 + iota
	// crash is a reconcile that dies after Arg writes. A write that is refused, or that is carried out but answered with
	// a timeout, leaves the same world.
	crash
	// freeze lets the informer caches lag from here on; stale is a reconcile on what they held (Arg: of which kinds).
	freeze
	stale
	// pause is a leader that stops after Arg writes; resume lets it go on.
	pause
	resume
	// wake lets time pass to the moment that the decision asked for.
	wake
)

// cached are, by their Cached, the kinds of object of which a lagging cache may be behind; each informer lags by itself.
var cached = []struct {
	name string
	from func(fresh, old *Objects)
}{
	{"everything", func(o, old *Objects) { *o = *old }},
	{"its claims", func(o, old *Objects) { o.Claims = old.Claims }},
	{"the slot", func(o, old *Objects) { o.Slot = old.Slot }},
	{"its Jobs", func(o, old *Objects) { o.Jobs = old.Jobs }},
	{"the kubeNode", func(o, old *Objects) { o.KubeNode = old.KubeNode }},
}

// Transition is one move with what was decided in it.
type Transition struct {
	Before, After *State
	Move          Move
	// In and Decision are set where the manager decided something in this move.
	In       slot.Input
	Decision *slot.Decision
	// Fresh is whether it was decided on the world as it is.
	Fresh bool
	// Complete is whether everything was written; Refused says why not.
	Complete bool
	Refused  error
	// Told are the notes that were published: all once everything is written; after a refused write those of claims whose
	// status had been saved, which will not be decided again.
	Told []slot.Note
}

// moves are all that can happen in a state, of which decided is the decision of an up-to-date manager.
func (w *World) moves(s *State, decided slot.Decision) []Move {
	var moves []Move
	busy := !decided.Empty() || len(decided.Notes) > 0
	if busy {
		moves = append(moves, Move{Event: reconcile})
	}
	for i, e := range w.events {
		if s.Left.has(e.kind) && (!w.Eager || !busy || s.Down) {
			for _, arg := range e.options(s) {
				moves = append(moves, Move{uint8(i), arg})
			}
		}
	}
	if busy && s.Left.has(Crashes) {
		for n := 1; n < len(newCommit(slot.Input{}, decided, w.Rules).writes); n++ {
			moves = append(moves, Move{crash, uint8(n)})
		}
	}
	if !busy && !s.wakeOf(decided).IsZero() && s.Left.has(Wakes) {
		moves = append(moves, Move{Event: wake})
	}
	return w.lagging(s, decided, busy, moves)
}

// lagging appends what needs a second observer: a cache that is behind, a leader that was replaced.
func (w *World) lagging(s *State, decided slot.Decision, busy bool, moves []Move) []Move {
	if s.Cache != nil {
		for i := range cached {
			moves = append(moves, Move{stale, uint8(i)})
		}
	} else if s.Left.has(StaleCaches) {
		moves = append(moves, Move{Event: freeze})
	}
	if s.Leader != nil {
		moves = append(moves, Move{Event: resume})
	} else if busy && s.Left.has(Leaders) {
		for n := range newCommit(slot.Input{}, decided, w.Rules).writes {
			moves = append(moves, Move{pause, uint8(n)})
		}
	}
	return moves
}

// decide asks the function to be proven. Its error is a broken law of its own: ErrIllegalMove must not happen.
func (w *World) decide(in slot.Input) (slot.Decision, error) {
	d, err := w.Step(in)
	if err != nil {
		return d, fmt.Errorf("step: %w", err)
	}
	return d, nil
}

// apply makes a move. The decision of an up-to-date manager is passed in, since every caller has it.
func (w *World) apply(s *State, m Move, in slot.Input, decided slot.Decision) (Transition, error) {
	after := *s
	t := Transition{Before: s, After: &after, Move: m, In: in}
	switch m.Event {
	case reconcile, crash:
		t.Decision, t.Fresh = &decided, true
		n := len(newCommit(in, decided, w.Rules).writes)
		if m.Event == crash {
			n = int(m.Arg)
			after.Left.spend(Crashes)
			after.Braked = time.Time{}
		}
		after.Down = m.Event == crash
		t.commit(newCommit(in, decided, w.Rules), n)
	case freeze:
		after.Left.spend(StaleCaches)
		held := s.Objects
		after.Cache = &held
	case stale:
		return t, w.stale(&t, m.Arg)
	case pause:
		after.Left.spend(Leaders)
		after.Down = true
		t.Decision, t.Fresh = &decided, true
		if paused := t.commit(newCommit(in, decided, w.Rules), int(m.Arg)); t.Refused == nil {
			after.Leader = paused
		}
	case resume:
		after.Leader = nil
		t.In, t.Decision = s.Leader.In, &s.Leader.Decision
		t.goOn(s.Leader, len(s.Leader.writes))
	case wake:
		if after.Left.has(Wakes) {
			after.Left.spend(Wakes)
		}
		after.Now = s.wakeOf(decided)
	default:
		e := w.events[m.Event]
		after.Left.spend(e.kind)
		e.happen(&after, m.Arg)
	}
	return t, nil
}

// stale reconciles on what a lagging cache holds, after which the cache has caught up.
func (w *World) stale(t *Transition, kind uint8) error {
	observed := t.Before.Objects
	cached[kind].from(&observed, t.Before.Cache)
	t.After.Cache = nil
	t.In = observed.input(t.Before.Now, t.Before.Terminating)
	decided, err := w.decide(t.In)
	if err != nil {
		return err
	}
	t.Decision = &decided
	t.commit(newCommit(t.In, decided, w.Rules), 1<<10)
	return nil
}

// commit begins a commit and makes its first n writes.
func (t *Transition) commit(c *Commit, n int) *Commit {
	if t.Refused = c.begin(t.After); t.Refused != nil {
		return c
	}
	return t.goOn(c, n)
}

func (t *Transition) goOn(c *Commit, n int) *Commit {
	c, t.Refused = c.run(t.After, n)
	t.Complete = t.Refused == nil && c.complete() && t.Move.Event != crash && t.Move.Event != pause
	switch {
	case t.Complete:
		t.Told = c.Decision.Notes
	case t.Refused != nil:
		t.Told = c.saved()
	}
	return c
}

// Lines tell a transition: what happened, and below it what was decided.
func (w *World) lines(t *Transition) []string {
	lines := []string{fmt.Sprintf("%s  %s", t.Before.Now.Format(time.TimeOnly), w.describe(t.Before, t.Move))}
	if t.Decision == nil {
		return lines
	}
	for _, line := range t.Decision.Lines() {
		lines = append(lines, "              "+line)
	}
	if t.Refused != nil {
		lines = append(lines, "              ("+t.Refused.Error()+")")
	}
	return lines
}

func (w *World) describe(s *State, m Move) string {
	switch m.Event {
	case reconcile:
		return "reconcile"
	case crash:
		return fmt.Sprintf("reconcile, and the manager dies after write %d", m.Arg)
	case freeze:
		return "the caches begin to lag"
	case stale:
		return "reconcile with a lagging cache of " + cached[m.Arg].name
	case pause:
		return fmt.Sprintf("a leader decides, makes %d writes and is paused; another takes over", m.Arg)
	case resume:
		return "the former leader goes on writing"
	case wake:
		return "time passes to the wake"
	}
	return w.events[m.Event].label(s, m.Arg)
}
