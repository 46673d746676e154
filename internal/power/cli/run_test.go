package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/internal/power"
)

// stepped is a clock that moves only by waiting.
type stepped struct{ now time.Time }

func (s *stepped) Now() time.Time { return s.now }

func (s *stepped) Sleep(ctx context.Context, d time.Duration) error {
	s.now = s.now.Add(d)
	return ctx.Err()
}

// relay is a smart plug.
type relay struct {
	mu   sync.Mutex
	on   bool
	log  []string
	deaf bool
}

func (r *relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if user, password, ok := request.BasicAuth(); ok && user+":"+password != "admin:secret" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch request.URL.Path {
	case "/on", "/off":
		r.log = append(r.log, request.URL.Path)
		r.on = r.on != (r.on != (request.URL.Path == "/on") && !r.deaf)
	case "/token":
		if request.Header.Get("X-Token") != "Bearer t0ken" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		r.on = true
	case "/noise":
		http.Error(w, "\x1b[2J"+strings.Repeat("no ", 2000)+request.URL.String(), http.StatusInternalServerError)
	case "/status":
		_, _ = fmt.Fprintf(w, `{"output":%t}`, r.on)
	}
}

// run runs the program on a plug; PLUG in the arguments is its address.
func run(t *testing.T, plug string, env, files map[string]string, args ...string) (code int, out, complaints string, log string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = slices.Clone(args)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "PLUG", plug)
	}
	code = Run(t.Context(), Process{
		Args: args, Env: func(name string) string { return env[name] }, Clock: &stepped{now: time.Unix(0, 0)}, Out: &stdout, Errors: &stderr,
		ReadFile: func(name string) ([]byte, error) {
			text, found := files[name]
			if strings.HasPrefix(name, "/broken/") {
				return nil, fs.ErrPermission
			}
			if !found {
				return nil, fs.ErrNotExist
			}
			return []byte(text), nil
		},
		WriteFile: func(_ string, text []byte) error { log = string(text); return nil },
	})
	return code, stdout.String(), stderr.String(), log
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

