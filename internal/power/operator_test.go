package power

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// steps is a clock that moves only by waiting.
type steps struct{ now time.Time }

func (s *steps) Now() time.Time { return s.now }

func (s *steps) Sleep(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	return ctx.Err()
}

// metal is a machine with a switch whose every answer can be told in advance.
type metal struct {
	*steps
	state State
	// after is how long the machine takes to obey a press; it does not obey what is not there.
	after map[Action]time.Duration
	due   time.Time
	next  State
	reads []any // State or error, taken before the real state
	// lag is how long a reading takes.
	lag time.Duration
	// swallow is how many presses are taken and not obeyed.
	swallow int
	denies  []error
	log     []Action
	stop    context.CancelFunc
}

func (m *metal) String() string { return "switch" }

func (m *metal) Press(_ context.Context, action Action) error {
	m.log = append(m.log, action)
	var answer error
	if len(m.denies) > 0 {
		answer, m.denies = m.denies[0], m.denies[1:]
	}
	if m.stop != nil {
		m.stop()
	}
	if answer != nil && !errors.Is(answer, ErrUnanswered) {
		return answer
	}
	if m.swallow > 0 {
		m.swallow--
		return nil
	}
	if delay, works := m.after[action]; works {
		m.due = m.now.Add(delay)
		m.next = map[Action]State{PressOn: On, PressOff: Off, PressSoft: Off}[action]
	}
	return answer
}

func (m *metal) State(context.Context) (State, error) {
	if m.lag > 0 {
		m.now = m.now.Add(m.lag)
	}
	if len(m.reads) > 0 {
		var answer any
		answer, m.reads = m.reads[0], m.reads[1:]
		if err, failed := answer.(error); failed {
			return "", err
		}
		if state, said := answer.(State); said {
			return state, nil
		}
	}
	if m.next != "" && !m.now.Before(m.due) {
		m.state, m.next = m.next, ""
	}
	return m.state, nil
}

// always repeats an answer.
func always(answer any) []any {
	answers := make([]any, 1000)
	for i := range answers {
		answers[i] = answer
	}
	return answers
}

