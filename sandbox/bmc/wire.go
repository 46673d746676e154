package bmc

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// errHungUp is an action that was done and is not answered.
var errHungUp = errors.New("the connection ends here")

// wire is one protocol's way to the machine's power, and where its lies are told.
type wire struct {
	protocol Protocol
	machine  *machineroom.Metal
	// ctx ends with the panel.
	ctx context.Context
	// learn tells the protocol's server of a change of the lies, where it has to prepare something.
	learn func(Lies)
	// reads counts how often the power state was told.
	reads atomic.Int64

	mu   sync.Mutex
	lies Lies
	// changed is closed, and replaced, whenever lies change.
	changed chan struct{}
	// silent is that a withheld answer was noted since the lies changed; wrong is that the next reading of one that flaps is.
	silent, wrong bool
}

func newWire(ctx context.Context, protocol Protocol, machine *machineroom.Metal) *wire {
	return &wire{protocol: protocol, machine: machine, ctx: ctx, learn: func(Lies) {}, changed: make(chan struct{})}
}

func (w *wire) set(l Lies) error {
	if err := l.Validate(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lies, w.silent, w.wrong = l, false, l.Flap
	w.learn(l)
	close(w.changed)
	w.changed = make(chan struct{})
	text := "none"
	if l != (Lies{}) {
		// A struct of numbers and durations cannot fail to encode.
		encoded, _ := json.Marshal(l)
		text = string(encoded)
	}
	w.machine.Note(LiesChanged, string(w.protocol), text)
	return nil
}

func (w *wire) current() Lies {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.lies
}

// source is who acted, for the power log.
func (w *wire) source(who string) string {
	if who == "" {
		return string(w.protocol)
	}
	return string(w.protocol) + ":" + who
}

// spend uses up one of a lie's times and notes it as kind.
func (w *wire) spend(lie func(*Lies) *machineroom.Times, kind machineroom.Kind, source, note string) bool {
	w.mu.Lock()
	spent := lie(&w.lies).Spend()
	w.mu.Unlock()
	if spent && kind != "" {
		w.machine.Note(kind, source, note)
	}
	return spent
}

// press works the machine's power as the lies have it. errHungUp is an action that was done and must not be answered.
func (w *wire) press(ctx context.Context, action machineroom.Action, who, note string) error {
	source := w.source(who)
	err := w.act(ctx, action, source, note)
	w.dawdle(ctx, source)
	if err == nil && w.spend(func(l *Lies) *machineroom.Times { return &l.HangUp }, HungUp, source, string(action)) {
		return errHungUp
	}
	return err
}

func (w *wire) act(ctx context.Context, action machineroom.Action, source, note string) error {
	switch {
	case w.spend(func(l *Lies) *machineroom.Times { return &l.DoNothing }, machineroom.CommandDidNothing, source, string(action)):
		return nil
	case action == machineroom.ActionOn &&
		w.spend(func(l *Lies) *machineroom.Times { return &l.SwallowPowerOn }, machineroom.PowerOnSwallowed, source, note):
		return nil
	case action == machineroom.ActionSoft &&
		w.spend(func(l *Lies) *machineroom.Times { return &l.IgnoreSoftOff }, machineroom.SoftOffIgnored, source, note):
		return nil
	}
	return w.machine.Press(ctx, action, source)
}

// isOn tells whether the machine has power, as the lies have it.
func (w *wire) isOn(ctx context.Context, who string) bool {
	w.reads.Add(1)
	on := w.machine.Status().On
	if w.tellsWrong() {
		on = !on
		w.machine.Note(WrongStateTold, w.source(who), map[bool]string{true: "on", false: "off"}[on])
	}
	w.dawdle(ctx, w.source(who))
	return on
}

// tellsWrong is whether this reading is a lie.
func (w *wire) tellsWrong() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	wrong := w.wrong
	if w.lies.Flap {
		w.wrong = !w.wrong
	}
	return wrong || w.lies.WrongState
}

// dawdle waits for as long as answers are late.
func (w *wire) dawdle(ctx context.Context, source string) {
	w.mu.Lock()
	late, changed := w.lies.AnswerLate.Duration, w.changed
	w.mu.Unlock()
	if late == 0 {
		return
	}
	w.machine.Note(AnswerDelayed, source, late.String())
	timer := time.NewTimer(late)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-w.ctx.Done():
	case <-changed:
	case <-timer.C:
	}
}

// withholds is whether nothing is answered now. It is noted once: how often somebody asks again is his affair.
func (w *wire) withholds() bool {
	w.mu.Lock()
	never, first := w.lies.AnswerNever, !w.silent
	w.silent = w.silent || never
	w.mu.Unlock()
	if never && first {
		w.machine.Note(AnswerWithheld, w.source(""), "")
	}
	return never
}

// withhold returns false at once if answers are given, and true once they are given again or nobody waits any more.
func (w *wire) withhold(ctx context.Context) bool {
	if !w.withholds() {
		return false
	}
	for {
		w.mu.Lock()
		never, changed := w.lies.AnswerNever, w.changed
		w.mu.Unlock()
		if !never {
			return true
		}
		select {
		case <-ctx.Done():
			return true
		case <-w.ctx.Done():
			return true
		case <-changed:
		}
	}
}

// drops is whether this packet or connection is lost.
func (w *wire) drops() bool {
	return w.spend(func(l *Lies) *machineroom.Times { return &l.DropPackets }, PacketDropped, w.source(""), "")
}

// refuses is whether there is no session to give.
func (w *wire) refuses() bool {
	return w.spend(func(l *Lies) *machineroom.Times { return &l.RefuseSessions }, SessionRefused, w.source(""), "")
}

// reject notes a password that was not the one.
func (w *wire) reject(who string) { w.machine.Note(PasswordRejected, w.source(who), "") }
