package plug

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// seen is a request as a plug saw it.
type seen struct{ Line, Body, Auth, Token string }

func listen(t testing.TB, answer func(http.ResponseWriter, *http.Request)) (string, *[]seen) {
	t.Helper()
	var log []seen
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		log = append(log, seen{r.Method + " " + r.URL.String(), string(body), r.Header.Get("Authorization"), r.Header.Get("X-Token")})
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, &log
}

func TestTemplatesAreFilledWithCredentials(t *testing.T) {
	url, log := listen(t, func(http.ResponseWriter, *http.Request) {})
	basic := "Basic dXNlcjpwJnNzIndvcmQ="
	tests := map[string]struct {
		request Request
		want    seen
	}{
		"a plain URL is fetched":                 {Request{URL: url + "/relay/0?turn=on"}, seen{Line: "GET /relay/0?turn=on", Auth: basic}},
		"a method is in capitals":                {Request{URL: url + "/x", Method: "post"}, seen{Line: "POST /x", Auth: basic}},
		"a body is posted":                       {Request{URL: url + "/x", Body: "on"}, seen{Line: "POST /x", Body: "on", Auth: basic}},
		"a password in the URL is escaped there": {Request{URL: url + "/cm?user=${username}&password=${password}&cmnd=Power%20On"}, seen{Line: "GET /cm?user=user&password=p%26ss%22word&cmnd=Power%20On"}},
		"a password in JSON is escaped there":    {Request{URL: url, Method: "PUT", Body: `{"key":"${password}"}`}, seen{Line: "PUT /", Body: `{"key":"p\u0026ss\"word"}`}},
		"a token goes into a header":             {Request{URL: url, Header: map[string]string{"x-token": "Bearer ${token}", "accept": "*/*"}}, seen{Line: "GET /", Auth: basic, Token: "Bearer tok"}},
		"a request that says itself who asks":    {Request{URL: url, Header: map[string]string{"authorization": "Bearer ${token}"}}, seen{Line: "GET /", Auth: "Bearer tok"}},
		"a space is one in a path too":           {Request{URL: url + "/${username}/x?a=${username}&password=${password}"}, seen{Line: "GET /user%20name/x?a=user%20name&password=p%26ss%22word"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			*log = nil
			username := "user"
			if strings.Contains(tt.want.Line, "user%20name") {
				username = "user name"
			}
			s, err := New(Options{On: &tt.request, Username: username, Password: `p&ss"word`, Token: "tok", Web: web.Options{Timeout: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Press(t.Context(), power.PressOn); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]seen{tt.want}, *log); diff != "" {
				t.Errorf("the plug saw (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheStateIsReadAsTheStatusSays(t *testing.T) {
	const shelly = `{"id":0,"output":true,"apower":12.5,"switch:0":{"output":false},"relays":[{"ison":true},{"ison":"off"}],"none":null,"deep":[[7,8]]}`
	tests := map[string]struct {
		status Status
		answer string
		want   power.State // empty: garbled
	}{
		"a truth in JSON":                     {Status{JSONPath: "output"}, shelly, power.On},
		"a name with a colon":                 {Status{JSONPath: "$.switch:0.output"}, shelly, power.Off},
		"an index":                            {Status{JSONPath: "relays[0].ison"}, shelly, power.On},
		"a word":                              {Status{JSONPath: "relays[1].ison"}, shelly, power.Off},
		"an index in an index":                {Status{JSONPath: "deep[0][1]", On: "8"}, shelly, power.On},
		"watts above the limit":               {Status{JSONPath: "apower", Above: "8"}, shelly, power.On},
		"watts below the limit":               {Status{JSONPath: "apower", Above: "12.5"}, shelly, power.Off},
		"watts that are a word":               {Status{JSONPath: "output", Above: "8"}, shelly, ""},
		"watts that are no number":            {Status{Above: "8"}, "NaN", ""},
		"watts without end":                   {Status{Above: "8"}, "Infinity", ""},
		"a pattern with a group":              {Status{Pattern: `POWER":"(\w+)"`}, `{"POWER":"ON"}`, power.On},
		"a pattern without one":               {Status{Pattern: `lamp-\w+`, On: "lamp-lit", Off: "lamp-dark"}, "<b>lamp-dark</b>", power.Off},
		"the whole answer":                    {Status{}, "on\n", power.On},
		"words of one's own":                  {Status{On: "lit", Off: "dark"}, "DARK", power.Off},
		"what is not on is not therefore off": {Status{On: "lit"}, "off", ""},
		"an index beyond the list":            {Status{JSONPath: "relays[9].ison"}, shelly, ""},
		"a name that is not there":            {Status{JSONPath: "input"}, shelly, ""},
		"a null":                              {Status{JSONPath: "none"}, shelly, ""},
		"an object":                           {Status{JSONPath: "switch:0"}, shelly, ""},
		"no JSON":                             {Status{JSONPath: "output"}, "<html>", ""},
		"a pattern that finds nothing":        {Status{Pattern: "x+"}, "yyy", ""},
		"an empty answer":                     {Status{}, "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url, _ := listen(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tt.answer) })
			tt.status.URL = url
			s, err := New(Options{Status: &tt.status, Web: web.Options{Timeout: time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			state, err := s.State(t.Context())
			if state != tt.want || (err == nil) != (tt.want != "") || err != nil && !errors.Is(err, power.ErrGarbled) {
				t.Errorf("the state is %q, %v; want %q", state, err, tt.want)
			}
		})
	}
}

func TestWhatAPlugDoesWrongHasAName(t *testing.T) {
	tests := map[string]struct {
		answer func(http.ResponseWriter, *http.Request)
		method string
		want   error
	}{
		"a wrong password":                  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "", power.ErrCredentials},
		"a right that is missing":           {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) }, "", power.ErrCredentials},
		"a plug that says no":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "", power.ErrRefused},
		"a plug that is busy":               {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) }, "", power.ErrBusy},
		"a post that hangs may have worked": {func(_ http.ResponseWriter, r *http.Request) { hang(r) }, "POST", power.ErrUnanswered},
		"so may a get that hangs":           {func(_ http.ResponseWriter, r *http.Request) { hang(r) }, "GET", power.ErrUnanswered},
		"a plug that hangs up after a post": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "POST", power.ErrUnanswered},
		"a success with a body of any kind": {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte{0xff, 0}) }, "POST", nil},
		"so is that of a get":               {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "10") }, "GET", nil},
		"a gateway without an answer":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGatewayTimeout) }, "GET", power.ErrUnanswered},
		"a success whose body is cut short": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "10") }, "POST", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			url, _ := listen(t, tt.answer)
			s, err := New(Options{
				On: &Request{URL: url + "/on?password=${password}", Method: tt.method}, Password: "hunter2", Web: web.Options{Timeout: 150 * time.Millisecond},
			})
			if err != nil {
				t.Fatal(err)
			}
			err = s.Press(t.Context(), power.PressOn)
			if !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error tells the password: %v", err)
			}
		})
	}
	if _, err := (&Switch{host: "plug"}).State(t.Context()); !errors.Is(err, power.ErrUnreadable) {
		t.Errorf("a plug without a status request: %v", err)
	}
	if err := (&Switch{host: "plug"}).Press(t.Context(), power.PressSoft); !errors.Is(err, power.ErrUnsupported) {
		t.Errorf("a plug without a soft request: %v", err)
	}
}

