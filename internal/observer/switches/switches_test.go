package switches

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/power"
)

func ref(name string) *v2.SecretReference { return &v2.SecretReference{Name: name} }

func plugAt(url string) *v2.HTTPSwitch {
	return &v2.HTTPSwitch{Status: &v2.HTTPStatus{HTTPRequest: v2.HTTPRequest{URL: url}}}
}

func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}

func TestWhatASwitchIsReadBy(t *testing.T) {
	server := httptest.NewTLSServer(nil)
	defer server.Close()
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
		"a plug that can be read":        {&v2.PowerSwitch{HTTP: plugAt("http://plug.lan/relay/0?key=geheim")}, "http", "http plug.lan", nil},
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
			made, err := New(test.declared, Credentials{"ca": {"ca.crt": pemOf(server)}, "bmc": {"username": nil, "password": nil, "ca.crt": pemOf(server)}})
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

// As the Job's program has it: an authority that is not there is not replaced by those that everybody trusts, and a
// password that is not there is not an empty one.
func TestWhatASecretLacksIsSaidWithItsName(t *testing.T) {
	ipmi := &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "bmc.lan", CredentialsSecretRef: *ref("mine")}}
	redfish := &v2.PowerSwitch{Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan", CredentialsSecretRef: *ref("mine"), TLS: &v2.SwitchTLS{CASecretRef: ref("ca")}}}
	plain, token := plugAt("https://plug.lan"), plugAt("https://plug.lan/?key=${token}")
	plain.CredentialsSecretRef, token.CredentialsSecretRef = ref("mine"), ref("mine")
	known := map[string][]byte{"username": []byte("reader"), "password": []byte("geheim")}
	tests := map[string]struct {
		declared *v2.PowerSwitch
		held     Credentials
		want     string
	}{
		"a BMC's password":              {ipmi, Credentials{"mine": {"username": []byte("reader"), "Password": []byte("geheim")}}, "Secret mine has no key password"},
		"a BMC's user":                  {redfish, Credentials{"mine": {"password": []byte("geheim")}, "ca": {"ca.crt": []byte("pem")}}, "Secret mine has no key username"},
		"a password of two lines":       {ipmi, Credentials{"mine": {"username": []byte("reader"), "password": []byte("geheim\nold\n")}}, "the key password of Secret mine is more than one line"},
		"an authority":                  {redfish, Credentials{"mine": known, "ca": {"tls.crt": []byte("pem")}}, "Secret ca has no key ca.crt"},
		"a token that a request is for": {&v2.PowerSwitch{HTTP: token}, Credentials{"mine": known}, "Secret mine has no key token"},
		"all that a plug could take":    {&v2.PowerSwitch{HTTP: plain}, Credentials{"mine": {"Password": nil}}, "Secret mine has none of the keys username, password, token and ca.crt"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := New(test.declared, test.held); !errors.Is(err, ErrSecret) || !strings.HasSuffix(err.Error(), test.want) {
				t.Errorf("the error is %v, want %s", err, test.want)
			}
		})
	}
	for _, given := range []map[string][]byte{{"username": nil, "password": nil}, known} {
		if _, err := New(ipmi, Credentials{"mine": given}); err != nil {
			t.Errorf("a user and a password that may be empty: %v", err)
		}
	}
}

// Whoever writes an address in another way still means the same BMC, which answers one question at a time.
func TestAPlaceHasOneSpelling(t *testing.T) {
	redfish := func(url string) *v2.PowerSwitch { return &v2.PowerSwitch{Redfish: &v2.RedfishSwitch{URL: url}} }
	ipmi := func(address string, port int32) *v2.PowerSwitch {
		return &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: address, Port: port}}
	}
	for want, switches := range map[string][]*v2.PowerSwitch{
		"bmc.lan:443": {redfish("https://bmc.lan"), redfish("https://bmc.lan:443/"), redfish("https://BMC.lan."), redfish("https://bmc.lan:0443"),
			{HTTP: plugAt("https://bmc.lan/relay/0")}, ipmi("bmc.lan", 443)},
		"bmc.lan:80":        {redfish("http://bmc.lan"), {HTTP: plugAt("http://Bmc.lan:80?a=b")}},
		"bmc.lan:8443":      {redfish("https://bmc.lan:8443")},
		"[fe80::1]:443":     {redfish("https://[fe80::1]"), redfish("https://[FE80:0:0:0:0:0:0:1]:443")},
		"[fe80::1%eth0]:80": {redfish("http://[fe80::1%25eth0]")},
		"10.0.0.5:623":      {ipmi("10.0.0.5", 0), ipmi("::ffff:10.0.0.5", 623)},
		"[fd00::5]:623":     {ipmi("fd00::5", 0), ipmi("fd00:0::05", 0)},
		"bmc_1.lan:623":     {ipmi("bmc_1.LAN.", 0)},
		"":                  {{SSH: &v2.SSHSwitch{}}, nil},
	} {
		for _, s := range switches {
			if got := Place(s); got != want {
				t.Errorf("%s is the place %q, want %q", Source(s), got, want)
			}
		}
	}
}

func TestASourceFitsIntoTheStatus(t *testing.T) {
	for _, letter := range []string{"x", "ö"} {
		long := &v2.PowerSwitch{HTTP: plugAt("http://" + strings.Repeat(letter, 1500) + "/status")}
		got := Source(long)
		if n := utf8.RuneCountInString(got); n != maxSource || !utf8.ValidString(got) || !strings.HasPrefix(got, "http "+letter) || got != Source(long) {
			t.Errorf("%d characters: %s", n, got)
		}
	}
}

// What a switch turned away is known again in whatever slot and Secret it stands, and in no other form than a hash.
func TestAFingerprintIsOfWhatASwitchIsShown(t *testing.T) {
	key := []byte("of this process")
	bmc := func(secret, address string, level v2.PrivilegeLevel) *v2.PowerSwitch {
		return &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: address, PrivilegeLevel: level, CredentialsSecretRef: *ref(secret)}}
	}
	held := Credentials{
		"a": {"username": []byte("admin"), "password": []byte("geheim\n")}, "b": {"username": []byte("admin"), "password": []byte("geheim"), "note": nil},
		"c": {"username": []byte("admin"), "password": []byte("other")}, "d": {"username": []byte("admin\" \"geheim")},
	}
	of := held.Fingerprint(bmc("a", "bmc.lan", ""), key)
	if again := held.Fingerprint(bmc("b", "bmc.lan.", ""), key); again != of {
		t.Error("the same user and password of another Secret is taken for another")
	}
	for what, s := range map[string]*v2.PowerSwitch{
		"another password": bmc("c", "bmc.lan", ""), "a user with a quote": bmc("d", "bmc.lan", ""), "another privilege": bmc("a", "bmc.lan", v2.PrivilegeAdministrator),
	} {
		if held.Fingerprint(s, key) == of {
			t.Errorf("%s is taken for the same", what)
		}
	}
	if held.Fingerprint(bmc("a", "bmc.lan", ""), []byte("of another")) == of || strings.Contains(of, "geheim") {
		t.Error("the fingerprint tells of the password")
	}
	bare := &v2.PowerSwitch{HTTP: plugAt("http://plug.lan")}
	named := &v2.PowerSwitch{HTTP: plugAt("http://plug.lan")}
	named.HTTP.Status.Headers = map[string]string{"X-Key": "1"}
	if held.Fingerprint(bare, key) == held.Fingerprint(named, key) {
		t.Error("a request with another header is taken for the same")
	}
}
