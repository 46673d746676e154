package switches

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/power"
)

func ref(name string) *v2.SecretReference { return &v2.SecretReference{Name: name} }

func plugAt(url string) *v2.HTTPSwitch {
	return &v2.HTTPSwitch{Status: &v2.HTTPStatus{HTTPRequest: v2.HTTPRequest{URL: url}}}
}

func TestWhatASwitchIsReadBy(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
	authorities := map[string][]byte{"ca.crt": pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})}
	tests := map[string]struct {
		declared         *v2.PowerSwitch
		protocol, source string
		secrets          []string
	}{
		"nothing": {nil, "", "", nil},
		"a BMC by IPMI": {&v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "10.0.0.5", CredentialsSecretRef: *ref("bmc")}},
			"ipmi", "ipmi 10.0.0.5:623", []string{"bmc"}},
		"a BMC at another port and by IPv6": {&v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "fd00::5", Port: 6230, CredentialsSecretRef: *ref("bmc")}},
			"ipmi", "ipmi [fd00::5]:6230", []string{"bmc"}},
		"a BMC by Redfish, with an authority of its own": {&v2.PowerSwitch{Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan:8443",
			CredentialsSecretRef: *ref("bmc"), TLS: &v2.SwitchTLS{CASecretRef: ref("ca")}}}, "redfish", "redfish bmc.lan:8443", []string{"bmc", "ca"}},
		"a BMC whose authority is in the same Secret": {&v2.PowerSwitch{Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan",
			CredentialsSecretRef: *ref("bmc"), TLS: &v2.SwitchTLS{CASecretRef: ref("bmc")}}}, "redfish", "redfish bmc.lan", []string{"bmc"}},
		"a plug that can be read":        {&v2.PowerSwitch{HTTP: plugAt("http://plug.lan/relay/0?token=${token}")}, "http", "http plug.lan", nil},
		"a plug that cannot":             {&v2.PowerSwitch{HTTP: &v2.HTTPSwitch{PowerOn: &v2.HTTPRequest{URL: "http://plug.lan/on"}}}, "", "", nil},
		"a magic packet, and ssh":        {&v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{MACAddress: "52:54:00:12:34:56"}, SSH: &v2.SSHSwitch{}}, "", "", nil},
		"a BMC, with ssh as the way off": {&v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "bmc.lan", CredentialsSecretRef: *ref("bmc")}, SSH: &v2.SSHSwitch{}}, "ipmi", "ipmi bmc.lan:623", []string{"bmc"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := []any{Readable(test.declared), Protocol(test.declared), Source(test.declared), Secrets(test.declared)}
			if diff := cmp.Diff([]any{test.protocol != "", test.protocol, test.source, test.secrets}, got); diff != "" {
				t.Error(diff)
			}
			made, err := New(test.declared, Credentials{"ca": authorities, "bmc": authorities})
			if (err == nil) != (test.protocol != "") || errors.Is(err, power.ErrUnreadable) != (test.protocol == "") {
				t.Fatalf("the switch is %v, %v", made, err)
			}
			if err == nil && made.String() != test.source {
				t.Errorf("it calls itself %s, its source is %s", made, test.source)
			}
		})
	}
}

// Users and passwords are taken from the Secret that the slot names, without the line's end that an editor leaves.
func TestCredentialsAreThoseOfTheSecret(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked = append(asked, user+" "+password+" "+r.Header.Get("X-Token"))
		_, _ = w.Write([]byte(`{"PowerState": "On", "relays": [{"power": 31.5}]}`))
	}))
	defer server.Close()
	credentials := Credentials{"mine": {"username": []byte("reader\n"), "password": []byte("geheim\r\n"), "token": []byte("t0ken\n")}}

	status := plugAt(server.URL + "/status")
	status.CredentialsSecretRef = ref("mine")
	status.Status.Headers = map[string]string{"X-Token": "${token}"}
	status.Status.JSONPath, status.Status.OnAbove = "relays[0].power", "10"
	redfish := &v2.RedfishSwitch{URL: server.URL, SystemID: "1", CredentialsSecretRef: *ref("mine")}
	for _, declared := range []*v2.PowerSwitch{{HTTP: status}, {Redfish: redfish}} {
		made, err := New(declared, credentials)
		if err != nil {
			t.Fatal(err)
		}
		if state, err := made.State(t.Context()); err != nil || state != power.On {
			t.Errorf("%s says %s, %v", made, state, err)
		}
	}
	if diff := cmp.Diff([]string{"reader geheim t0ken", "reader geheim "}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestAPasswordThatIPMIHasNoRoomForIsSaidWithoutIt(t *testing.T) {
	long := strings.Repeat("geheim", 5)
	_, err := New(&v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "bmc.lan", CredentialsSecretRef: *ref("mine")}},
		Credentials{"mine": {"username": []byte("admin"), "password": []byte(long)}})
	if !errors.Is(err, power.ErrCredentials) || strings.Contains(err.Error(), "geheim") {
		t.Errorf("the error is %v", err)
	}
}

// As the Job's program has it: an authority that is not there is not replaced by those that everybody trusts.
func TestAnAuthorityThatIsNamedMustBeThere(t *testing.T) {
	tls := &v2.SwitchTLS{CASecretRef: ref("ca")}
	plug := plugAt("https://plug.lan")
	plug.TLS = tls
	for _, declared := range []*v2.PowerSwitch{{HTTP: plug}, {Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan", TLS: tls}}} {
		_, err := New(declared, Credentials{"ca": {"tls.crt": []byte("pem")}})
		if !errors.Is(err, power.ErrCredentials) || !strings.Contains(err.Error(), "Secret ca has no ca.crt") {
			t.Errorf("the error is %v", err)
		}
	}
}
