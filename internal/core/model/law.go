package model

import (
	"fmt"
	"strings"

	"homecluster.dev/autoscaler/internal/core/slot"
)

// Law is something that must always hold. Each of its functions answers what is wrong, or nothing; nil functions judge
// nothing.
type Law struct {
	// Name says what holds.
	Name string
	// decision judges what was decided on an observation, whether or not it lands.
	decision func(in slot.Input, d slot.Decision) string
	// change judges one move.
	change func(*Transition) string
	// rest judges a world in which nothing happens any more, though every fault has ended.
	rest func(*State) string
}

// Broken is a law that does not hold.
type Broken struct {
	Law, How string
	// History is how it came to that, in lines, from the beginning.
	History []string
	// Moves is how many moves that took.
	Moves int
	// Seed is the random history's, if it was one.
	Seed uint64
}

func (b *Broken) Error() string {
	text := fmt.Sprintf("law broken: %s\n  %s\n%s", b.Law, b.How, strings.Join(b.History, "\n"))
	if b.Seed != 0 {
		text += fmt.Sprintf("\nreplay with -prove.seed=%d", b.Seed)
	}
	return text
}

// Laws are all of them, in the order in which the design names them.
func Laws() []Law {
	var laws []Law
	for _, some := range [][]Law{ownerLaws(), jobLaws(), endLaws(), evidenceLaws(), stepLaws(), noteLaws(), restLaws()} {
		laws = append(laws, some...)
	}
	return laws
}

// LawNames are the names of all laws, also of those that are judged by more than one move.
func LawNames() []string {
	names := []string{lawSettles, lawRests, lawPure, lawLegal, lawAgain}
	for _, law := range Laws() {
		names = append(names, law.Name)
	}
	return names
}

// judgeDecision holds a decision to the laws.
func (w *World) judgeDecision(in slot.Input, d slot.Decision) *Broken {
	for i := range w.Laws {
		if law := &w.Laws[i]; law.decision != nil {
			w.Tally[law.Name]++
			if how := law.decision(in, d); how != "" {
				return &Broken{Law: law.Name, How: how}
			}
		}
	}
	return nil
}

// judgeChange holds a move to the laws.
func (w *World) judgeChange(t *Transition) *Broken {
	for i := range w.Laws {
		if law := &w.Laws[i]; law.change != nil {
			w.Tally[law.Name]++
			if how := law.change(t); how != "" {
				return &Broken{Law: law.Name, How: how}
			}
		}
	}
	return nil
}

// judgeRest holds a world at rest to the laws.
func (w *World) judgeRest(s *State) *Broken {
	for i := range w.Laws {
		if law := &w.Laws[i]; law.rest != nil {
			w.Tally[law.Name]++
			if how := law.rest(s); how != "" {
				return &Broken{Law: law.Name, How: how}
			}
		}
	}
	return nil
}

func wrong(format string, args ...any) string { return fmt.Sprintf(format, args...) }
