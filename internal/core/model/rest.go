package model

import (
	"fmt"
	"slices"
	"time"

	"homecluster.dev/autoscaler/internal/core/slot"
)

const (
	// settles is how many passes may follow one another without anything else happening.
	settles = 8
	// restsWithin is how many things may still happen once every fault has ended.
	restsWithin = 400
)

// Names of the laws that are judged by letting a world come to rest.
const (
	lawSettles = "decisions settle: committed, they are followed by at most a few more"
	lawRests   = "nothing wedges: when faults end and time passes, every state comes to rest"
	lawPure    = "Step is deterministic and leaves its Input alone"
	lawLegal   = "Step makes no illegal move"
)

// rest lets a world run on without faults until nothing is left to happen, and judges it then. Every Job works, every
// kubelet that can registers, holds are lifted, and time passes to each wake. The history is what happened on the way.
func (w *World) rest(from *State, known map[Key]bool) (end *State, history []Move, broken *Broken) {
	s := *from
	s.Cache, s.Leader = nil, nil
	var path []Key
	passes := 0
	for range restsWithin {
		key := w.keys.worldKey(&s)
		if known[key] {
			break
		}
		path = append(path, key)
		in, decided, broken := w.decideJudged(&s)
		if broken != nil {
			return &s, history, broken
		}
		move, ok := w.benign(&s, decided)
		if !ok {
			w.Tally[lawRests]++
			w.Tally[lawSettles]++
			if broken := w.judgeRest(&s); broken != nil {
				return &s, history, broken
			}
			remember(known, path)
			return &s, history, nil
		}
		if passes++; move.Event != reconcile {
			passes = 0
		}
		if passes > settles {
			return &s, history, &Broken{Law: lawSettles, How: fmt.Sprintf("%d passes at %s", passes, s.Now.Format(time.TimeOnly))}
		}
		next, broken := w.follow(&s, move, in, decided)
		history = append(history, move)
		if broken != nil {
			return &s, history, broken
		}
		s = *next
	}
	if len(path) == restsWithin {
		return &s, history, &Broken{Law: lawRests, How: fmt.Sprintf("something still happens after %d moves", restsWithin)}
	}
	remember(known, path)
	return &s, history, nil
}

func remember(known map[Key]bool, path []Key) {
	for _, key := range path {
		known[key] = true
	}
}

// benign is what happens next in a world without faults, if anything: the manager goes first, then what is free, then
// time.
func (w *World) benign(s *State, decided slot.Decision) (Move, bool) {
	braked := decided.Brake && s.brakedUntil().After(s.Now)
	if !decided.Empty() && !braked && !evictsInVain(s, decided) {
		return Move{Event: reconcile}, true
	}
	for i, e := range w.events {
		if e.kind != Free {
			continue
		}
		if args := e.options(s); len(args) > 0 {
			return Move{uint8(i), args[0]}, true
		}
	}
	return Move{Event: wake}, !s.wakeOf(decided).IsZero()
}

// evictsInVain is whether all that the decision does is to ask again for an eviction that a disruption budget refuses.
func evictsInVain(s *State, d slot.Decision) bool {
	if len(s.Pods) == 0 || s.Pods[0].Labels[stubborn] == "" || len(d.Claims) > 0 || d.Slot != nil || len(d.Removals) > 0 {
		return false
	}
	return !slices.ContainsFunc(d.Actions, func(a slot.Action) bool { _, evicts := a.(slot.Evict); return !evicts })
}

// brakedUntil is when the manager has its MachineGone token again.
func (s *State) brakedUntil() time.Time {
	if s.Braked.IsZero() {
		return time.Time{}
	}
	return s.Braked.Add(s.policy().EffectiveBudget())
}

// wakeOf is when the manager decides again though nothing changed.
func (s *State) wakeOf(d slot.Decision) time.Time {
	if until := s.brakedUntil(); d.Brake && until.After(s.Now) && (d.Wake.IsZero() || until.Before(d.Wake)) {
		return until
	}
	return d.Wake
}

// follow makes a move and judges it.
func (w *World) follow(s *State, m Move, in slot.Input, decided slot.Decision) (*State, *Broken) {
	t, err := w.apply(s, m, in, decided)
	if err != nil {
		return s, &Broken{Law: lawLegal, How: err.Error()}
	}
	if w.Watch != nil {
		w.Watch(&t)
	}
	return t.After, w.judgeChange(&t)
}
