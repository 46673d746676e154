// Package switches makes a power switch of what a slot declares in spec.power, for reading it. Credentials are those of the
// Secrets that the slot names, as they are now.
package switches

import (
	"fmt"
	"slices"
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

// Secrets are the names of the Secrets that reading it takes, each once.
func Secrets(s *v2.PowerSwitch) []string {
	if !Readable(s) {
		return nil
	}
	var names []string
	if name := owner(s); name != "" {
		names = append(names, name)
	}
	if ca := authority(s); ca != nil && ca.Name != "" && !slices.Contains(names, ca.Name) {
		names = append(names, ca.Name)
	}
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

// New makes the switch. Nothing is sent yet. The error is ErrSecret where a Secret lacks something, else about what was
// declared, or about what the credentials are.
func New(s *v2.PowerSwitch, c Credentials) (power.Switch, error) {
	if !Readable(s) {
		return nil, fmt.Errorf("%w: spec.power has no ipmi, no redfish and no http.status", power.ErrUnreadable)
	}
	if err := c.complete(s); err != nil {
		return nil, err
	}
	switch Protocol(s) {
	case "ipmi":
		return c.ipmi(s.IPMI)
	case "redfish":
		return c.redfish(s.Redfish)
	}
	return c.plug(s.HTTP)
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
	from := owner(&v2.PowerSwitch{HTTP: s})
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
