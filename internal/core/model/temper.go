package model

import "slices"

// deed is what a temperament knows an event by.
type deed uint8

const (
	_ deed = iota
	doesWork
	doesNothing
	doesHang
	doesSucceed
	doesFail
	doesNotRun
	doesJoin
	doesJoinTainted
)

// temper leaves out the moves that a machine of this temperament does not make, after so many startup and shutdown Jobs
// have started. Where nothing else is left a move stays: a machine that is hung cannot hang again.
func (w *World) temper(s *State, moves []Move, t Temperament, startups, shutdowns int) []Move {
	fits := func(m Move) bool {
		if m.Event >= reconcile {
			return true
		}
		does := w.events[m.Event].does
		switch does {
		case doesWork, doesNothing, doesHang:
			if operation(&s.Jobs[m.Arg]) == startup {
				return does == t.boots(startups)
			}
			return does == t.stops(s, shutdowns)
		case doesSucceed, doesFail:
			return t != Lies || does == doesSucceed || operation(&s.Jobs[m.Arg]) == startup
		case doesJoin:
			return t != LingeringTaint || !s.Left.has(Taints)
		case doesJoinTainted:
			return t == LingeringTaint
		}
		return true
	}
	return slices.DeleteFunc(moves, func(m Move) bool { return !fits(m) })
}

// boots is what the machine makes of the next startup Job.
func (t Temperament) boots(before int) deed {
	if t == NeverBoots || t == SwallowsOnce && before == 0 {
		return doesNothing
	}
	return doesWork
}

// stops is what the machine makes of the next shutdown Job.
func (t Temperament) stops(s *State, before int) deed {
	switch {
	case t == Unreachable:
		return doesNotRun
	case !s.Metal.On:
		return doesWork
	case t == IgnoresSoftOff, t == Lies, t == IgnoresTwice && before < 2:
		return doesNothing
	case t == HangsGoingDown && s.Metal.Heard:
		return doesHang
	case t == HangsGoingDown:
		return doesNothing
	}
	return doesWork
}

// starts is the operation of the Job that starts with a move, if one does.
func (w *World) starts(s *State, m Move) string {
	if m.Event >= reconcile {
		return ""
	}
	switch w.events[m.Event].does {
	case doesWork, doesNothing, doesHang:
		return operation(&s.Jobs[m.Arg])
	}
	return ""
}

// choose prefers what happens most: the manager decides, things take their course, time passes; the rest is trouble.
func (w *World) choose(d *dice, moves []Move) Move {
	weights, sum := make([]int, len(moves)), 0
	for i, m := range moves {
		weights[i] = w.weight(m)
		sum += weights[i]
	}
	roll := d.below(sum)
	for i, m := range moves {
		if roll -= weights[i]; roll < 0 {
			return m
		}
	}
	return moves[len(moves)-1]
}

func (w *World) weight(m Move) int {
	switch m.Event {
	case reconcile:
		return 40
	case wake:
		return 12
	case resume, stale:
		return 4
	case crash, freeze, pause:
		return 1
	}
	switch e := w.events[m.Event]; e.kind {
	case Free, BadEffects, Taints:
		return 12
	case ProviderClaims:
		return 6
	case BadEnds:
		return 3
	}
	return 1
}