func TestAnOperationBelievesTheSwitchReadAgainAndNothingElse(t *testing.T) {
	var flapping []any
	for range 500 {
		flapping = append(flapping, Off, On)
	}
	quick, slow := map[Action]time.Duration{PressOn: time.Second, PressOff: time.Second, PressSoft: 10 * time.Second}, map[Action]time.Duration{
		PressOn: 30 * time.Second, PressSoft: 10 * time.Minute, PressOff: time.Second,
	}
	tests := map[string]struct {
		verb    string
		metal   metal
		limits  func(*Limits)
		outcome Outcome
		log     []Action
		says    string
	}{
		"a machine goes on":                                     {verb: "on", metal: metal{state: Off, after: quick}, outcome: Done, log: []Action{PressOn}, says: "says on after 4s, was off"},
		"a machine that is on is left alone":                    {verb: "on", metal: metal{state: On}, outcome: Already, says: "already; nothing was sent"},
		"so is one whose switch is slow to say so":              {verb: "on", metal: metal{state: On, lag: 10 * time.Second}, outcome: Already},
		"one reading of on is not enough":                       {verb: "on", metal: metal{state: Off, after: quick, reads: []any{On}}, outcome: Done, log: []Action{PressOn}},
		"a press that is swallowed is sent again":               {verb: "on", metal: metal{state: Off, after: quick, swallow: 1}, outcome: Done, log: []Action{PressOn, PressOn}, says: "was off, sent 2 times"},
		"a press that is never obeyed ends unobserved":          {verb: "on", metal: metal{state: Off}, outcome: Unobserved, log: []Action{PressOn, PressOn, PressOn}, says: "took it (sent 3 times), but after 1m0s the last reading is: off"},
		"a machine that is slow is waited for":                  {verb: "on", metal: metal{state: Off, after: slow}, limits: func(l *Limits) { l.Observe, l.Presses = time.Minute, 1 }, outcome: Done, log: []Action{PressOn}},
		"without a wait one press is all":                       {verb: "on", metal: metal{state: Off, after: quick}, limits: func(l *Limits) { l.Observe = 0 }, outcome: Unobserved, log: []Action{PressOn}},
		"a switch that cannot be read is pressed once":          {verb: "on", metal: metal{reads: always(ErrUnreadable)}, outcome: Unobserved, log: []Action{PressOn}, says: "none, it cannot be read"},
		"a switch that flaps is not believed":                   {verb: "on", metal: metal{state: Off, reads: flapping}, outcome: Unobserved, log: []Action{PressOn, PressOn, PressOn}},
		"unknown is not off":                                    {verb: "off", metal: metal{state: Unknown}, outcome: Unobserved, log: []Action{PressOff, PressOff, PressOff}},
		"a wrong password is tried once":                        {verb: "on", metal: metal{reads: always(ErrCredentials)}, outcome: BadCredentials, says: "reading switch: bad credentials"},
		"a switch that is not who it should be is tried once":   {verb: "on", metal: metal{reads: always(ErrUntrusted)}, outcome: BadCredentials, says: "reading switch: its certificate is not trusted"},
		"nor is one waited for":                                 {verb: "wait", metal: metal{reads: always(ErrUntrusted)}, outcome: BadCredentials, says: "its certificate is not trusted"},
		"a silent switch is tried for a while":                  {verb: "on", metal: metal{reads: always(ErrUnreachable)}, outcome: Unreachable},
		"a switch that comes back is pressed":                   {verb: "on", metal: metal{state: Off, after: quick, reads: []any{ErrUnreachable, ErrUnreachable}}, outcome: Done, log: []Action{PressOn}},
		"a busy switch is asked again":                          {verb: "on", metal: metal{state: Off, after: quick, denies: []error{ErrBusy, ErrBusy}}, outcome: Done, log: []Action{PressOn, PressOn, PressOn}},
		"a switch that stays busy refuses in the end":           {verb: "on", metal: metal{state: Off, denies: []error{ErrBusy, ErrBusy, ErrBusy, ErrBusy, ErrBusy, ErrBusy, ErrBusy}}, outcome: Refused, log: []Action{PressOn, PressOn, PressOn, PressOn, PressOn}},
		"a refusal is tried again, in bounds":                   {verb: "on", metal: metal{state: Off, denies: []error{ErrRefused, ErrRefused, ErrRefused}}, outcome: Refused, log: []Action{PressOn, PressOn, PressOn}},
		"a refusal by a machine that went on is no failure":     {verb: "on", metal: metal{state: Off, denies: []error{ErrRefused}, reads: []any{Off, On, On}}, outcome: Done, log: []Action{PressOn}},
		"a press without an answer that worked is done":         {verb: "on", metal: metal{state: Off, after: quick, denies: []error{ErrUnanswered}}, outcome: Done, log: []Action{PressOn}},
		"presses that are never answered are no taking":         {verb: "on", metal: metal{state: Off, denies: []error{ErrUnanswered, ErrUnanswered, ErrUnanswered}}, outcome: Unreachable, log: []Action{PressOn, PressOn, PressOn}, says: "sent it 3 times and never answered"},
		"garbage before the press does not keep on from trying": {verb: "on", metal: metal{state: Off, after: quick, reads: []any{ErrGarbled, ErrGarbled}}, outcome: Done, log: []Action{PressOn}},
		"nothing but garbage ends unobserved":                   {verb: "on", metal: metal{reads: always(ErrGarbled)}, outcome: Unobserved, log: []Action{PressOn, PressOn, PressOn}},
		"a button that is not there is not looked for twice":    {verb: "off", metal: metal{state: On, denies: []error{ErrUnsupported}}, outcome: Refused, log: []Action{PressOff}},
		"a machine shuts down":                                  {verb: "soft", metal: metal{state: On, after: quick}, outcome: Done, log: []Action{PressSoft}, says: "says off after 12s, was on"},
		"a machine that is off is not shut down":                {verb: "soft", metal: metal{state: Off}, outcome: Already},
		"a shutdown that is ignored is asked for once":          {verb: "soft", metal: metal{state: On}, outcome: Unobserved, log: []Action{PressSoft}},
		"a shutdown without an answer is not sent again":        {verb: "soft", metal: metal{state: On, denies: []error{ErrUnanswered}}, outcome: Unreachable, log: []Action{PressSoft}},
		"a shutdown that is refused is refused":                 {verb: "soft", metal: metal{state: On, denies: []error{ErrRefused}}, outcome: Refused, log: []Action{PressSoft}},
		"a machine of unreadable state is not shut down":        {verb: "soft", metal: metal{reads: always(ErrGarbled)}, outcome: Garbled},
		"an ignored shutdown ends in a cut when asked for":      {verb: "soft", metal: metal{state: On, after: slow}, limits: func(l *Limits) { l.ForceAfter = new(90 * time.Second) }, outcome: Done, log: []Action{PressSoft, PressOff}, says: "the power was cut, because the soft shutdown was not seen to end"},
		"so does a refused one":                                 {verb: "soft", metal: metal{state: On, after: slow, denies: []error{ErrUnsupported}}, limits: func(l *Limits) { l.ForceAfter = new(time.Minute) }, outcome: Done, log: []Action{PressSoft, PressOff}},
		"a shutdown in time is not cut":                         {verb: "soft", metal: metal{state: On, after: quick}, limits: func(l *Limits) { l.ForceAfter = new(time.Minute) }, outcome: Done, log: []Action{PressSoft}},
		"a plug is opened behind a machine that went down":      {verb: "soft", metal: metal{state: On, after: quick}, limits: func(l *Limits) { l.CutAfterSoft = true }, outcome: Done, log: []Action{PressSoft, PressOff}, says: "the plug was opened behind it"},
		"a plug is opened behind one that was down already":     {verb: "soft", metal: metal{state: Off}, limits: func(l *Limits) { l.CutAfterSoft = true }, outcome: Already, log: []Action{PressOff}, says: "the plug was opened behind it"},
		"a dry run opens no plug":                               {verb: "soft", metal: metal{state: Off}, limits: func(l *Limits) { l.CutAfterSoft, l.DryRun = true, true }, outcome: Already},
		"a plug is not opened behind a machine that runs":       {verb: "soft", metal: metal{state: On}, limits: func(l *Limits) { l.CutAfterSoft = true }, outcome: Unobserved, log: []Action{PressSoft}},
		"a cycle is sent once and seen in both halves":          {verb: "cycle", metal: metal{state: On, reads: []any{On, On, Off, Off, On, On}}, outcome: Done, log: []Action{PressCycle}},
		"a cycle without an answer is never sent again":         {verb: "cycle", metal: metal{state: On, denies: []error{ErrUnanswered}}, outcome: Unreachable, log: []Action{PressCycle}, says: "never answered"},
		"a machine that is off is not cycled":                   {verb: "cycle", metal: metal{state: Off}, outcome: Refused, says: "use on"},
		"a status":                                              {verb: "status", metal: metal{state: On}, outcome: Done, says: "switch says on"},
		"a status in transition":                                {verb: "status", metal: metal{state: Unknown}, outcome: Done, says: "switch says unknown"},
		"a status of a switch that has none":                    {verb: "status", metal: metal{reads: always(ErrUnreadable)}, outcome: Unobserved},
		"a machine that is waited for":                          {verb: "wait", metal: metal{state: Off, reads: []any{Off, Off, Off}, next: On, steps: nil}, outcome: Done},
		"a machine that never comes":                            {verb: "wait", metal: metal{state: Off}, outcome: Unobserved, says: "the last reading is: off"},
		"a wait for a switch that never answers":                {verb: "wait", metal: metal{reads: always(ErrUnreachable)}, outcome: Unreachable, says: "reading switch: unreachable"},
		"a wait for one that answers what is not understood":    {verb: "wait", metal: metal{reads: always(ErrGarbled)}, outcome: Garbled},
		"a wait for one that fell silent":                       {verb: "wait", metal: metal{reads: append([]any{Off}, always(ErrUnreachable)...)}, outcome: Unobserved, says: "the last reading is: off"},
		"a dry run presses nothing":                             {verb: "on", metal: metal{state: Off}, limits: func(l *Limits) { l.DryRun = true }, outcome: Done, says: "dry run: would press on on switch, which says off"},
		"a verb that does not exist":                            {verb: "dance", outcome: Usage},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			clock := &steps{now: time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)}
			tt.metal.steps = clock
			limits := Default()
			if tt.limits != nil {
				tt.limits(&limits)
			}
			operator := Operator{Switch: &tt.metal, Clock: clock, Limits: limits}
			result := operator.Run(t.Context(), tt.verb, On)
			if result.Outcome != tt.outcome || !strings.Contains(result.Message, tt.says) {
				t.Errorf("it ended %s: %s\nwant %s: %s", result.Outcome, result.Message, tt.outcome, tt.says)
			}
			if diff := cmp.Diff(tt.log, tt.metal.log); diff != "" {
				t.Errorf("presses (-want +got):\n%s", diff)
			}
		})
	}
}

