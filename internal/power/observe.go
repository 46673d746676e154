package power

import (
	"context"
	"errors"
	"time"
)

// steady is how many readings in a row must agree before one is believed: a switch may flap, or answer from a moment ago.
const steady = 2

// look reads the switch before anything is pressed, and ends the operation when the machine is as asked already.
func (p *operation) look(ctx context.Context, want State) bool {
	state, err := p.read(ctx)
	p.fault, p.result.Before, p.result.State = err, state, state
	if err != nil {
		p.say("reading %s: %v", p.Switch, err)
		return false
	}
	p.say("%s says %s", p.Switch, state)
	if state != want || !p.observe(ctx, want, p.Limits.Poll) {
		return false
	}
	p.end(Already, p.Switch.String()+" says "+string(want)+" already; nothing was sent")
	return true
}

// hopeless is whether a switch that could not be read for this reason need not be pressed either.
func hopeless(fault error) bool {
	return strangers(fault) || errors.Is(fault, ErrUnreachable) || errors.Is(fault, ErrUnanswered) || errors.Is(fault, ErrBusy)
}

// strangers is whether we and the switch do not know one another, which no waiting mends.
func strangers(fault error) bool {
	return errors.Is(fault, ErrCredentials) || errors.Is(fault, ErrUntrusted)
}

// unreadable is whether the newest reading failed because the switch has none to give.
func (p *operation) unreadable() bool { return errors.Is(p.fault, ErrUnreadable) }

// read asks for the state until there is an answer, for as long as a silent switch is tried.
func (p *operation) read(ctx context.Context) (State, error) {
	var state State
	err := p.reach(ctx, transient, func() error {
		var err error
		state, err = p.Switch.State(ctx)
		return err
	})
	return state, err
}

// press sends the action until the switch takes it, or may have taken it. What was sent and not answered is never sent
// again from here: the next reading says whether it happened.
func (p *operation) press(ctx context.Context, action Action) error {
	again := func(err error) bool { return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrBusy) }
	err := p.reach(ctx, again, func() error { return p.Switch.Press(ctx, action) })
	switch {
	case err == nil:
		p.taken++
		p.say("%s took %s", p.Switch, action)
	case errors.Is(err, ErrUnanswered):
		p.say("%s was sent %s: %v", p.Switch, action, err)
	default:
		return err
	}
	p.result.Presses++
	return nil
}

// reach repeats a request while its fault may pass, for at most the time that a silent switch is tried.
func (p *operation) reach(ctx context.Context, again func(error) bool, request func() error) error {
	limit := p.Clock.Now().Add(p.Limits.Reach)
	for pause := p.Limits.Poll; ; pause = min(2*pause, 15*time.Second) {
		err := request()
		if err == nil || !again(err) || !p.Clock.Now().Add(pause).Before(limit) {
			return err
		}
		p.say("%s: %v; trying again in %s", p.Switch, err, pause)
		if p.Clock.Sleep(ctx, pause) != nil {
			return err
		}
	}
}

// observe reads until the state was seen steadily, for at most d; as often as it takes to see it so it reads in any case,
// however long a slow switch is about it. A reading that fails says nothing; one that will never succeed ends it.
func (p *operation) observe(ctx context.Context, want State, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	limit := p.Clock.Now().Add(d)
	for agreed, reads := 0, 1; ; reads++ {
		state, err := p.Switch.State(ctx)
		p.fault = err
		switch {
		case err == nil && state == want:
			agreed++
		default:
			agreed = 0
		}
		if err == nil {
			p.result.State = state
		}
		switch {
		case agreed >= steady:
			return true
		case errors.Is(err, ErrUnreadable) || strangers(err), reads >= steady && !p.Clock.Now().Before(limit):
			return false
		}
		if p.Clock.Sleep(ctx, max(0, min(p.Limits.Poll, limit.Sub(p.Clock.Now())))) != nil {
			return false
		}
	}
}