func TestTheExitCodeAndTheLastLineSayHowItEnded(t *testing.T) {
	plug := []string{"--http-on", "PLUG/on", "--http-off", "PLUG/off", "--http-status", `{"url":"PLUG/status","jsonPath":"output"}`}
	secret := map[string]string{"/c/username": "admin\n", "/c/password": "secret\n", "/c/token": "t0ken\n",
		"/half/username": "admin\n", "/null/username": "", "/null/password": "secret"}
	token := slices.Concat([]string{`--http-on={"url":"PLUG/token","headers":{"X-Token":"Bearer ${token}"}}`}, plug[4:], []string{"on"})
	tests := map[string]struct {
		relay      *relay
		env, files map[string]string
		args       []string
		code       int
		says       string
	}{
		"done":                            {args: append(plug, "on"), code: 0, says: "power on: done: http "},
		"the verb may come first":         {args: append([]string{"on"}, plug...), code: 0, says: "power on: done"},
		"already so":                      {relay: &relay{on: true}, args: append(plug, "on"), code: 3, says: "power on: already: "},
		"already so, and that is fine":    {relay: &relay{on: true}, args: append(plug, "--ok=already", "on"), code: 0, says: "power on: already: "},
		"taken and not observed":          {relay: &relay{deaf: true}, args: append(plug, "on"), code: 4, says: "(sent 3 times), but after 1m0s the last reading is: off"},
		"refused":                         {args: append(plug, "soft"), relay: &relay{on: true}, code: 5, says: "has no soft request"},
		"unreachable":                     {args: []string{"--http-status", "http://127.0.0.1:1/", "status"}, code: 6, says: "power status: unreachable: "},
		"bad credentials":                 {args: append(plug, "on"), env: map[string]string{"POWER_PASSWORD": "guess"}, code: 7, says: "power on: credentials: "},
		"garbled":                         {args: []string{"--http-status", `{"url":"PLUG/nothing","jsonPath":"output"}`, "status"}, code: 8, says: "no JSON"},
		"credentials from files":          {args: append(plug, "--credentials=/c", "on"), files: secret, code: 0, says: "done"},
		"files outrank the environment":   {args: append(plug, "--credentials=/c", "on"), files: secret, env: map[string]string{"POWER_PASSWORD": "guess"}, code: 0, says: "done"},
		"a token from a file":             {args: append(token, "--credentials=/c"), files: secret, code: 0, says: "done"},
		"a token from the environment":    {args: token, env: map[string]string{"POWER_TOKEN": "t0ken"}, code: 0, says: "done"},
		"a line end in the environment":   {args: append(plug, "on"), env: map[string]string{"POWER_USERNAME": "admin\n", "POWER_PASSWORD": "secret\r\n"}, code: 0, says: "done"},
		"a password of two lines":         {args: append(plug, "--credentials=/c", "on"), files: map[string]string{"/c/username": "admin", "/c/password": "secret\nold\n"}, code: 7, says: "the password is more than one line"},
		"two templates in one":            {args: []string{"--http-on", `{"url":"PLUG/on"} {"url":"PLUG/off"}`, "on"}, code: 2, says: "more than one JSON object"},
		"a token that is missing":         {args: token, code: 7, says: "power on: credentials: bad credentials: the on request has ${token} in it, and no token is given"},
		"a file that cannot be read":      {args: append(plug, "--credentials=/broken", "on"), code: 7, says: "reading the credentials"},
		"a Secret without a password":     {args: []string{"--ipmi=127.0.0.1", "--credentials=/half", "on"}, files: secret, code: 7, says: "/half has no password: does its Secret have that key?"},
		"a Secret without a user":         {args: []string{"--redfish=http://127.0.0.1:1", "--credentials=/none", "on"}, files: secret, code: 7, says: "/none has no username: does its Secret have that key?"},
		"a user without a name":           {args: []string{"--redfish=http://127.0.0.1:1", "--credentials=/null", "on"}, files: secret, code: 6, says: "unreachable"},
		"an authority that is none":       {args: []string{"--redfish=http://127.0.0.1:1", "--credentials=/c", "--ca-file=/c/token", "on"}, files: secret, code: 7, says: "its certificate is not trusted: the CA holds no PEM certificate"},
		"a status":                        {relay: &relay{on: true}, args: append(plug, "status"), code: 0, says: "says on"},
		"a wait":                          {relay: &relay{on: true}, args: append(plug, "wait", "on"), code: 3, says: "says on already"},
		"a wait in vain":                  {args: append(plug, "wait", "on"), code: 4, says: "the last reading is: off"},
		"a dry run":                       {args: append(plug, "--dry-run", "on"), code: 0, says: "would press on"},
		"a cut after a soft that is none": {relay: &relay{on: true}, args: append(plug, "--force-after=1m", "soft"), code: 0, says: "the power was cut"},
		"no verb":                         {args: plug, code: 2, says: "say what to do: on, off, soft"},
		"no switch":                       {args: []string{"on"}, code: 2, says: "say which switch"},
		"two switches":                    {args: append(plug, "--ipmi=bmc.lan", "on"), code: 2, says: "one of ipmi, redfish"},
		"two verbs":                       {args: append(plug, "on", "off"), code: 2, says: "one operation at a time"},
		"a wait for nothing":              {args: append(plug, "wait"), code: 2, says: "wait on, or wait off"},
		"a flag that does not exist":      {args: append(plug, "--force", "on"), code: 2, says: "not defined: -force"},
		"an outcome that cannot be fine":  {args: append(plug, "--ok=usage", "on"), code: 2, says: "no outcome that could be fine"},
		"a template with a typing error":  {args: []string{"--http-on", `{"uri":"PLUG"}`, "on"}, code: 2, says: "unknown field"},
		"ssh without a known host":        {args: append(plug, "--ssh=root@worker-01.lan", "soft"), env: map[string]string{"POWER_PASSWORD": "secret"}, code: 7, says: "neither known_hosts nor a fingerprint"},
		"an ssh user of a domain":         {args: []string{"--ssh=ops@home.lan@127.0.0.1:1", "--ssh-fingerprint=SHA256:x", "--reach=0", "soft"}, env: map[string]string{"POWER_PASSWORD": "secret"}, code: 6, says: "dial tcp 127.0.0.1:1: connect: connection refused"},
		"an ssh user who is none":         {args: []string{"--ssh=@127.0.0.1:1", "--ssh-fingerprint=SHA256:x", "status"}, code: 2, says: "ssh needs an address (host:port), a user and a command"},
		"a magic packet that is none":     {args: []string{"--wake-on-lan=worker-01", "on"}, code: 2, says: "not a MAC address"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if tt.relay == nil {
				tt.relay = &relay{}
			}
			server := httptest.NewServer(tt.relay)
			defer server.Close()
			code, out, complaints, _ := run(t, server.URL, tt.env, tt.files, tt.args...)
			if code != tt.code || !strings.Contains(lastLine(out), tt.says) {
				t.Errorf("exit code %d, last line %q\nwant %d, %q\n%s", code, lastLine(out), tt.code, tt.says, complaints)
			}
		})
	}
}

