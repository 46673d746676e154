package machineroom

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// newSwitches is a room without a cluster, whose machines boot for an hour.
func newSwitches(t *testing.T, machines ...string) *Room {
	t.Helper()
	r, err := Bare(t.Context(), Options{Dir: t.TempDir(), BootTime: time.Hour, PowerCommand: []string{"power"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range machines {
		if _, err := r.AddMachine(Machine{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestSwitchOverHTTP(t *testing.T) {
	r := newSwitches(t, "a", "errs")
	if err := r.Machine("errs").SetTemperament(Temperament{StartupSwitch: SwitchErrors}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, method, path, body string
		status                   int
		answer                   string
	}{
		{"a press is taken", "POST", "/machines/a/power", `{"action":"on","source":"me"}`, 202, ""},
		{"the state is shown", "GET", "/machines/a/power", "", 200, `{"name":"a","on":true,"state":"booting","boots":1,"kubeNode":"a"}`},
		{"an action has to be known", "POST", "/machines/a/power", `{"action":"reset"}`, 400, "knows on, off, soft and cycle"},
		{"a machine that is off is not cycled", "POST", "/machines/errs/power", `{"action":"cycle"}`, 409, "the machine is off"},
		{"a field has to be known", "POST", "/machines/a/power", `{"aktion":"on"}`, 400, "unknown field"},
		{"a machine has to be there", "POST", "/machines/b/power", `{"action":"on"}`, 404, "no such machine"},
		{"a switch that errs says so", "POST", "/machines/errs/power", `{"action":"on"}`, 503, "does not answer"},
		{"all machines are listed", "GET", "/machines", "", 200, `"name":"errs"`},
		{"a temperament is set", "PUT", "/machines/a/temperament", `{"slowBoot":"1m0s","swallowPowerOn":-1}`, 200, `{"slowBoot":"1m0s","swallowPowerOn":-1}`},
		{"a bad temperament is refused", "PUT", "/machines/a/temperament", `{"ignoreSoftOff":-7}`, 400, "ignoreSoftOff"},
		{"a temperament is shown", "GET", "/machines/a/temperament", "", 200, `{"slowBoot":"1m0s","swallowPowerOn":-1}`},
		{"an outage happens", "POST", "/machines/a/outage", `{"kind":"PowerLost"}`, 200, `"on":false`},
		{"an outage has a kind", "POST", "/machines/a/outage", `{"kind":"Earthquake"}`, 400, "PowerLost"},
		{"the log is filtered", "GET", "/log?machine=a&kind=PoweredOn", "", 200, `"source":"switch:me"`},
		{"the log is counted from somewhere", "GET", "/log?after=x", "", 400, "number"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			request, err := http.NewRequestWithContext(t.Context(), test.method, r.URL()+test.path, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			text, err := io.ReadAll(response.Body)
			if err != nil {
				t.Fatal(err)
			}
			if response.StatusCode != test.status || !strings.Contains(string(text), test.answer) {
				t.Errorf("answer is %d %s, want %d with %q", response.StatusCode, text, test.status, test.answer)
			}
		})
	}
}

func TestPowerCommand(t *testing.T) {
	r := newSwitches(t, "a", "hangs")
	if err := r.Machine("hangs").SetTemperament(Temperament{ShutdownSwitch: SwitchHangs}); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		args string
		code int
		out  string
	}{
		{"on is taken", "on --url " + r.PowerURL("a"), 0, "power on: taken"},
		{"status tells", "status --url " + r.PowerURL("a"), 0, "a: power on, booting"},
		{"off is taken", "off --url " + r.PowerURL("a"), 0, "power off: taken"},
		{"a switch that hangs is given up", "soft --timeout 100ms --url " + r.PowerURL("hangs"), 1, "deadline exceeded"},
		{"a machine that is not there is refused", "on --url " + r.PowerURL("b"), 1, "404"},
		{"without an address there is no switch", "on", 2, "usage"},
		{"an action is needed", "", 2, "usage"},
		{"an action has to be known", "melt --url " + r.PowerURL("a"), 2, "usage"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			code := powerCommand(strings.Fields(test.args), &out, &out)
			if code != test.code || !strings.Contains(out.String(), test.out) {
				t.Errorf("code %d and %q, want %d and %q", code, out.String(), test.code, test.out)
			}
		})
	}
	if got := fmt.Sprint(r.PowerOns("a"), r.PowerOffs("a"), r.PowerOnRequests("a"), r.DoubleBoots("a")); got != "1 1 1 0" {
		t.Errorf("power-ons, power-offs, requests and double boots are %s", got)
	}
}

func TestSlotIsWhatAPersonWouldWrite(t *testing.T) {
	r := newSwitches(t, "a")
	m := r.Machine("a")
	m.spec.Labels, m.spec.ProviderID = map[string]string{"gpu": "yes"}, "k3s://a"
	slot := m.Slot("homelab", "pool")
	if slot.Labels["group"] != "pool" || slot.Spec.KubernetesNodeName != "a" || slot.Spec.ProviderID != "k3s://a" || slot.Spec.NodeLabels["gpu"] != "yes" {
		t.Errorf("slot is %+v", slot)
	}
	got, err := json.Marshal(slot.Spec.StartupPodSpec)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"image":"homecluster.dev/sandbox/power","command":["power"],"args":["on","--url",%q]}`, r.PowerURL("a"))
	if string(got) != want {
		t.Errorf("startup pod is %s, want %s", got, want)
	}
}
