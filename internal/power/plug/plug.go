// Package plug is a power switch that is worked by plain HTTP requests of the user's own: a smart plug, a KVM with power
// buttons, a home automation hub.
package plug

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// Request is a template of one request. In URL, header values and body, ${username}, ${password} and ${token} stand for
// the credentials: escaped in the URL and in a JSON body, as they are elsewhere.
type Request struct {
	// Method is the HTTP method; empty is GET, or POST with a body.
	Method string `json:"method,omitempty"`
	// URL is where to.
	URL string `json:"url"`
	// Header are further header fields.
	Header map[string]string `json:"headers,omitempty"`
	// Body is sent as it is.
	Body string `json:"body,omitempty"`
}

// lacks is the first of the credentials that the template has a place for and that is not there.
func (r *Request) lacks(o Options) string {
	for _, credential := range []struct{ name, value string }{{"username", o.Username}, {"password", o.Password}, {"token", o.Token}} {
		if credential.value == "" && r.has(credential.name) {
			return credential.name
		}
	}
	return ""
}

// has is whether the template has a place for a credential.
func (r *Request) has(name string) bool {
	return strings.Contains(r.URL+r.Body+strings.Join(slices.Sorted(maps.Values(r.Header)), ""), "${"+name+"}")
}

// Options say which requests work the switch. A nil one is a button that is not there.
type Options struct {
	On, Off, Soft, Cycle *Request
	Status               *Status
	// Username and Password are also sent as basic authentication, unless a template uses ${password} or has an
	// Authorization header of its own.
	Username, Password, Token string
	Web                       web.Options
}

// Switch is a plug.
type Switch struct {
	client *web.Client
	o      Options
	status *reader
	host   string
	// basic is whether the credentials go into the Authorization header.
	basic bool
}

// New checks the templates; nothing is sent yet.
func New(o Options) (*Switch, error) {
	s := &Switch{o: o, basic: o.Password != "" || o.Username != ""}
	requests := map[string]*Request{"on": o.On, "off": o.Off, "soft": o.Soft, "cycle": o.Cycle}
	if o.Status != nil {
		requests["status"] = &o.Status.Request
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		r := requests[name]
		if r == nil {
			continue
		}
		at, err := url.Parse(r.URL)
		if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || at.User != nil {
			return nil, fmt.Errorf("the %s request's url %q is not one like http://plug.lan/relay/0, without a password before the host",
				name, web.Clean(r.URL))
		}
		if s.host == "" || name == "on" {
			s.host = at.Host
		}
		if r.authorizes() {
			s.basic = false
		}
		if missing := r.lacks(o); missing != "" {
			return nil, fmt.Errorf("%w: the %s request has ${%s} in it, and no %[3]s is given", power.ErrCredentials, name, missing)
		}
	}
	if s.host == "" {
		return nil, fmt.Errorf("no request is given that could work the plug")
	}
	o.Web.Secrets = []string{o.Username + ":" + o.Password, o.Password, o.Token}
	var err error
	if s.client, err = web.New(o.Web); err == nil && o.Status != nil {
		s.status, err = o.Status.reader(s.client.Clean)
	}
	return s, err
}

// authorizes is whether the template itself says who we are.
func (r *Request) authorizes() bool {
	for field := range r.Header {
		if http.CanonicalHeaderKey(field) == "Authorization" {
			return true
		}
	}
	return r.has("password")
}

// String names the protocol and the address.
func (s *Switch) String() string { return "http " + s.host }

// Press sends the request that stands for the action.
func (s *Switch) Press(ctx context.Context, action power.Action) error {
	r := map[power.Action]*Request{
		power.PressOn: s.o.On, power.PressOff: s.o.Off, power.PressSoft: s.o.Soft, power.PressCycle: s.o.Cycle,
	}[action]
	if r == nil {
		return fmt.Errorf("%w: %s has no %s request", power.ErrUnsupported, s, action)
	}
	request := s.fill(*r, string(action))
	request.Presses = true
	_, err := s.client.Do(ctx, request)
	return err
}

// State sends the status request and reads the answer as Options.Status says.
func (s *Switch) State(ctx context.Context) (power.State, error) {
	if s.status == nil {
		return "", fmt.Errorf("%w: %s has no status request", power.ErrUnreadable, s)
	}
	answer, err := s.client.Do(ctx, s.fill(s.o.Status.Request, "status"))
	if err != nil {
		return "", err
	}
	state, err := s.status.read(answer.Body)
	if err != nil {
		return "", fmt.Errorf("%s: %w", s, err)
	}
	return state, nil
}

// fill puts the credentials into a template.
func (s *Switch) fill(r Request, name string) web.Request {
	filled := web.Request{
		Method: strings.ToUpper(r.Method), URL: s.put(r.URL, inURL), Name: name + " request at " + s.host,
		Header: map[string]string{}, Body: s.put(r.Body, asIs),
	}
	if body := strings.TrimSpace(r.Body); strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
		filled.Body, filled.Header["Content-Type"] = s.put(r.Body, inJSON), "application/json"
	}
	for field, value := range r.Header {
		filled.Header[http.CanonicalHeaderKey(field)] = s.put(value, asIs)
	}
	if filled.Method == "" {
		filled.Method = http.MethodGet
		if r.Body != "" {
			filled.Method = http.MethodPost
		}
	}
	if s.basic {
		filled.Username, filled.Password = s.o.Username, s.o.Password
	}
	return filled
}

func (s *Switch) put(template string, escape func(string) string) string {
	return strings.NewReplacer(
		"${username}", escape(s.o.Username), "${password}", escape(s.o.Password), "${token}", escape(s.o.Token),
	).Replace(template)
}

// inURL escapes for a path and a query alike: a plus is a space in one of them only.
func inURL(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }

func asIs(text string) string { return text }

func inJSON(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		return text // a string always is JSON
	}
	return string(quoted[1 : len(quoted)-1])
}
