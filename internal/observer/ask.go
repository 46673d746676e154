package observer

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/go-logr/logr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
)

// patience is how long the API server may take to answer.
const patience = 30 * time.Second

// ask asks the switch, when it is this slot's turn. What was turned away there is not tried again.
func (l *line) ask(ctx context.Context, now asking) answer {
	a := answer{at: l.o.Clock.Now(), state: v2.PowerUnknown, how: unasked}
	place := switches.Place(now.slot.Spec.Power)
	leave, err := l.o.places.enter(ctx, place)
	if err != nil {
		return a.failed(err)
	}
	defer leave()
	a.at = l.o.Clock.Now()
	opened, err := l.open(ctx, now.slot)
	if err != nil {
		return a.failed(err)
	}
	shown := refusal{place, opened.Shown}
	if why := l.locked(shown, now.edited, a.at); why != "" {
		a.how, a.result, a.why = lockedOut, Credentials, why
		return a
	}
	a.how = asked
	state, err := l.state(ctx, opened.Switch)
	if err == nil && l.differs(state) {
		state, err = l.again(ctx, opened.Switch, state)
	}
	if err != nil {
		a = a.failed(err)
		if a.result == Credentials {
			a.why = l.lock(shown, a.why)
		}
		return a
	}
	l.accept(shown)
	a.state, a.result = state, Read
	if state == v2.PowerUnknown {
		a.why = "it says neither on nor off"
	}
	return a
}

// open makes the switch.
func (l *line) open(ctx context.Context, slot *v2.Node) (Opened, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return guarded(l.o.Log, func() (Opened, error) { return l.o.Open(ctx, slot) })
}

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

// state reads the switch once.
func (l *line) state(ctx context.Context, s power.Switch) (v2.PowerState, error) {
	said, err := guarded(l.o.Log, func() (power.State, error) { return s.State(ctx) })
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

// guarded calls what parses that which any device sends. A panic in it is an error of this round and no more.
func guarded[T any](log logr.Logger, call func() (T, error)) (result T, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", errBroke, broken)
			log.Error(err, "caught", "stack", string(debug.Stack()))
		}
	}()
	return call()
}

func (l *line) differs(state v2.PowerState) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.memory.differs(state)
}

// locked is why credentials are not tried now, that were turned away at this place not long ago; empty: they are. Those that
// this slot's own switch let in are, and a person who declares it anew may try.
func (l *line) locked(shown refusal, edited bool, now time.Time) string {
	l.mu.Lock()
	accepted := l.accepted == shown
	l.mu.Unlock()
	if accepted || edited {
		return ""
	}
	return l.o.places.lockedOut(shown, now)
}

// lock notes credentials that were turned away, and answers what there is to say about it from now on.
func (l *line) lock(shown refusal, why string) string {
	now := l.o.Clock.Now()
	until := now.Add(l.o.Pace.Lockout)
	why = fmt.Sprintf("%s; not tried again until the Secret changes, or %s UTC", why, until.UTC().Format(time.TimeOnly))
	l.o.places.refuse(shown, now, lockout{until, why})
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.accepted == shown {
		l.accepted = refusal{}
	}
	return why
}

func (l *line) accept(shown refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.accepted = shown
}
