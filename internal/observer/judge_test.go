package observer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
)

const source = "ipmi 10.0.0.5:623"

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// held is a reading that the slot holds, of so long before noon.
func held(state v2.PowerState, since, at time.Duration) *v2.PowerReading {
	return &v2.PowerReading{State: state, Since: metav1.NewTime(noon.Add(-since)), ObservedAt: metav1.NewTime(noon.Add(-at)), Source: source}
}

func TestSinceIsWhenTheSwitchWasFirstHeardToSaySo(t *testing.T) {
	unknown := remember(held(v2.PowerUnknown, time.Hour, time.Minute), source)
	tests := map[string]struct {
		memory memory
		state  v2.PowerState
		want   time.Duration
	}{
		"the first reading of all": {memory{}, v2.PowerOff, 0},
		"the same again":           {remember(held(v2.PowerOff, time.Hour, time.Minute), source), v2.PowerOff, time.Hour},
		"it turned":                {remember(held(v2.PowerOn, time.Hour, time.Minute), source), v2.PowerOff, 0},
		"it does not answer: the time of before stays":     {remember(held(v2.PowerOn, time.Hour, time.Minute), source), v2.PowerUnknown, time.Hour},
		"it says the same as before it did not answer":     {unknown.heard(held(v2.PowerOff, time.Hour, time.Hour)), v2.PowerOff, time.Hour},
		"it says the opposite of before it did not answer": {unknown.heard(held(v2.PowerOn, time.Hour, time.Hour)), v2.PowerOff, 0},
		"nobody knows what it said before":                 {unknown, v2.PowerOff, time.Hour},
		"another switch":                                   {remember(held(v2.PowerOff, time.Hour, time.Minute), "ipmi 10.0.0.6:623"), v2.PowerOff, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := test.memory.reading(answer{at: noon, state: test.state, why: "because"}, source)
			want := held(test.state, test.want, 0)
			want.Message = "because"
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAReadingIsSavedWhereItTellsSomething(t *testing.T) {
	on := remember(held(v2.PowerOn, time.Hour, time.Minute), source)
	on.result = Read
	silent := remember(held(v2.PowerUnknown, time.Hour, time.Minute), source)
	silent.result = Unreachable
	tests := map[string]struct {
		memory memory
		state  v2.PowerState
		result Result
		failed int
		urgent bool
		want   bool
	}{
		"the first":                                {memory{}, v2.PowerUnknown, Unreachable, 1, false, true},
		"another state":                            {on, v2.PowerOff, Read, 0, false, true},
		"the same within two minutes":              {on, v2.PowerOn, Read, 0, false, false},
		"the same behind an operation":             {on, v2.PowerOn, Read, 0, true, true},
		"a first round that comes to nothing":      {on, v2.PowerUnknown, Unreachable, 1, true, false},
		"a second round that comes to nothing":     {on, v2.PowerUnknown, Unreachable, 2, false, true},
		"a switch that flaps":                      {on, v2.PowerUnknown, Flapped, 0, false, true},
		"the same silence within two minutes":      {silent, v2.PowerUnknown, Unreachable, 3, false, false},
		"a silence with another cause":             {silent, v2.PowerUnknown, Credentials, 1, false, true},
		"the first after a restart":                {remember(held(v2.PowerOn, time.Hour, time.Minute), source), v2.PowerOn, Read, 0, false, true},
		"what is saved has become two minutes old": {aged(on), v2.PowerOn, Read, 0, false, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := test.memory.reading(answer{at: noon, state: test.state}, source)
			if got := test.memory.worthSaving(r, test.result, test.failed, test.urgent, Gentle().Refresh); got != test.want {
				t.Errorf("saved: %t, want %t", got, test.want)
			}
		})
	}
}

func aged(m memory) memory {
	m.saved = held(m.saved.State, time.Hour, Gentle().Refresh)
	return m
}

func TestEveryFaultHasItsResult(t *testing.T) {
	for fault, want := range map[error]Result{
		power.ErrUnreachable: Unreachable, power.ErrUnanswered: Unreachable, power.ErrCredentials: Credentials, power.ErrBusy: Busy,
		power.ErrRefused: Refused, power.ErrUnsupported: Refused, power.ErrUnreadable: Refused, power.ErrGarbled: NotUnderstood,
		switches.ErrSecret: NoSecret, power.ErrUntrusted: Untrusted, errMisconfigured: Misconfigured, errFlaps: Flapped, errBroke: Broke, errors.New("anything"): NotUnderstood,
	} {
		if got := resultOf(fmt.Errorf("asking: %w", fault)); got != want {
			t.Errorf("%v is %s, want %s", fault, got, want)
		}
	}
}

func TestWhatIsWrongWithCredentialsIsNotBlamedOnTheDeclaration(t *testing.T) {
	for fault, want := range map[error]Result{
		switches.ErrSecret: NoSecret, power.ErrCredentials: Credentials, power.ErrUntrusted: Untrusted,
		errors.New("no address"): Misconfigured,
	} {
		if got := resultOf(misconfigured(fmt.Errorf("making it: %w", fault))); got != want {
			t.Errorf("%v is %s, want %s", fault, got, want)
		}
	}
}

func TestAMessageFitsIntoTheStatus(t *testing.T) {
	r := memory{}.reading(answer{at: noon, state: v2.PowerUnknown, why: strings.Repeat("ö", 2000)}, source)
	if n := len([]rune(r.Message)); n > maxMessage || !strings.HasPrefix(r.Message, "ö") || strings.ContainsRune(r.Message, '\uFFFD') {
		t.Errorf("%d characters: …%s", n, r.Message[len(r.Message)-10:])
	}
}