func hang(r *http.Request) {
	select {
	case <-r.Context().Done():
	case <-time.After(time.Second):
	}
}

func TestTemplatesThatCannotBe(t *testing.T) {
	request := func(url string) Options { return Options{On: &Request{URL: url}} }
	status := func(s Status) Options { s.URL = "http://plug.lan"; return Options{Status: &s} }
	for name, o := range map[string]Options{
		"none at all": {}, "no host": request("/relay/0"), "another protocol": request("mqtt://plug.lan"),
		"a password before the host": request("http://admin:secret@plug.lan"), "a path and a pattern": status(Status{JSONPath: "a", Pattern: "b"}),
		"a pattern that is none": status(Status{Pattern: "("}), "a limit in words": status(Status{Above: "much"}), "a limit that is none": status(Status{Above: "NaN"}), "one word for both": status(Status{On: "1", Off: "1"}),
		"a limit and a word": status(Status{Above: "8", On: "on"}), "an empty part of a path": status(Status{JSONPath: "a..b"}),
		"an index that is none": status(Status{JSONPath: "a[b]"}), "a bracket that stays open": status(Status{JSONPath: "a[1"}),
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// Whatever a plug answers and however it is to be read: a state or a fault.
func FuzzStatus(f *testing.F) {
	f.Add("output", "", "", []byte(`{"output":true}`))
	f.Add("a[0].b", "", "5", []byte(`{"a":[{"b":"6"}]}`))
	f.Add("", `(\w*)`, "", []byte("on\xff"))
	f.Add("$.[3]", "", "1e400", []byte(`[1,2]`))
	f.Fuzz(func(t *testing.T, path, pattern, above string, answer []byte) {
		r, err := Status{JSONPath: path, Pattern: pattern, Above: above}.reader(web.Clean)
		if err != nil {
			return
		}
		state, err := r.read(answer)
		if err != nil && !errors.Is(err, power.ErrGarbled) || err == nil && state != power.On && state != power.Off {
			t.Errorf("%q, %v", state, err)
		}
	})
}
