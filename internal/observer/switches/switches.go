// Package switches makes a power switch of what a slot declares in spec.power, for reading it. Credentials are those of the
// Secrets that the slot names, as they are now.
package switches

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/ipmi"
	"homecluster.dev/autoscaler/internal/power/plug"
	"homecluster.dev/autoscaler/internal/power/redfish"
	"homecluster.dev/autoscaler/internal/power/web"
)

// timeout bounds one request. A BMC that is busy answers within a second or two; one that takes longer has to wait for the
// next round.
const timeout = 5 * time.Second

// Readable is whether the declared switch can be read: a BMC can, a plug with a status can, a network card that waits for a
// magic packet cannot, and an ssh server tells only that its machine is on.
func Readable(s *v2.PowerSwitch) bool {
	return s != nil && (s.IPMI != nil || s.Redfish != nil || s.HTTP != nil && s.HTTP.Status != nil)
}

// Protocol is ipmi, redfish or http; empty: it cannot be read.
func Protocol(s *v2.PowerSwitch) string {
	switch {
	case !Readable(s):
		return ""
	case s.IPMI != nil:
		return "ipmi"
	case s.Redfish != nil:
		return "redfish"
	}
	return "http"
}

// Source names protocol and address, for people, and so that each address is asked one question at a time.
func Source(s *v2.PowerSwitch) string {
	switch Protocol(s) {
	case "ipmi":
		return "ipmi " + address(s.IPMI)
	case "redfish":
		return "redfish " + host(s.Redfish.URL)
	case "http":
		return "http " + host(s.HTTP.Status.URL)
	}
	return ""
}

// Secrets are the names of the Secrets that reading it takes, each once.
func Secrets(s *v2.PowerSwitch) []string {
	var names []string
	add := func(ref *v2.SecretReference) {
		if ref != nil && ref.Name != "" && (len(names) == 0 || names[0] != ref.Name) {
			names = append(names, ref.Name)
		}
	}
	switch Protocol(s) {
	case "ipmi":
		add(&s.IPMI.CredentialsSecretRef)
	case "redfish":
		add(&s.Redfish.CredentialsSecretRef)
	case "http":
		add(s.HTTP.CredentialsSecretRef)
	}
	add(authority(s))
	return names
}

// authority is the Secret with the certificates that the switch's own is verified with; nil: none is named.
func authority(s *v2.PowerSwitch) *v2.SecretReference {
	var tls *v2.SwitchTLS
	switch Protocol(s) {
	case "redfish":
		tls = s.Redfish.TLS
	case "http":
		tls = s.HTTP.TLS
	}
	if tls == nil {
		return nil
	}
	return tls.CASecretRef
}

// Credentials are the contents of Secrets, by name.
type Credentials map[string]map[string][]byte

// New makes the switch. Nothing is sent yet; the error is about what was declared, or about the credentials.
func New(s *v2.PowerSwitch, c Credentials) (power.Switch, error) {
	if ca := authority(s); ca != nil && len(c[ca.Name]["ca.crt"]) == 0 {
		return nil, fmt.Errorf("%w: Secret %s has no ca.crt", power.ErrCredentials, ca.Name)
	}
	switch Protocol(s) {
	case "ipmi":
		return c.ipmi(s.IPMI)
	case "redfish":
		return c.redfish(s.Redfish)
	case "http":
		return c.plug(s.HTTP)
	}
	return nil, fmt.Errorf("%w: spec.power has no ipmi, no redfish and no http.status", power.ErrUnreadable)
}

func (c Credentials) ipmi(s *v2.IPMISwitch) (power.Switch, error) {
	from := s.CredentialsSecretRef.Name
	return ipmi.New(ipmi.Options{
		Address: address(s), Username: c.text(from, "username"), Password: c.text(from, "password"),
		CipherSuite: int(s.CipherSuite), Administrator: s.PrivilegeLevel == v2.PrivilegeAdministrator, Timeout: timeout,
	})
}

func (c Credentials) redfish(s *v2.RedfishSwitch) (power.Switch, error) {
	from := s.CredentialsSecretRef.Name
	return redfish.New(redfish.Options{
		Address: s.URL, System: s.SystemID, Username: c.text(from, "username"), Password: c.text(from, "password"),
		Web: c.web(from, s.TLS),
	})
}

func (c Credentials) plug(s *v2.HTTPSwitch) (power.Switch, error) {
	from := ""
	if s.CredentialsSecretRef != nil {
		from = s.CredentialsSecretRef.Name
	}
	status := s.Status
	return plug.New(plug.Options{
		Status: &plug.Status{
			Request:  plug.Request{Method: status.Method, URL: status.URL, Header: status.Headers, Body: status.Body},
			JSONPath: status.JSONPath, Pattern: status.Pattern, On: status.OnValue, Off: status.OffValue, Above: status.OnAbove,
		},
		Username: c.text(from, "username"), Password: c.text(from, "password"), Token: c.text(from, "token"), Web: c.web(from, s.TLS),
	})
}

func (c Credentials) web(from string, tls *v2.SwitchTLS) web.Options {
	o := web.Options{Timeout: timeout, CA: c[from]["ca.crt"]}
	if tls != nil {
		o.Insecure = tls.InsecureSkipVerify
		if tls.CASecretRef != nil {
			o.CA = c[tls.CASecretRef.Name]["ca.crt"]
		}
	}
	return o
}

// text is a key of a Secret without the line's end that an editor leaves.
func (c Credentials) text(secret, key string) string {
	return strings.TrimRight(string(c[secret][key]), "\r\n")
}

func address(s *v2.IPMISwitch) string {
	return net.JoinHostPort(s.Address, strconv.Itoa(int(cmp.Or(s.Port, 623))))
}

// host is the host of a URL, without what may be secret in the rest of it.
func host(text string) string {
	at, err := url.Parse(text)
	if err != nil {
		return "?"
	}
	return at.Host
}
