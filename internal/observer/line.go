package observer

import (
	"context"
	"sync"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
)

// line reads the switch of one slot, in a goroutine of its own.
type line struct {
	o *Observer
	// rung is sent to when something happened.
	rung chan struct{}

	mu   sync.Mutex
	slot *v2.Node
	// declared counts the switches that the slot has had: what is heard of a former one is not its any more.
	declared int
	plan     plan
	chance   float64
	memory   memory
	// ended is whether a lifecycle Job ended since the last round began.
	ended bool
	// foreign is whether the slot may hold a reading of a former switch.
	foreign bool
	// edited is whether a person declared the switch anew: what was turned away may be tried once more.
	edited bool
	// accepted is what the switch let in last. Whom it turned away since does not concern this slot.
	accepted refusal
	counts   map[Result]float64
}

// begin is a line's state for a slot whose switch was not asked before, or is another than it was.
func (l *line) begin(slot *v2.Node) {
	source := switches.Source(slot.Spec.Power)
	next := plan{urgent: true}
	if former := l.slot; former != nil {
		l.foreign = l.foreign || switches.Source(former.Spec.Power) != source
		if switches.Place(former.Spec.Power) == switches.Place(slot.Spec.Power) {
			next.asked = l.plan.asked
		}
	}
	held := slot.Status.PowerReading
	l.foreign = l.foreign || held != nil && held.Source != source
	l.slot, l.chance = slot, l.o.Chance()
	next.first = l.o.Clock.Now().Add(time.Duration(l.chance * float64(l.o.Pace.LeastGap/2))) // not all at once after a restart
	l.plan, l.memory, l.ended = next, remember(held, source), false
	l.declared++
}

// run asks whenever it is time to, until the context ends.
func (l *line) run(ctx context.Context) {
	for ctx.Err() == nil {
		l.disown(ctx)
		if due := l.due(); l.o.Clock.Now().Before(due) {
			l.wait(ctx, due)
			continue
		}
		l.round(ctx)
	}
}

func (l *line) due() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.plan.due(l.o.Pace, l.chance)
}

// wait waits for a time, until the line is rung, or until the context ends.
func (l *line) wait(ctx context.Context, due time.Time) {
	timer := l.o.Clock.NewTimer(due.Sub(l.o.Clock.Now()))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-l.rung:
	case <-timer.C():
	}
}

// ring lets the line look at what it is to do.
func (l *line) ring() {
	select {
	case l.rung <- struct{}{}:
	default:
	}
}

// disown takes away what a former switch of the slot said. Its last round is over by now, so that none is saved behind this.
func (l *line) disown(ctx context.Context) {
	l.mu.Lock()
	slot, foreign := l.slot, l.foreign
	l.foreign = false
	l.mu.Unlock()
	if foreign && !l.write(ctx, slot, nil) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.foreign = true
	}
}

// asking is what a round begins with.
type asking struct {
	slot     *v2.Node
	declared int
	// urgent is whether something happened that the reading is wanted for, ended whether it was a lifecycle Job's end.
	urgent, ended bool
	// edited is whether what was turned away may be tried once more.
	edited bool
}

// round asks once, judges the answer and saves it where it tells something.
func (l *line) round(ctx context.Context) {
	l.mu.Lock()
	now := asking{l.slot, l.declared, l.plan.urgent || l.plan.follow, l.ended, l.edited}
	l.plan.urgent, l.ended, l.edited = false, false, false
	l.mu.Unlock()

	began := l.o.Clock.Now()
	a := l.ask(ctx, now)
	took := l.o.Clock.Now().Sub(began)
	if ctx.Err() != nil {
		return // the answer only says that nobody waited for it
	}
	reading, worth := l.judge(now, a)
	if a.how != lockedOut {
		l.o.Told(switches.Protocol(now.slot.Spec.Power), a.result, took)
	}
	l.o.Log.V(1).Info("asked", "slot", now.slot.Name, "switch", switches.Source(now.slot.Spec.Power), "state", a.state,
		"result", a.result, "because", a.why)
	if worth && l.write(ctx, now.slot, reading) {
		l.saved(now, reading, a.result)
	}
}

// judge takes an answer into the line's memory, and answers the reading it amounts to, and whether that tells something.
func (l *line) judge(now asking, a answer) (reading *v2.PowerReading, worth bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.declared != now.declared {
		if switches.Place(l.slot.Spec.Power) == switches.Place(now.slot.Spec.Power) {
			l.plan.asked = l.o.Clock.Now()
		}
		return nil, false
	}
	l.plan.asked, l.plan.follow, l.chance = l.o.Clock.Now(), now.ended, l.o.Chance()
	l.plan.spared = a.how != asked || a.result == Credentials
	reading = l.memory.reading(a, switches.Source(now.slot.Spec.Power))
	if a.how == lockedOut {
		return reading, l.memory.result != a.result // once
	}
	l.counts[a.result]++
	l.plan.failed++
	if a.result == Read || a.result == Flapped {
		l.plan.failed = 0
	}
	worth = l.memory.worthSaving(reading, a.result, l.plan.failed, now.urgent, l.o.Pace.Refresh)
	l.memory = l.memory.heard(reading)
	return reading, worth
}

// write writes a reading into a slot, and answers whether that succeeded. One that is refused is tried again with the next
// round: its slot is gone, or the API server is.
func (l *line) write(ctx context.Context, slot *v2.Node, reading *v2.PowerReading) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := l.o.Save(ctx, slot, reading); err != nil {
		l.o.Log.Info("not saved", "slot", slot.Name, "because", err.Error())
		return false
	}
	return true
}

// saved notes a reading that was written.
func (l *line) saved(now asking, reading *v2.PowerReading, result Result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.declared == now.declared {
		l.memory, l.foreign = l.memory.save(reading, result), false
	}
}
