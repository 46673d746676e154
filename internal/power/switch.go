// Package power works a machine's power switch and believes no exit code: what was asked for has happened when the switch,
// read again, says so.
//
// It is the heart of the program power (cmd/power), which a slot's Jobs run. The protocols are packages of their own below
// this one; each makes a Switch. Nothing here knows Kubernetes or the operator.
package power

import (
	"context"
	"errors"
	"time"
)

// State is what a switch says about the power of its machine.
type State string

// The states. Unknown is a machine in transition, or a switch that can tell on but never off; it is never taken for off.
const (
	On      State = "on"
	Off     State = "off"
	Unknown State = "unknown"
)

// Action is one press of a switch.
type Action string

// The actions. PressOn and PressOff change nothing on a machine that is already there, so they may be sent again;
// PressSoft and PressCycle may not.
const (
	PressOn    Action = "on"
	PressOff   Action = "off"
	PressSoft  Action = "soft"
	PressCycle Action = "cycle"
)

// Switch is a machine's power switch. Its methods are called one at a time, and each is bounded by the switch's own time
// for one request as well as by the context.
type Switch interface {
	// Press sends the action once and returns when the switch took it, which proves nothing about the power. Its error is
	// one of the faults below.
	Press(ctx context.Context, action Action) error
	// State reads the power now. Its error is one of the faults below.
	State(ctx context.Context) (State, error)
	// String names the protocol and the address, for people: "ipmi 10.0.0.5:623".
	String() string
}

// The faults: every error of a Switch is one of these, wrapped with what was being done.
var (
	// ErrUnreachable is a switch that gave no answer, and was not sent the action.
	ErrUnreachable = errors.New("unreachable")
	// ErrUnanswered is an action that was sent and not answered: it may have happened.
	ErrUnanswered = errors.New("no answer")
	// ErrCredentials is a switch that does not accept who we are, or a machine that shows another ssh host key.
	ErrCredentials = errors.New("bad credentials")
	// ErrUntrusted is a switch that cannot show, by its certificate, that it is who it should be. It was sent no password.
	ErrUntrusted = errors.New("its certificate is not trusted")
	// ErrBusy is a switch that refuses for now: no free session, or the machine is in transition.
	ErrBusy = errors.New("busy")
	// ErrRefused is a switch that understood the request and said no.
	ErrRefused = errors.New("refused")
	// ErrGarbled is an answer that makes no sense.
	ErrGarbled = errors.New("answer not understood")
	// ErrUnsupported is a switch that has no such button.
	ErrUnsupported = errors.New("not supported")
	// ErrUnreadable is a switch whose state cannot be read at all.
	ErrUnreadable = errors.New("cannot be read")
)

// Clock tells the time and waits.
type Clock interface {
	Now() time.Time
	// Sleep waits for d, or until the context ends, which is its error.
	Sleep(ctx context.Context, d time.Duration) error
}
