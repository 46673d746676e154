package observer

import (
	"errors"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// Result is what one round of asking came to. It is also a label of metrics: the set is closed.
type Result string

// The results.
const (
	// Read is a switch that said on or off, or that it is in between.
	Read Result = "read"
	// Flapped is a switch that said now this and now that.
	Flapped Result = "flapped"
	// NoSecret is a Secret that is not there, lacks a key, or may not be read by the observer.
	NoSecret Result = "secret"
	// Misconfigured is a declaration that no switch can be made of.
	Misconfigured Result = "misconfigured"
	// The faults of a switch, as package power names them.
	Unreachable   Result = "unreachable"
	Credentials   Result = "credentials"
	Untrusted     Result = "untrusted"
	Busy          Result = "busy"
	Refused       Result = "refused"
	NotUnderstood Result = "garbled"
	// Broke is a bug of ours, caught.
	Broke Result = "broke"
)

// Results are all of them.
var Results = []Result{Read, Flapped, NoSecret, Misconfigured, Unreachable, Credentials, Untrusted, Busy, Refused, NotUnderstood, Broke}

// resultOf is the result that a fault of a switch ends a round with.
func resultOf(err error) Result {
	for _, row := range []struct {
		fault  error
		result Result
	}{
		{power.ErrCredentials, Credentials}, {power.ErrUntrusted, Untrusted}, {power.ErrBusy, Busy}, {power.ErrRefused, Refused}, {power.ErrUnsupported, Refused},
		{power.ErrUnreadable, Refused}, {power.ErrUnreachable, Unreachable}, {power.ErrUnanswered, Unreachable}, {switches.ErrSecret, NoSecret},
		{errMisconfigured, Misconfigured}, {errFlaps, Flapped}, {errBroke, Broke},
	} {
		if errors.Is(err, row.fault) {
			return row.result
		}
	}
	return NotUnderstood
}

var (
	errMisconfigured = errors.New("no switch can be made of spec.power")
	errBroke         = errors.New("the observer broke over it")
	errFlaps         = errors.New("it says now this and now that")
)

// answer is what a round came to.
type answer struct {
	// at is when the switch was first asked in it.
	at     time.Time
	how    how
	state  v2.PowerState
	result Result
	// why is what there is to say about an unknown.
	why string
}

// how is whether a round came as far as the switch.
type how int

const (
	asked how = iota
	// unasked is a switch that could not be asked, for want of a Secret for example. It costs the switch nothing to see soon
	// whether it can.
	unasked
	// lockedOut is a switch that was not asked on purpose: it would only turn the same credentials away again.
	lockedOut
)

func (a answer) failed(err error) answer {
	a.result, a.why = resultOf(err), err.Error()
	return a
}

// memory is what a line knows of the past.
type memory struct {
	// saved is the reading that the slot holds, or nil; result is of the round it came from, empty where that was before
	// this process.
	saved  *v2.PowerReading
	result Result
	// said is the last state that was understood; empty: none, or before this process.
	said v2.PowerState
	// since is when that was first heard, or, while nothing was understood, when asking began; saved or not.
	since metav1.Time
}

// remember begins with what the slot holds, if it is of the same switch.
func remember(held *v2.PowerReading, source string) memory {
	if held == nil || held.Source != source {
		return memory{}
	}
	m := memory{saved: held, since: held.Since}
	if held.State != v2.PowerUnknown {
		m.said = held.State
	}
	return m
}

// differs is whether a state is other than what was said last, so that it is asked for again before it is believed.
func (m memory) differs(state v2.PowerState) bool {
	return m.said != state || m.saved == nil || m.saved.State != state
}

// maxMessage is how many characters status.powerReading.message may hold.
const maxMessage = 1024

// reading is what an answer amounts to. What failed is not taken for a change, and after a restart of the observer what is
// said is not taken for news: since tells a machine that went off from a switch that has always said so.
func (m memory) reading(a answer, source string) *v2.PowerReading {
	at := metav1.NewTime(a.at.UTC().Truncate(time.Second))
	r := &v2.PowerReading{State: a.state, Since: at, ObservedAt: at, Source: source, Message: web.Line(a.why, maxMessage-1)}
	if !m.since.IsZero() && (a.state == v2.PowerUnknown || m.said == "" || m.said == a.state) {
		r.Since = m.since
	}
	return r
}

// worthSaving is whether a reading tells the manager something: another state, an age that matters, or, behind an
// operation, that it is new. A first round that comes to nothing is not told: the former reading ages meanwhile.
func (m memory) worthSaving(r *v2.PowerReading, result Result, failed int, urgent bool, refresh time.Duration) bool {
	switch {
	case m.saved == nil:
		return true
	case failed == 1 && m.saved.State != v2.PowerUnknown:
		return false
	}
	return urgent || m.saved.State != r.State || m.result != result || r.ObservedAt.Sub(m.saved.ObservedAt.Time) >= refresh
}

// save notes that a reading was saved.
func (m memory) save(r *v2.PowerReading, result Result) memory {
	m.saved, m.result = r, result
	return m
}

// heard notes what was understood, saved or not.
func (m memory) heard(r *v2.PowerReading) memory {
	m.since = r.Since
	if r.State != v2.PowerUnknown {
		m.said = r.State
	}
	return m
}
