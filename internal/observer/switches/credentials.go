package switches

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Credentials are the contents of Secrets, by name.
type Credentials map[string]map[string][]byte

// ErrSecret is a Secret that lacks what the switch needs: it was not asked.
var ErrSecret = errors.New("no credentials")

// text is a key of a Secret without the line's end that an editor leaves.
func (c Credentials) text(secret, key string) string {
	return strings.TrimRight(string(c[secret][key]), "\r\n")
}

// complete is ErrSecret, with the Secret and the key, where one lacks a key that is needed, or a key is no word, which the
// program that runs in Jobs does not send either.
func (c Credentials) complete(s *v2.PowerSwitch) error {
	if ca := authority(s); ca != nil && len(c[ca.Name]["ca.crt"]) == 0 {
		return fmt.Errorf("%w: Secret %s has no key ca.crt", ErrSecret, ca.Name)
	}
	from := owner(s)
	for _, key := range needed(s) {
		if _, found := c[from][key]; !found && from != "" {
			return fmt.Errorf("%w: Secret %s has no key %s", ErrSecret, from, key)
		}
	}
	for _, key := range keys {
		if strings.ContainsAny(c.text(from, key), "\r\n\x00") {
			return fmt.Errorf("%w: the key %s of Secret %s is more than one line", ErrSecret, key, from)
		}
	}
	if s.HTTP == nil || from == "" {
		return nil
	}
	for _, key := range append(keys, "ca.crt") {
		if _, found := c[from][key]; found {
			return nil
		}
	}
	return fmt.Errorf("%w: Secret %s has none of the keys username, password, token and ca.crt", ErrSecret, from)
}

// keys are what a request has places for.
var keys = []string{"username", "password", "token"}

// needed are the keys that a switch cannot be asked without.
func needed(s *v2.PowerSwitch) (all []string) {
	if Protocol(s) != "http" {
		return []string{"username", "password"}
	}
	for _, key := range keys {
		if strings.Contains(fmt.Sprint(s.HTTP.Status.URL, s.HTTP.Status.Headers, s.HTTP.Status.Body), "${"+key+"}") {
			all = append(all, key)
		}
	}
	return all
}

// owner is the Secret with who we are; empty: none is named.
func owner(s *v2.PowerSwitch) string {
	switch {
	case s.IPMI != nil:
		return s.IPMI.CredentialsSecretRef.Name
	case s.Redfish != nil:
		return s.Redfish.CredentialsSecretRef.Name
	case s.HTTP.CredentialsSecretRef != nil:
		return s.HTTP.CredentialsSecretRef.Name
	}
	return ""
}

// Fingerprint stands for what a switch is shown of us, whichever slot and Secret it is from: what it turns away once it
// turns away again. Without the key it tells nobody anything.
func (c Credentials) Fingerprint(s *v2.PowerSwitch, key []byte) string {
	from := owner(s)
	sum := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(sum, "%s %q %q %q", Protocol(s), c.text(from, "username"), c.text(from, "password"), c.text(from, "token")) // a hash never fails
	switch {
	case s.IPMI != nil:
		_, _ = fmt.Fprintf(sum, " %q", s.IPMI.PrivilegeLevel)
	case s.HTTP != nil:
		_, _ = fmt.Fprintf(sum, " %q %q %q", s.HTTP.Status.Method, s.HTTP.Status.Headers, s.HTTP.Status.Body)
	}
	return hex.EncodeToString(sum.Sum(nil))
}