// A plug's watts are no proof: a machine that idles below the limit would lose its power in the middle of its work.
func TestAPlugIsNotOpenedBehindAMachineThatAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		state State
		log   []Action
	}{
		"that seems to be down already": {Off, nil}, "that seems to have gone down": {On, []Action{PressSoft}},
	} {
		t.Run(name, func(t *testing.T) {
			clock, limits := &steps{now: time.Unix(0, 0)}, Default()
			limits.CutAfterSoft = true
			m := &metal{steps: clock, state: tt.state, after: map[Action]time.Duration{PressSoft: time.Second}}
			o := Operator{Switch: m, Clock: clock, Limits: limits, Runs: func(context.Context) bool { return true }}
			result := o.Run(t.Context(), "soft", "")
			if result.Outcome != Garbled || !strings.Contains(result.Message, "the plug was not opened") {
				t.Errorf("it ended %s: %s", result.Outcome, result.Message)
			}
			if diff := cmp.Diff(tt.log, m.log); diff != "" {
				t.Errorf("presses (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnOperationThatIsStoppedSaysSo(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	clock := &steps{now: time.Unix(0, 0)}
	m := &metal{steps: clock, state: Off, stop: cancel}
	result := (&Operator{Switch: m, Clock: clock, Limits: Default()}).Run(ctx, "on", "")
	if result.Outcome != Interrupted || len(m.log) != 1 {
		t.Errorf("it ended %s after %v: %s", result.Outcome, m.log, result.Message)
	}
}

func TestNoTwoOutcomesShareAnExitCode(t *testing.T) {
	seen := map[int]Outcome{}
	for outcome, code := range ExitCodes {
		if other, taken := seen[code]; taken {
			t.Errorf("%s and %s are both %d", outcome, other, code)
		}
		seen[code] = outcome
	}
	for _, fault := range []error{
		ErrUnreachable, ErrUnanswered, ErrCredentials, ErrBusy, ErrRefused, ErrGarbled, ErrUnsupported, ErrUnreadable, errors.New("new"),
	} {
		if outcome := outcomeOf(fault); outcome == Done || outcome == Already {
			t.Errorf("the fault %q ends in %s", fault, outcome)
		}
	}
}
