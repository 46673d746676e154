package ipmi

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/types"
	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/internal/power"
)

// the is a switch at an address, as admin, with a patience that a test has.
func the(t testing.TB, address string, change ...func(*Options)) *Switch {
	t.Helper()
	o := Options{Address: address, Username: "admin", Password: "secret", Timeout: time.Second}
	for _, f := range change {
		f(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEveryActionReachesTheChassisOnce(t *testing.T) {
	for name, suites := range map[string][]types.CipherSuiteID{
		"a BMC of today": nil, "with suite 17 alone": {types.CipherSuiteID17}, "an older one, with suite 3": {types.CipherSuiteID3},
	} {
		t.Run(name, func(t *testing.T) {
			b := &box{}
			s := the(t, b.serve(t, suites...))
			for _, step := range []struct {
				action power.Action
				want   power.State
			}{{power.PressOn, power.On}, {power.PressCycle, power.On}, {power.PressSoft, power.Off}, {power.PressOn, power.On}, {power.PressOff, power.Off}} {
				if err := s.Press(t.Context(), step.action); err != nil {
					t.Fatalf("%s: %v", step.action, err)
				}
				if state, err := s.State(t.Context()); err != nil || state != step.want {
					t.Fatalf("after %s it is %s, %v", step.action, state, err)
				}
			}
			if diff := cmp.Diff([]string{"on", "cycle", "soft", "on", "off"}, b.log); diff != "" {
				t.Errorf("the chassis did (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatABMCDoesWrongHasAName(t *testing.T) {
	silent, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = silent.Close() }()
	closed, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	fresh := func(t *testing.T, b *box) string { return b.serve(t) }
	at := func(address string) func(*testing.T, *box) string {
		return func(*testing.T, *box) string { return address }
	}
	mangled := func(mangle func(int, []byte) [][]byte) func(*testing.T, *box) string {
		return func(t *testing.T, b *box) string { return between(t, b.serve(t), mangle) }
	}
	quick := func(o *Options) { o.Timeout = 250 * time.Millisecond }
	tests := map[string]struct {
		box     *box
		serve   func(*testing.T, *box) string
		change  func(*Options)
		want    error
		presses int
	}{
		"a wrong password":             {serve: fresh, change: func(o *Options) { o.Password = "guess" }, want: power.ErrCredentials},
		"a user that does not exist":   {serve: fresh, change: func(o *Options) { o.Username = "nobody" }, want: power.ErrCredentials},
		"a user that may only look":    {serve: fresh, change: func(o *Options) { o.Username = "viewer" }, want: power.ErrCredentials},
		"nobody listens":               {serve: at(closed.LocalAddr().String()), change: quick, want: power.ErrUnreachable},
		"a BMC that hangs":             {serve: at(silent.LocalAddr().String()), change: quick, want: power.ErrUnreachable},
		"a chassis that says no":       {serve: fresh, box: &box{fault: errors.New("stuck")}, want: power.ErrRefused, presses: 1},
		"a command that is never done": {serve: fresh, box: &box{slow: 2 * time.Second}, change: quick, want: power.ErrUnanswered},
		"an answer that is late":       {serve: fresh, box: &box{slow: 300 * time.Millisecond}, presses: 1},
		"the first packet is lost": {serve: mangled(func(n int, answer []byte) [][]byte {
			if n == 1 {
				return nil
			}
			return [][]byte{answer}
		}), presses: 1},
		"every answer comes twice":  {serve: mangled(func(_ int, answer []byte) [][]byte { return [][]byte{answer, answer} }), presses: 1},
		"every answer is cut short": {serve: mangled(func(_ int, answer []byte) [][]byte { return [][]byte{answer[:len(answer)/2]} }), change: quick, want: power.ErrGarbled},
		"nothing but noise":         {serve: mangled(func(int, []byte) [][]byte { return [][]byte{bytes.Repeat([]byte{0x06}, 3000)} }), change: quick, want: power.ErrGarbled},
		"answers that somebody else wrote": {serve: mangled(func(n int, answer []byte) [][]byte {
			if n > 3 {
				answer[len(answer)-1] ^= 1
			}
			return [][]byte{answer}
		}), change: quick, want: power.ErrGarbled},
		"noise before the answer": {serve: mangled(func(_ int, answer []byte) [][]byte { return [][]byte{{}, []byte("hello"), answer} }), presses: 1},
		"a suite that the BMC does not have": {serve: func(t *testing.T, b *box) string { return b.serve(t, types.CipherSuiteID3) },
			change: func(o *Options) { o.CipherSuite = 17 }, want: power.ErrRefused},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := tt.box
			if b == nil {
				b = &box{}
			}
			address := tt.serve(t, b)
			var changes []func(*Options)
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			err := the(t, address, changes...).Press(t.Context(), power.PressOn)
			if !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.log) != tt.presses {
				t.Errorf("the chassis was told %v, want %d commands", b.log, tt.presses)
			}
		})
	}
}

// A BMC has four sessions to give, and those that are not closed stay taken for a minute.
func TestSessionsAreGivenBack(t *testing.T) {
	b := &box{}
	s := the(t, b.serve(t))
	for n := range 12 {
		if _, err := s.State(t.Context()); err != nil {
			t.Fatalf("reading %d: %v", n, err)
		}
	}
}

func TestOptionsThatCannotBe(t *testing.T) {
	tests := map[string]struct {
		change func(*Options)
		want   string
	}{
		"no port":             {func(o *Options) { o.Address = "bmc.lan" }, "not an address"},
		"a port of words":     {func(o *Options) { o.Address = "bmc.lan:ipmi" }, "not an address"},
		"a weak suite":        {func(o *Options) { o.CipherSuite = 1 }, "cipher suite 1"},
		"a password too long": {func(o *Options) { o.Password = strings.Repeat("x", 21) }, "at most 20"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := Options{Address: "bmc.lan:623", Username: "admin", Password: "secret"}
			tt.change(&o)
			if _, err := New(o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the error is %v, want %s", err, tt.want)
			}
		})
	}
}

// A refusal may end after its status, as OpenIPMI's does. Nobody takes leave of a BMC that gave no session: it would not
// answer, and the next cipher suite waits.
func TestARefusalMayBeShort(t *testing.T) {
	b := &box{on: true}
	sent := 0
	address := between(t, b.serve(t, types.CipherSuiteID3), func(n int, answer []byte) [][]byte {
		sent = n
		if p, ok := parse(answer); ok && p.kind == kindOpened && p.payload[statusAt] != 0 {
			answer = append([]byte{}, answer[:payloadAt+statusAt+1]...)
			answer[lengthAt] = statusAt + 1
		}
		return [][]byte{answer}
	})
	began := time.Now()
	state, err := the(t, address, func(o *Options) { o.Timeout = 20 * time.Second }).State(t.Context())
	if err != nil || state != power.On {
		t.Errorf("the state is %s, %v", state, err)
	}
	if took := time.Since(began); took > 4*time.Second || sent != 7 {
		t.Errorf("it took %s and %d answers, want the refusal, three to log in, the privilege, the status and the end", took, sent)
	}
}
