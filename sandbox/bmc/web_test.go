package bmc_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// web calls a panel's services as a client does that trusts its certificate and knows the password.
type web struct {
	*bench
	client         *http.Client
	base           string
	user, password string
	token          string
}

func (b *bench) web(protocol bmc.Protocol) *web {
	b.t.Helper()
	text, err := os.ReadFile(b.CA)
	if err != nil {
		b.t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(text)
	scheme := "http://"
	if protocol == bmc.Redfish {
		scheme = "https://"
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}, DisableKeepAlives: true}
	return &web{bench: b, client: &http.Client{Transport: transport, Timeout: 2 * time.Second},
		base: scheme + b.Address(protocol), user: b.Credentials.User, password: b.Credentials.Password}
}

// call returns the status and the body of an answer, and its header.
func (w *web) call(method, path, body string) (string, http.Header, error) {
	w.t.Helper()
	request, err := http.NewRequestWithContext(context.WithoutCancel(w.t.Context()), method, w.base+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.token != "" {
		request.Header.Set("X-Auth-Token", w.token)
	} else if w.user != "" {
		request.SetBasicAuth(w.user, w.password)
	}
	response, err := w.client.Do(request)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return fmt.Sprintf("%d %s", response.StatusCode, text), response.Header, err
}

func (w *web) wants(method, path, body, want string) {
	w.t.Helper()
	got, _, err := w.call(method, path, body)
	if err != nil || !strings.Contains(got, want) {
		w.t.Errorf("%s %s %s: %s, %v, want %s", method, path, body, got, err, want)
	}
}

const (
	system = "/redfish/v1/Systems/1"
	reset  = system + "/Actions/ComputerSystem.Reset"
)

func TestRedfishWorksTheMachine(t *testing.T) {
	b := newBench(t, bmc.Redfish)
	w := b.web(bmc.Redfish)
	w.wants("GET", "/redfish/v1/", "", `"Systems":{"@odata.id":"/redfish/v1/Systems"}`)
	w.wants("GET", "/redfish/v1/Systems", "", `"Members":[{"@odata.id":"/redfish/v1/Systems/1"}]`)
	w.wants("GET", system, "", `"PowerState":"Off"`)
	w.wants("POST", reset, `{"ResetType":"PowerCycle"}`, "409 ")
	w.wants("POST", reset, `{"ResetType":"Nmi"}`, "400 ")
	w.wants("POST", reset, `{`, "400 ")
	w.wants("POST", reset, `{"ResetType":"On"}`, "204 ")
	b.happens(machineroom.BootDone)
	w.wants("GET", system, "", `"PowerState":"On"`)
	w.wants("POST", reset, `{"ResetType":"GracefulShutdown"}`, "204 ")
	b.happens(machineroom.PoweredOff)
	b.says("redfish:admin", machineroom.PowerCycleRequested, machineroom.PowerOnRequested, machineroom.PoweredOn,
		machineroom.SoftOffRequested, machineroom.Silent, machineroom.PoweredOff)
}

func TestRedfishSessions(t *testing.T) {
	b := newBench(t, bmc.Redfish)
	w := b.web(bmc.Redfish)
	login, err := json.Marshal(map[string]string{"UserName": w.user, "Password": w.password})
	if err != nil {
		t.Fatal(err)
	}
	w.user = ""
	w.wants("GET", system, "", "401 ")
	b.lie(bmc.Redfish, bmc.Lies{RefuseSessions: 1})
	w.wants("POST", "/redfish/v1/SessionService/Sessions", string(login), "503 ")
	_, header, err := w.call("POST", "/redfish/v1/SessionService/Sessions", string(login))
	if err != nil || header.Get("X-Auth-Token") == "" {
		t.Fatalf("no session: %v, %v", header, err)
	}
	w.token = header.Get("X-Auth-Token")
	w.wants("GET", system, "", `"PowerState":"Off"`)
	w.wants("DELETE", header.Get("Location"), "", "204 ")
	w.wants("GET", system, "", "401 ")
	w.token, w.user, w.password = "", b.Credentials.User, "guessed"
	w.wants("GET", system, "", "401 ")
	b.says("redfish", bmc.PasswordRejected, bmc.SessionRefused, bmc.PasswordRejected, bmc.PasswordRejected)
}

// TestPlugWorksTheMachine also shows what a plug does not know: that the machine behind its closed relay is off.
func TestPlugWorksTheMachine(t *testing.T) {
	b := newBench(t, bmc.Plug, bmc.SSH)
	w := b.web(bmc.Plug)
	w.wants("GET", "/rpc/Switch.GetStatus?id=0", "", `"apower":0,"id":0,"output":false`)
	w.wants("GET", "/rpc/Switch.Set?id=0&on=true", "", `{"was_on":false}`)
	b.happens(machineroom.BootDone)
	w.wants("GET", "/rpc/Switch.GetStatus?id=0", "", `"apower":43.1,"id":0,"output":true`)
	w.wants("GET", "/cm?cmnd=Power", "", `{"POWER":"ON"}`)
	b.shutDown()
	b.happens(machineroom.PoweredOff)
	w.wants("GET", "/rpc/Switch.GetStatus?id=0", "", `"apower":1.4,"id":0,"output":true`)
	w.wants("GET", "/rpc/Switch.Set?id=0&on=true", "", `{"was_on":true}`)
	w.wants("GET", "/cm?cmnd=Power%20off", "", `{"POWER":"OFF"}`)
	w.wants("GET", "/cm?cmnd=Power%20On", "", `{"POWER":"ON"}`)
	w.wants("GET", "/cm?cmnd=Dimmer%203", "", `{"Command":"Unknown"}`)
	w.wants("GET", "/rpc/Switch.Set?id=0", "", "400 ")
	w.password = "guessed"
	w.wants("GET", "/cm?cmnd=Power%20off", "", "401 ")
	b.says("plug:admin", machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.RelayUnmoved,
		machineroom.PowerOffRequested, machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.PasswordRejected)
}

// TestWebLies plays the lies that both services over HTTP tell alike.
func TestWebLies(t *testing.T) {
	tests := map[string]struct {
		lies bmc.Lies
		// ons and reads are the answers, in order, to a power-on or a reading.
		ons, reads []string
		log        []machineroom.Kind
	}{
		"a power-on is swallowed": {bmc.Lies{SwallowPowerOn: 1}, []string{"20"}, []string{"off"}, []machineroom.Kind{machineroom.PowerOnSwallowed}},
		"anything is answered and not done": {bmc.Lies{DoNothing: machineroom.Always}, []string{"20", "20"}, []string{"off"},
			[]machineroom.Kind{machineroom.CommandDidNothing, machineroom.CommandDidNothing}},
		"the answer is late": {bmc.Lies{AnswerLate: lasting(20 * time.Millisecond)}, []string{"20"}, nil,
			[]machineroom.Kind{machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.AnswerDelayed}},
		"it is done and not answered": {bmc.Lies{HangUp: 1}, []string{"EOF"}, []string{"on"},
			[]machineroom.Kind{machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.HungUp}},
		"nothing is answered":       {bmc.Lies{AnswerNever: true}, []string{"deadline", "deadline"}, nil, []machineroom.Kind{bmc.AnswerWithheld}},
		"a session is refused":      {bmc.Lies{RefuseSessions: 1}, []string{"503"}, []string{"off"}, []machineroom.Kind{bmc.SessionRefused}},
		"the password is rejected":  {bmc.Lies{RejectPassword: true}, []string{"401"}, nil, []machineroom.Kind{bmc.PasswordRejected}},
		"the wrong state is told":   {bmc.Lies{WrongState: true}, nil, []string{"on"}, []machineroom.Kind{bmc.WrongStateTold}},
		"the state flaps":           {bmc.Lies{Flap: true}, nil, []string{"on", "off", "on"}, []machineroom.Kind{bmc.WrongStateTold, bmc.WrongStateTold}},
		"the connection is dropped": {bmc.Lies{DropPackets: 1}, []string{"reset"}, []string{"off"}, []machineroom.Kind{bmc.PacketDropped}},
	}
	services := map[bmc.Protocol]struct {
		on, body, read string
		states         map[string]string
	}{
		bmc.Redfish: {reset, `{"ResetType":"On"}`, system, map[string]string{"on": `"PowerState":"On"`, "off": `"PowerState":"Off"`}},
		bmc.Plug:    {"/rpc/Switch.Set?on=true", "", "/cm?cmnd=Power", map[string]string{"on": `"ON"`, "off": `"OFF"`}},
	}
	for name, test := range tests {
		for protocol, service := range services {
			t.Run(fmt.Sprintf("%s over %s", name, protocol), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, protocol)
				w := b.web(protocol)
				b.lie(protocol, test.lies)
				for _, want := range test.ons {
					answer, _, err := w.call("POST", service.on, service.body)
					if got := answer + fmt.Sprint(err); !strings.Contains(got, want) {
						t.Errorf("the answer to a power-on is %s, want %s", got, want)
					}
				}
				for _, want := range test.reads {
					w.wants("GET", service.read, "", service.states[want])
				}
				b.lie(protocol, bmc.Lies{})
				b.says(string(protocol), test.log...)
			})
		}
	}
}