func TestJSONIsOneLineAndPeopleGetTheirsInTheTerminationLog(t *testing.T) {
	r := &relay{}
	server := httptest.NewServer(r)
	defer server.Close()
	code, out, complaints, log := run(t, server.URL, nil, nil, "-o", "json", "--termination-log=/dev/termination-log",
		"--http-on", "PLUG/on", "--http-status", `{"url":"PLUG/status","jsonPath":"output"}`, "on")
	for name := range keys(t, out) {
		if !slices.Contains([]string{"verb", "outcome", "message", "switch", "before", "state", "presses", "forced", "seconds"}, name) {
			t.Errorf("programs that read it do not know %q", name)
		}
	}
	var got power.Result
	if err := json.Unmarshal([]byte(out), &got); code != 0 || err != nil {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	want := power.Result{
		Verb: "on", Outcome: power.Done, Message: "http " + host + " says on after 2s, was off",
		Switch: "http " + host, Before: power.Off, State: power.On, Presses: 1, Seconds: 2,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
	if log != got.String()+"\n" || !strings.Contains(complaints, "took on") {
		t.Errorf("the termination log is %q, beside the result stands %q", log, complaints)
	}
}

// keys are the names in a JSON object. They are part of the program's interface, as the exit codes are.
func keys(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"verb", "outcome", "message", "presses", "seconds"} {
		if _, there := object[name]; !there {
			t.Errorf("there is no %q in %s", name, text)
		}
	}
	return object
}

// A switch may say much, and anything: what is printed and ends up in an event is one printable line.
func TestWhateverASwitchSaysIsOneLine(t *testing.T) {
	server := httptest.NewServer(&relay{})
	defer server.Close()
	env := map[string]string{"POWER_PASSWORD": "hunter2"}
	code, out, _, log := run(t, server.URL, env, nil, "--termination-log=/log", "--presses=1",
		"--http-on=PLUG/noise?password=${password}", `--http-status={"url":"PLUG/status","jsonPath":"output"}`, "on")
	if code != power.ExitCodes[power.Refused] || log != lastLine(out)+"\n" || len(log) > 400 { // what a claim's record keeps
		t.Errorf("exit code %d, %q", code, log)
	}
	if strings.ContainsAny(strings.ReplaceAll(out, "\n", ""), "\x1b\r\t") || strings.Contains(out, "hunter2") {
		t.Errorf("it prints %q", out)
	}
}

// Whatever the verb and however it ends: no credential is printed, least of all by a dry run.
func TestNothingThatIsPrintedHasACredentialInIt(t *testing.T) {
	server := httptest.NewServer(&relay{})
	defer server.Close()
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----\n"
	files := map[string]string{"/c/username": "admin", "/c/password": "hunter22", "/c/token": "t0ken-t0ken", "/k/ssh-privatekey": key, "/k/password": "sesame-street"}
	plug := []string{"--credentials=/c", "--reach=0", `--http-on={"url":"PLUG/on?p=${password}","headers":{"X-Token":"${token}"}}`,
		"--http-off=PLUG/noise?p=${password}&t=${token}", `--http-status={"url":"PLUG/status?p=${password}","jsonPath":"output"}`}
	for _, args := range [][]string{
		append(plug, "--dry-run", "on"), append(plug, "--dry-run", "-o=json", "on"), append(plug, "on"), append(plug, "-o=json", "off"), append(plug, "status"),
		append(plug, "--ssh=root@127.0.0.1:1", "--ssh-credentials=/k", "--ssh-fingerprint=SHA256:x", "soft"),
		{"--credentials=/c", "--dry-run", "--reach=0", "--timeout=1s", "--ipmi=127.0.0.1:1", "on"},
		{"--credentials=/c", "--dry-run", "--reach=0", "--timeout=1s", "--redfish=https://127.0.0.1:1", "on"},
		{"--credentials=/c", "--ipmi-cipher-suite=1", "--ipmi=127.0.0.1:1", "on"},
	} {
		_, out, complaints, log := run(t, server.URL, nil, files, append(args, "--termination-log=/log")...)
		if out == "" {
			t.Errorf("%v prints nothing", args)
		}
		for _, secret := range []string{"hunter22", "t0ken-t0ken", "sesame-street", "b3BlbnNzaA"} {
			if strings.Contains(out+complaints+log, secret) {
				t.Errorf("%v prints %q:\n%s%s%s", args, secret, out, complaints, log)
			}
		}
	}
}

func TestNoFlagTakesASecret(t *testing.T) {
	(&options{}).flags().VisitAll(func(f *flag.Flag) {
		for _, word := range []string{"password", "token", "secret", "user"} {
			if strings.Contains(f.Name, word) {
				t.Errorf("there is a flag %s", f.Name)
			}
		}
	})
}

func TestTheHelpAndThePageNameEveryExitCode(t *testing.T) {
	code, out, _, _ := run(t, "", nil, nil, "-h")
	page, err := os.ReadFile("../../../docs/power.md")
	if err != nil {
		t.Fatal(err)
	}
	for outcome, number := range power.ExitCodes {
		if want := fmt.Sprintf("  %d  %-12s", number, outcome); code != 0 || !strings.Contains(out, want) {
			t.Errorf("the help has no line %q", want)
		}
		if want := fmt.Sprintf("\n| %d | %s | ", number, outcome); !strings.Contains(string(page), want) {
			t.Errorf("docs/power.md has no row %q", want)
		}
	}
}

// A machine that is woken by a packet and shut down by ssh, and one behind a plug that cannot be read: one switch each.
func TestTwoWaysMakeOneSwitch(t *testing.T) {
	up, down := &half{state: power.Off}, &half{state: power.On}
	for name, tt := range map[string]struct {
		pair pair
		want power.State
	}{
		"the way up is read":              {pair{up: up, down: down, readUp: true}, power.Off},
		"the way down, where up is blind": {pair{up: up, down: down}, power.On},
	} {
		up.log, down.log = nil, nil
		if state, err := tt.pair.State(t.Context()); err != nil || state != tt.want {
			t.Errorf("%s: %s, %v", name, state, err)
		}
		if !tt.pair.runs(t.Context()) || (pair{up: down, down: up}).runs(t.Context()) {
			t.Errorf("%s: whether the machine runs is not what the way down says", name)
		}
		for _, action := range []power.Action{power.PressOn, power.PressSoft, power.PressOff} {
			if err := tt.pair.Press(t.Context(), action); err != nil {
				t.Error(err)
			}
		}
		if diff := cmp.Diff([][]power.Action{{power.PressOn, power.PressOff}, {power.PressSoft}}, [][]power.Action{up.log, down.log}); diff != "" {
			t.Errorf("%s: presses (-want +got):\n%s", name, diff)
		}
	}
}

type half struct {
	state power.State
	log   []power.Action
}

func (h *half) Press(_ context.Context, action power.Action) error {
	h.log = append(h.log, action)
	return nil
}
func (h *half) State(context.Context) (power.State, error) { return h.state, nil }
func (h *half) String() string                             { return "half" }

func TestAddressesGetTheirPort(t *testing.T) {
	for given, want := range map[string]string{
		"bmc.lan": "bmc.lan:623", "bmc.lan:6230": "bmc.lan:6230", "fe80::1": "[fe80::1]:623", "[fe80::1]": "[fe80::1]:623", "[fe80::1]:7": "[fe80::1]:7",
	} {
		if got := withPort(given, "623"); got != want {
			t.Errorf("%s became %s, want %s", given, got, want)
		}
	}
}

func TestOnlyAPlugThatMeasuresIsOpenedBehindItsMachine(t *testing.T) {
	for status, want := range map[string]bool{
		`{"url":"http://plug.lan","jsonPath":"apower","above":"8"}`: true, `{"url":"http://kvm.lan","jsonPath":"led"}`: false,
	} {
		o, err := parse([]string{"soft", "--ssh=worker-14.lan", "--http-off=http://plug.lan/off", "--http-status=" + status})
		if err != nil || o.opensBehind() != want {
			t.Errorf("with %s it is %v, %v", status, o.opensBehind(), err)
		}
	}
}
