package observer

import (
	"context"
	"maps"
	"sync"
	"time"
)

// places are what there is to know of the places that are asked, each a host and port: whose turn it is, and which
// credentials were turned away there. One may be the switch of several slots.
type places struct {
	mu      sync.Mutex
	queues  map[string]*queue
	refused map[refusal]lockout
}

type queue struct {
	turn chan struct{}
	// users are those that wait or have the turn: the queue goes with the last.
	users int
}

// refusal is what was turned away where.
type refusal struct{ place, shown string }

// enter waits for the turn of a place; leave hands it on. The error is the context's.
func (p *places) enter(ctx context.Context, place string) (leave func(), err error) {
	q := p.join(place)
	select {
	case q.turn <- struct{}{}:
		return func() {
			<-q.turn
			p.part(place, q)
		}, nil
	case <-ctx.Done():
		p.part(place, q)
		return nil, ctx.Err()
	}
}

func (p *places) join(place string) *queue {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.queues[place]
	if q == nil {
		q = &queue{turn: make(chan struct{}, 1)}
		if p.queues == nil {
			p.queues = map[string]*queue{}
		}
		p.queues[place] = q
	}
	q.users++
	return q
}

func (p *places) part(place string, q *queue) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.users--; q.users == 0 {
		delete(p.queues, place)
	}
}

// lockout is why something was turned away, and until when it is not tried again.
type lockout struct {
	until time.Time
	why   string
}

// refuse notes what was turned away: a BMC locks the account of who tries again and again.
func (p *places) refuse(what refusal, now time.Time, out lockout) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.refused, func(_ refusal, old lockout) bool { return !now.Before(old.until) })
	if p.refused == nil {
		p.refused = map[refusal]lockout{}
	}
	p.refused[what] = out
}

// lockedOut is why something is not tried now; empty: it may be.
func (p *places) lockedOut(what refusal, now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	if out := p.refused[what]; now.Before(out.until) {
		return out.why
	}
	return ""
}
