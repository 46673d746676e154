package power

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Limits bound an operation. Zero values are not defaults: Default is.
type Limits struct {
	// Observe is how long the effect is waited for once the switch took the command. Zero: it is not waited for.
	Observe time.Duration
	// Reach is how long a switch is tried that does not answer or is busy.
	Reach time.Duration
	// Poll is the pause between two readings, and between two tries.
	Poll time.Duration
	// Presses is how often on and off may be sent while the switch goes on to say otherwise. Soft and cycle are sent once.
	Presses int
	// ForceAfter cuts the power when a soft shutdown was not seen to end within it; nil: never.
	ForceAfter *time.Duration
	// CutAfterSoft opens the switch once a soft shutdown was seen to end, or is seen to have ended before, for a plug whose
	// machine only starts when its power returns.
	CutAfterSoft bool
	// DryRun reads and presses nothing.
	DryRun bool
}

// Default is what an operation is bounded by when nobody says otherwise.
func Default() Limits {
	return Limits{Observe: time.Minute, Reach: 30 * time.Second, Poll: 2 * time.Second, Presses: 3}
}

// Operator carries out one operation on one switch, one request at a time.
type Operator struct {
	Switch Switch
	Clock  Clock
	Limits Limits
	// Runs is whether the machine's operating system answers, where something beside the switch can tell; nil: nothing can.
	// A plug is not opened behind a machine that runs, whatever it draws.
	Runs func(ctx context.Context) bool
	// Progress is told what happens on the way, a line at a time.
	Progress func(line string)
}

// operation is the state of one run.
type operation struct {
	*Operator
	began time.Time
	// fault is why the newest reading failed, or nil.
	fault error
	// taken counts the presses that the switch answered with a yes.
	taken  int
	result Result
}

// Run carries out a verb: on, off, soft, cycle, status or wait; wait needs the state that is waited for.
func (o *Operator) Run(ctx context.Context, verb string, until State) Result {
	p := &operation{Operator: o, began: o.Clock.Now(), result: Result{Verb: verb, Switch: o.Switch.String()}}
	switch verb {
	case "on":
		p.drive(ctx, PressOn, On)
	case "off":
		p.drive(ctx, PressOff, Off)
	case "soft":
		p.soft(ctx)
	case "cycle":
		p.cycle(ctx)
	case "status":
		p.status(ctx)
	case "wait":
		p.wait(ctx, until)
	default:
		p.end(Usage, "there is no verb "+verb)
	}
	if ctx.Err() != nil && p.result.Outcome != Done && p.result.Outcome != Already {
		p.end(Interrupted, fmt.Sprintf("stopped from outside after %s; last reading: %s", p.elapsed(), orNone(p.result.State)))
	}
	p.result.Seconds = seconds(o.Clock.Now().Sub(p.began))
	return p.result
}

func (p *operation) end(outcome Outcome, message string) {
	p.result.Outcome, p.result.Message = outcome, message
}

func (p *operation) fail(doing string, err error) {
	p.end(outcomeOf(err), fmt.Sprintf("%s %s: %v", doing, p.Switch, err))
}

func (p *operation) elapsed() time.Duration {
	return p.Clock.Now().Sub(p.began).Round(10 * time.Millisecond)
}

// drive presses until the switch shows the state, at most Presses times.
func (p *operation) drive(ctx context.Context, action Action, want State) {
	if p.look(ctx, want) || p.dry(action) || ctx.Err() != nil {
		return
	}
	if hopeless(p.fault) {
		p.fail("reading", p.fault)
		return
	}
	var refusal error
	for n := 1; n <= max(1, p.Limits.Presses); n++ {
		refusal = p.press(ctx, action)
		if refusal != nil && !errors.Is(refusal, ErrRefused) {
			p.fail("pressing "+string(action)+" on", refusal)
			return
		}
		if p.observe(ctx, want, p.Limits.Observe/time.Duration(max(1, p.Limits.Presses))) {
			p.end(Done, p.seen(want))
			return
		}
		if p.Limits.Observe == 0 || p.unreadable() || ctx.Err() != nil {
			break
		}
	}
	if refusal != nil {
		p.fail("pressing "+string(action)+" on", refusal)
		return
	}
	p.unobserved()
}

// soft asks for an orderly shutdown once, and cuts the power after a grace where that was asked for.
func (p *operation) soft(ctx context.Context) {
	if p.look(ctx, Off) {
		// Whoever shut it down before may have been stopped before the plug was opened.
		if p.Limits.CutAfterSoft && !p.Limits.DryRun {
			p.end(Already, p.Switch.String()+" says off already")
			p.cut(ctx)
		}
		return
	}
	if p.dry(PressSoft) || ctx.Err() != nil {
		return
	}
	if p.fault != nil && !p.unreadable() {
		// The press may be a toggle: it is for a machine that is known to be on.
		p.fail("reading", p.fault)
		return
	}
	refusal := p.press(ctx, PressSoft)
	grace := p.Limits.Observe
	if force := p.Limits.ForceAfter; force != nil {
		grace = *force
	}
	if (refusal == nil || p.Limits.ForceAfter != nil) && p.observe(ctx, Off, grace) {
		p.end(Done, p.seen(Off))
		if p.Limits.CutAfterSoft {
			p.cut(ctx)
		}
		return
	}
	switch {
	case ctx.Err() != nil:
	case p.Limits.ForceAfter != nil:
		p.say("the machine is not seen off %s after it was asked to shut down (%s): cutting the power", grace, orTaken(refusal))
		p.result.Forced = true
		p.force(ctx)
	case refusal != nil:
		p.fail("asking for a shutdown through", refusal)
	default:
		p.unobserved()
	}
}

