package model

import "fmt"

// Report is what an exploration found.
type Report struct {
	// States are the distinct states, Transitions the moves between them, Depth the longest shortest history.
	States, Transitions, Depth int
	// Crashes are the points at which a manager died.
	Crashes int
	// Rests are the states from which the way to rest was walked; the others lie on such a way.
	Rests int
	// Closed is whether every state within the budget was visited.
	Closed bool
	Broken *Broken
}

func (r Report) String() string {
	closed := "cut off"
	if r.Closed {
		closed = "closed"
	}
	return fmt.Sprintf("%8d states, %8d transitions, %7d crash points, histories up to %2d moves, %s",
		r.States, r.Transitions, r.Crashes, r.Depth, closed)
}

// link is how a state was first reached.
type link struct {
	from int32
	move Move
}

// node is a state whose moves are still to be made.
type node struct {
	state State
	index int32
	depth int
}

// explorer visits states breadth first, so that the history of a broken law is a shortest one. Of a state that has been
// visited it keeps a key and a link.
type explorer struct {
	*World
	start State
	seen  map[Key]struct{}
	links []link
	queue []node
	known map[Key]bool
	Report
}

// Explore visits every state that can be reached within the budget of start, or as many as most.
func (w *World) Explore(start State, most int) Report {
	e := &explorer{World: w, start: start, seen: map[Key]struct{}{}, known: map[Key]bool{}}
	e.visit(start, link{from: -1}, 0)
	for len(e.queue) > 0 && e.Broken == nil && e.States < most {
		next := e.queue[0]
		e.queue[0] = node{}
		e.queue = e.queue[1:]
		e.expand(&next)
	}
	e.Closed = len(e.queue) == 0 && e.Broken == nil
	return e.Report
}

// visit queues a state that was not seen before.
func (e *explorer) visit(s State, from link, depth int) {
	key := e.keys.key(&s)
	if _, ok := e.seen[key]; ok {
		return
	}
	e.seen[key] = struct{}{}
	if e.Everywhere != nil {
		e.Everywhere[key] = struct{}{}
	}
	e.links = append(e.links, from)
	e.queue = append(e.queue, node{state: s, index: int32(len(e.links) - 1), depth: depth})
	e.States, e.Depth = e.States+1, max(e.Depth, depth)
}

// expand makes every move of a state and judges each.
func (e *explorer) expand(n *node) {
	s := &n.state
	in, decided, broken := e.decideJudged(s)
	if broken != nil {
		e.fail(n, broken, Move{Event: reconcile})
		return
	}
	for _, m := range e.moves(s, decided) {
		t, err := e.apply(s, m, in, decided)
		e.Transitions++
		if m.Event == crash {
			e.Crashes++
		}
		if err != nil {
			broken = &Broken{Law: lawLegal, How: err.Error()}
		} else if m.Event == stale {
			broken = e.judgeDecision(t.In, *t.Decision)
		}
		if broken == nil {
			broken = e.judgeChange(&t)
		}
		if broken != nil {
			e.fail(n, broken, m)
			return
		}
		e.visit(*t.After, link{n.index, m}, n.depth+1)
	}
	e.Rests++
	if _, history, broken := e.rest(s, e.known); broken != nil {
		e.fail(n, broken, history...)
	}
}

// fail tells how it came to a broken law: the way to the state, and what happened then.
func (e *explorer) fail(n *node, broken *Broken, then ...Move) {
	var way []Move
	for i := n.index; e.links[i].from >= 0; i = e.links[i].from {
		way = append([]Move{e.links[i].move}, way...)
	}
	broken.History = e.tell(e.start, way)
	if len(then) > 0 && broken.Law != "" {
		at := e.replay(e.start, way)
		at.Cache, at.Leader = keep(at, then)
		broken.History = append(broken.History, e.tell(at, then)...)
	}
	e.Broken = broken
}

// keep keeps a lagging cache and a paused leader only for a move that needs them: on the way to rest they are gone.
func keep(s State, then []Move) (*Objects, *Commit) {
	if len(then) == 1 {
		return s.Cache, s.Leader
	}
	return nil, nil
}

// replay makes the moves again.
func (w *World) replay(s State, moves []Move) State {
	for _, m := range moves {
		s = *w.again(&s, m).After
	}
	return s
}

// tell makes the moves again and tells each.
func (w *World) tell(s State, moves []Move) []string {
	var lines []string
	for _, m := range moves {
		t := w.again(&s, m)
		lines = append(lines, w.lines(&t)...)
		s = *t.After
	}
	return lines
}

func (w *World) again(s *State, m Move) Transition {
	in := s.Input()
	decided, err := w.Step(in)
	if err != nil {
		return Transition{Before: s, After: s, Move: m}
	}
	t, err := w.apply(s, m, in, decided)
	if err != nil {
		t.Refused = err
	}
	return t
}
