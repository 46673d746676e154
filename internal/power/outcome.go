package power

import (
	"errors"
	"strings"
	"time"
)

// Outcome says how an operation ended.
type Outcome string

// The outcomes. Of these only Done, Already and, where that was asked for, Unobserved are a success.
const (
	// Done is an effect that was seen: the switch says what was asked for, and said something else before.
	Done Outcome = "done"
	// Already is a machine that was as asked before anything was sent.
	Already Outcome = "already"
	// Unobserved is a switch that took the command and, until the time was up, did not show the effect.
	Unobserved Outcome = "unobserved"
	// Refused is a switch that said no, has no such button, or stayed busy.
	Refused Outcome = "refused"
	// Unreachable is a switch that gave no answer.
	Unreachable Outcome = "unreachable"
	// BadCredentials is a password, key, certificate or host key that was not accepted.
	BadCredentials Outcome = "credentials"
	// Garbled is a switch that answers what nobody understands.
	Garbled Outcome = "garbled"
	// Interrupted is an operation that was stopped from outside.
	Interrupted Outcome = "interrupted"
	// Usage is a command line that cannot be.
	Usage Outcome = "usage"
)

// ExitCodes are the exit codes of the program, one for each outcome. They are part of its interface: never renumber one.
var ExitCodes = map[Outcome]int{
	Done:           0,
	Interrupted:    1,
	Usage:          2,
	Already:        3,
	Unobserved:     4,
	Refused:        5,
	Unreachable:    6,
	BadCredentials: 7,
	Garbled:        8,
}

// Result is what came of an operation.
type Result struct {
	// Verb is what was asked for.
	Verb string `json:"verb"`
	// Outcome is how it ended.
	Outcome Outcome `json:"outcome"`
	// Message says it in a sentence, without the verb.
	Message string `json:"message"`
	// Switch names the protocol and the address.
	Switch string `json:"switch,omitempty"`
	// Before and State are the first and the last reading; empty where none was had.
	Before State `json:"before,omitempty"`
	State  State `json:"state,omitempty"`
	// Presses counts what was sent and taken, or may have been.
	Presses int `json:"presses"`
	// Forced is whether a soft shutdown ended in cutting the power.
	Forced bool `json:"forced,omitempty"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
}

// String is the line that a person reads in an event.
func (r Result) String() string {
	return strings.TrimSpace("power "+r.Verb) + ": " + string(r.Outcome) + ": " + r.Message
}

// outcomeOf is the outcome that a fault ends an operation with.
func outcomeOf(err error) Outcome {
	for _, row := range []struct {
		fault   error
		outcome Outcome
	}{
		{ErrCredentials, BadCredentials}, {ErrUntrusted, BadCredentials}, {ErrGarbled, Garbled}, {ErrRefused, Refused}, {ErrBusy, Refused}, {ErrUnsupported, Refused},
		{ErrUnreadable, Unobserved}, {ErrUnreachable, Unreachable}, {ErrUnanswered, Unreachable},
	} {
		if errors.Is(err, row.fault) {
			return row.outcome
		}
	}
	return Garbled
}

// transient is whether a fault may pass by waiting. Wrong credentials are not tried again: a BMC locks the account.
func transient(err error) bool {
	return errors.Is(err, ErrUnreachable) || errors.Is(err, ErrUnanswered) || errors.Is(err, ErrBusy) || errors.Is(err, ErrGarbled)
}

// seconds rounds for people and for JSON.
func seconds(d time.Duration) float64 { return d.Round(10 * time.Millisecond).Seconds() }
