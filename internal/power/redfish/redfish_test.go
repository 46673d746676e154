package redfish

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// service is a Redfish service as its standard describes it. Paths in answers take the place of what it would say.
type service struct {
	mu      sync.Mutex
	state   string
	resets  []string
	answers map[string]func(http.ResponseWriter)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if user, password, _ := r.BasicAuth(); user != "admin" || password != "secret" {
		http.Error(w, `{"error":{"message":"General error","@Message.ExtendedInfo":[{"Message":"The account or password is wrong."}]}}`, http.StatusUnauthorized)
		return
	}
	what := r.Method + " " + r.URL.Path
	if answer, odd := s.answers[what]; odd {
		answer(w)
		return
	}
	switch what {
	case "GET /redfish/v1/Systems":
		_, _ = io.WriteString(w, `{"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]}`)
	case "GET /redfish/v1/Systems/1":
		_, _ = fmt.Fprintf(w, `{"PowerState":%q,"Actions":{"#ComputerSystem.Reset":{"target":"/redfish/v1/Systems/1/Actions/ComputerSystem.Reset",
			"ResetType@Redfish.AllowableValues":["On","ForceOff","GracefulShutdown","ForceRestart"]}}}`, s.state)
	case "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset":
		var asked struct{ ResetType string }
		if json.NewDecoder(r.Body).Decode(&asked) != nil {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		s.resets = append(s.resets, asked.ResetType)
		s.state = map[string]string{"On": "On", "ForceOff": "Off", "GracefulShutdown": "Off", "ForceRestart": "On"}[asked.ResetType]
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

func says(status int, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(status); _, _ = io.WriteString(w, body) }
}

func options(server *httptest.Server) Options {
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return Options{Address: server.URL, Username: "admin", Password: "secret", Web: web.Options{Timeout: time.Second, CA: ca}}
}

func TestEveryActionIsAResetThatTheSystemOffers(t *testing.T) {
	s := &service{state: "Off"}
	server := httptest.NewTLSServer(s)
	defer server.Close()
	sw, err := New(options(server))
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		action power.Action
		want   power.State
	}{{power.PressOn, power.On}, {power.PressCycle, power.On}, {power.PressSoft, power.Off}, {power.PressOn, power.On}, {power.PressOff, power.Off}} {
		if err := sw.Press(t.Context(), step.action); err != nil {
			t.Fatalf("%s: %v", step.action, err)
		}
		if state, err := sw.State(t.Context()); err != nil || state != step.want {
			t.Fatalf("after %s it is %s, %v", step.action, state, err)
		}
	}
	if diff := cmp.Diff([]string{"On", "ForceRestart", "GracefulShutdown", "On", "ForceOff"}, s.resets); diff != "" {
		t.Errorf("resets (-want +got):\n%s", diff)
	}
}

func TestWhatAServiceDoesWrongHasAName(t *testing.T) {
	const system, reset = "GET /redfish/v1/Systems/1", "POST /redfish/v1/Systems/1/Actions/ComputerSystem.Reset"
	hang := func(w http.ResponseWriter) {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		time.Sleep(300 * time.Millisecond)
	}
	tests := map[string]struct {
		answers map[string]func(http.ResponseWriter)
		change  func(*Options)
		want    error
		says    string
	}{
		"a wrong password":                          {change: func(o *Options) { o.Password = "guess" }, want: power.ErrCredentials, says: "The account or password is wrong."},
		"a certificate of nobody we know":           {change: func(o *Options) { o.Web.CA = nil }, want: power.ErrUntrusted, says: "its certificate is not trusted: tls: failed to verify certificate: x509: "},
		"any certificate, when asked":               {change: func(o *Options) { o.Web.CA, o.Web.Insecure = nil, true }},
		"a system that is named":                    {change: func(o *Options) { o.System = "1" }},
		"a system that is not there":                {change: func(o *Options) { o.System = "2" }, want: power.ErrRefused, says: "404"},
		"a reset that is refused, in its own words": {answers: map[string]func(http.ResponseWriter){reset: says(400, `{"error":{"message":"x","@Message.ExtendedInfo":[{"Message":"The chassis is open."}]}}`)}, want: power.ErrRefused, says: "The chassis is open."},
		"a service that is busy":                    {answers: map[string]func(http.ResponseWriter){reset: says(503, "later")}, want: power.ErrBusy},
		"a reset without an answer":                 {answers: map[string]func(http.ResponseWriter){reset: func(http.ResponseWriter) { time.Sleep(300 * time.Millisecond) }}, change: func(o *Options) { o.Web.Timeout = 150 * time.Millisecond }, want: power.ErrUnanswered},
		"a reading that hangs in the middle":        {answers: map[string]func(http.ResponseWriter){system: hang}, change: func(o *Options) { o.Web.Timeout = 150 * time.Millisecond }, want: power.ErrGarbled},
		"a reset that it does not offer":            {answers: map[string]func(http.ResponseWriter){system: says(200, `{"PowerState":"On","Actions":{"#ComputerSystem.Reset":{"target":"/x","ResetType@Redfish.AllowableValues":["ForceOff"]}}}`)}, want: power.ErrUnsupported, says: "offers the resets ForceOff"},
		"several systems":                           {answers: map[string]func(http.ResponseWriter){"GET /redfish/v1/Systems": says(200, `{"Members":[{"@odata.id":"/redfish/v1/Systems/1"},{"@odata.id":"/redfish/v1/Systems/2"}]}`)}, want: power.ErrUnsupported, says: "1, 2: say which"},
		"no system":                                 {answers: map[string]func(http.ResponseWriter){"GET /redfish/v1/Systems": says(200, `{}`)}, want: power.ErrGarbled},
		"no JSON":                                   {answers: map[string]func(http.ResponseWriter){system: says(200, `<html>`)}, want: power.ErrGarbled},
		"half an answer":                            {answers: map[string]func(http.ResponseWriter){system: says(200, `{"PowerState":"O`)}, want: power.ErrGarbled},
		"an answer without end":                     {answers: map[string]func(http.ResponseWriter){system: says(200, `{"PowerState":"`+strings.Repeat("x", 2<<20))}, want: power.ErrGarbled, says: "larger than"},
		"a link that leads elsewhere":               {answers: map[string]func(http.ResponseWriter){system: says(200, `{"PowerState":"Off","Actions":{"#ComputerSystem.Reset":{"target":"https://evil.example/reset"}}}`)}, want: power.ErrGarbled, says: "not a place in it"},
		"a redirect is not followed": {answers: map[string]func(http.ResponseWriter){system: func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://evil.example/")
			w.WriteHeader(http.StatusFound)
		}}, want: power.ErrRefused, says: "redirects to https://evil.example/"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(&service{state: "Off", answers: tt.answers})
			server.Config.ErrorLog = nil
			server.StartTLS()
			defer server.Close()
			o := options(server)
			if tt.change != nil {
				tt.change(&o)
			}
			sw, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			err = sw.Press(t.Context(), power.PressOn)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v\nwant %v: %s", err, tt.want, tt.says)
			}
			if err != nil && strings.Contains(err.Error(), "secret") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
}

func TestAMachineInTransitionIsUnknown(t *testing.T) {
	for said, want := range map[string]power.State{"On": power.On, "Off": power.Off, "PoweringOn": power.Unknown, "PoweringOff": power.Unknown, "Paused": power.Unknown} {
		server := httptest.NewTLSServer(&service{state: said})
		sw, err := New(options(server))
		if err != nil {
			t.Fatal(err)
		}
		if state, err := sw.State(t.Context()); err != nil || state != want {
			t.Errorf("%s is %s, %v", said, state, err)
		}
		server.Close()
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	for _, address := range []string{"", "bmc.lan", "ftp://bmc.lan", "https://admin:secret@bmc.lan", "https://"} {
		if _, err := New(Options{Address: address}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

// Whatever a service answers, at every step, is a state or a fault, and crashes nothing.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"PowerState":"On"}`), []byte(`{"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]}`), 200)
	f.Add([]byte(`{"PowerState":7}`), []byte(`{"Members":[{"@odata.id":"//"}]}`), 200)
	f.Add([]byte(`{"PowerState":"On","Actions":[]}`), []byte(`{"Members":{}}`), 200)
	f.Add([]byte(`{"error":{"@Message.ExtendedInfo":[{"Message":7}]}}`), []byte("\xff\x00"), 400)
	f.Add([]byte(``), []byte(`null`), 204)
	f.Fuzz(func(t *testing.T, system, systems []byte, status int) {
		if status < 200 || status > 599 {
			status = 200
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			if bytes.HasSuffix([]byte(r.URL.Path), []byte("/Systems")) {
				_, _ = w.Write(systems)
				return
			}
			_, _ = w.Write(system)
		}))
		defer server.Close()
		sw, err := New(Options{Address: server.URL, Web: web.Options{Timeout: time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		if state, err := sw.State(t.Context()); err == nil && state != power.On && state != power.Off && state != power.Unknown {
			t.Errorf("the state is %q", state)
		}
		_ = sw.Press(t.Context(), power.PressOn)
	})
}
