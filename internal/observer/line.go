package observer

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
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
	// refused is the version of the credentials that the switch did not accept, until lockedUntil.
	refused     string
	lockedUntil time.Time
	counts      map[Result]float64
}

// begin is a line's state for a slot whose switch was not asked before, or is another than it was.
func (l *line) begin(slot *v2.Node) {
	l.slot, l.chance = slot, l.o.Chance()
	l.plan = plan{first: l.o.Clock.Now().Add(time.Duration(l.chance * float64(l.o.Pace.LeastGap/2)))} // not all at once after a restart
	l.memory = remember(slot.Status.PowerReading, switches.Source(slot.Spec.Power))
	l.refused, l.lockedUntil, l.ended = "", time.Time{}, false
	l.declared++
}

// run asks whenever it is time to, until the context ends.
func (l *line) run(ctx context.Context) {
	for ctx.Err() == nil {
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

// asking is what a round begins with.
type asking struct {
	slot     *v2.Node
	declared int
	// urgent is whether something happened that the reading is wanted for, ended whether it was a lifecycle Job's end.
	urgent, ended bool
}

// round asks once, judges the answer and saves it where it tells something.
func (l *line) round(ctx context.Context) {
	l.mu.Lock()
	now := asking{l.slot, l.declared, l.plan.urgent || l.plan.follow, l.ended}
	l.plan.urgent, l.ended = false, false
	l.mu.Unlock()

	began := l.o.Clock.Now()
	a, asked := l.ask(ctx, now)
	took := l.o.Clock.Now().Sub(began)
	if ctx.Err() != nil {
		return // the answer only says that nobody waited for it
	}
	reading, worth := l.judge(now, a, asked)
	if !asked {
		return
	}
	l.o.Told(switches.Protocol(now.slot.Spec.Power), a.result, took)
	l.o.Log.V(1).Info("asked", "slot", now.slot.Name, "switch", switches.Source(now.slot.Spec.Power), "state", a.state,
		"result", a.result, "because", a.why)
	if worth {
		l.save(ctx, now, reading, a.result)
	}
}

// judge takes an answer into the line's memory, and answers the reading it amounts to, and whether that tells something.
func (l *line) judge(now asking, a answer, asked bool) (reading *v2.PowerReading, worth bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.declared != now.declared {
		return nil, false
	}
	l.plan.asked, l.plan.follow, l.chance = l.o.Clock.Now(), now.ended, l.o.Chance()
	if !asked {
		return nil, false
	}
	l.counts[a.result]++
	l.plan.failed++
	if a.result == Read || a.result == Flapped {
		l.plan.failed = 0
	}
	reading = l.memory.reading(a, switches.Source(now.slot.Spec.Power))
	worth = l.memory.worthSaving(reading, a.result, l.plan.failed, now.urgent, l.o.Pace.Refresh)
	l.memory = l.memory.heard(reading)
	return reading, worth
}

// save writes a reading. One that is refused is tried again with the next round: its slot is gone, or the API server is.
func (l *line) save(ctx context.Context, now asking, reading *v2.PowerReading, result Result) {
	if err := l.o.Save(ctx, now.slot, reading); err != nil {
		l.o.Log.Info("not saved", "slot", now.slot.Name, "because", err.Error())
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.declared == now.declared {
		l.memory = l.memory.save(reading, result)
	}
}

// ask asks the switch; false: it was not asked, because it would only turn the same password away again.
func (l *line) ask(ctx context.Context, now asking) (a answer, asked bool) {
	a = answer{at: l.o.Clock.Now(), state: v2.PowerUnknown}
	opened, err := l.o.Open(ctx, now.slot)
	if err != nil {
		return a.failed(err), true
	}
	if l.locked(opened.Version) {
		return a, false
	}
	leave, err := l.o.addresses.enter(ctx, switches.Source(now.slot.Spec.Power))
	if err != nil {
		return a, false
	}
	defer leave()
	a.at = l.o.Clock.Now()
	state, err := l.state(ctx, opened.Switch)
	if err == nil && l.differs(state) {
		state, err = l.again(ctx, opened.Switch, state)
	}
	l.lock(now, opened.Version, err)
	switch {
	case errors.Is(err, errFlaps):
		a.result, a.why = Flapped, err.Error()
	case err != nil:
		return a.failed(err), true
	default:
		a.state, a.result = state, Read
		if state == v2.PowerUnknown {
			a.why = "it says neither on nor off"
		}
	}
	return a, true
}

func (a answer) failed(err error) answer {
	a.result, a.why = resultOf(err), err.Error()
	return a
}

var errFlaps = errors.New("it says now this and now that")

// again asks a second time for what differs from before: a switch may flap, or answer from a moment ago.
func (l *line) again(ctx context.Context, s power.Switch, first v2.PowerState) (v2.PowerState, error) {
	timer := l.o.Clock.NewTimer(l.o.Pace.Steady)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return v2.PowerUnknown, ctx.Err()
	case <-timer.C():
	}
	second, err := l.state(ctx, s)
	if err == nil && second != first {
		return v2.PowerUnknown, fmt.Errorf("%w: first %s, %s later %s", errFlaps, first, l.o.Pace.Steady, second)
	}
	return second, err
}

// state reads the switch once. A panic in it is an error of this round and no more.
func (l *line) state(ctx context.Context, s power.Switch) (state v2.PowerState, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			state, err = v2.PowerUnknown, fmt.Errorf("%w: %v", errBroke, broken)
			l.o.Log.Error(err, "caught", "stack", string(debug.Stack()))
		}
	}()
	said, err := s.State(ctx)
	switch {
	case err != nil:
		return v2.PowerUnknown, err
	case said == power.On:
		return v2.PowerOn, nil
	case said == power.Off:
		return v2.PowerOff, nil
	}
	return v2.PowerUnknown, nil
}

func (l *line) differs(state v2.PowerState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory.differs(state)
}

// locked is whether these credentials were turned away not long ago.
func (l *line) locked(version string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return !l.lockedUntil.IsZero() && l.refused == version && l.o.Clock.Now().Before(l.lockedUntil)
}

// lock notes credentials that were turned away: a BMC locks the account of who tries again and again.
// Of a switch that was declared anew meanwhile it says nothing.
func (l *line) lock(now asking, version string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.declared != now.declared {
		return
	}
	l.refused, l.lockedUntil = "", time.Time{}
	if errors.Is(err, power.ErrCredentials) {
		l.refused, l.lockedUntil = version, l.o.Clock.Now().Add(l.o.Pace.Lockout)
	}
}