// force cuts the power of a machine that did not shut down.
func (p *operation) force(ctx context.Context) {
	if err := p.press(ctx, PressOff); err != nil {
		p.fail("cutting the power at", err)
		return
	}
	if p.observe(ctx, Off, max(p.Limits.Observe, p.Limits.Reach)) {
		p.end(Done, p.seen(Off)+"; the power was cut, because the soft shutdown was not seen to end")
		return
	}
	p.unobserved()
}

// cut opens a plug behind a machine that has shut down: only power that returns starts it again.
func (p *operation) cut(ctx context.Context) {
	if p.Runs != nil && p.Runs(ctx) {
		p.end(Garbled, fmt.Sprintf("%s: it says off, and yet the machine's operating system answers; the plug was not opened", p.Switch))
		return
	}
	if err := p.press(ctx, PressOff); err != nil {
		p.fail("the machine shut down; opening", err)
		return
	}
	p.result.Message += "; the plug was opened behind it"
}

// cycle is sent once. It is seen only if the switch shows off and then on.
func (p *operation) cycle(ctx context.Context) {
	if p.look(ctx, Off) {
		p.end(Refused, fmt.Sprintf("%s says off: there is nothing to cycle, use on", p.Switch))
		return
	}
	if p.dry(PressCycle) || ctx.Err() != nil {
		return
	}
	if p.fault != nil {
		p.fail("reading", p.fault)
		return
	}
	if err := p.press(ctx, PressCycle); err != nil {
		p.fail("pressing cycle on", err)
		return
	}
	if p.observe(ctx, Off, p.Limits.Observe/2) && p.observe(ctx, On, p.Limits.Observe/2) {
		p.end(Done, fmt.Sprintf("%s said off and then on, after %s", p.Switch, p.elapsed()))
		return
	}
	if p.taken == 0 {
		p.end(Unreachable, fmt.Sprintf("%s was sent it and never answered, and was not seen to go off and on again in %s", p.Switch, p.elapsed()))
		return
	}
	p.end(Unobserved, fmt.Sprintf("%s took it, but was not seen to go off and on again in %s", p.Switch, p.elapsed()))
}

func (p *operation) status(ctx context.Context) {
	state, err := p.read(ctx)
	if err != nil {
		p.fail("reading", err)
		return
	}
	p.result.State = state
	p.end(Done, fmt.Sprintf("%s says %s", p.Switch, state))
}

func (p *operation) wait(ctx context.Context, want State) {
	if p.look(ctx, want) || p.dry("") || ctx.Err() != nil {
		return
	}
	if strangers(p.fault) || p.unreadable() {
		p.fail("reading", p.fault)
		return
	}
	if p.observe(ctx, want, p.Limits.Observe) {
		p.end(Done, p.seen(want))
		return
	}
	if p.fault != nil && p.result.State == "" { // it never said anything
		p.fail("reading", p.fault)
		return
	}
	p.unobserved()
}

// dry ends a dry run before anything is pressed.
func (p *operation) dry(action Action) bool {
	if !p.Limits.DryRun {
		return false
	}
	would := "would wait"
	if action != "" {
		would = "would press " + string(action)
	}
	p.end(Done, fmt.Sprintf("dry run: %s on %s, which says %s", would, p.Switch, orNone(p.result.State)))
	return true
}

func (p *operation) seen(want State) string {
	text := fmt.Sprintf("%s says %s after %s", p.Switch, want, p.elapsed())
	if p.result.Before != "" {
		text += ", was " + string(p.result.Before)
	}
	if p.result.Presses > 1 && !p.result.Forced {
		text += fmt.Sprintf(", sent %d times", p.result.Presses)
	}
	return text
}

func (p *operation) unobserved() {
	reading := fmt.Sprintf("after %s the last reading is: %s", p.elapsed(), orNone(p.result.State))
	switch {
	case p.result.Verb == "wait":
		p.end(Unobserved, fmt.Sprintf("%s: %s", p.Switch, reading))
	case p.taken == 0:
		p.end(Unreachable, fmt.Sprintf("%s was sent it %d times and never answered; %s", p.Switch, p.result.Presses, reading))
	default:
		p.end(Unobserved, fmt.Sprintf("%s took it (sent %d times), but %s", p.Switch, p.result.Presses, reading))
	}
}

func (p *operation) say(format string, args ...any) {
	if p.Progress != nil {
		p.Progress(fmt.Sprintf(format, args...))
	}
}

func orNone(state State) string {
	if state == "" {
		return "none, it cannot be read"
	}
	return string(state)
}

func orTaken(refusal error) string {
	if refusal == nil {
		return "the switch took that"
	}
	return refusal.Error()
}
