// Package redfish is a power switch that speaks DMTF Redfish: one computer system of a BMC.
package redfish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// Options say which system is meant and who we are.
type Options struct {
	// Address is the service's URL, for example https://bmc.lan; its path is ignored.
	Address string
	// System is the id of the computer system; empty: the only one there is.
	System             string
	Username, Password string
	Web                web.Options
}

// Switch is one computer system of a Redfish service.
type Switch struct {
	client *web.Client
	base   *url.URL
	o      Options
}

// New makes a switch; nothing is sent yet.
func New(o Options) (*Switch, error) {
	base, err := url.Parse(o.Address)
	if err != nil || base.Host == "" || base.Scheme != "https" && base.Scheme != "http" || base.User != nil {
		return nil, fmt.Errorf("%q is not an address like https://bmc.lan", web.Clean(o.Address))
	}
	o.Web.Secrets = []string{o.Username + ":" + o.Password, o.Password}
	client, err := web.New(o.Web)
	if err != nil {
		return nil, err
	}
	return &Switch{client: client, base: &url.URL{Scheme: base.Scheme, Host: base.Host}, o: o}, nil
}

// String names the protocol and the address.
func (s *Switch) String() string { return "redfish " + s.base.Host }

// resets are the reset types for an action, best first.
var resets = map[power.Action][]string{
	power.PressOn:    {"On", "ForceOn"},
	power.PressOff:   {"ForceOff"},
	power.PressSoft:  {"GracefulShutdown"},
	power.PressCycle: {"PowerCycle", "ForceRestart"},
}

// Press asks for a reset of the kind that the system offers for the action.
func (s *Switch) Press(ctx context.Context, action power.Action) error {
	system, err := s.system(ctx)
	if err != nil {
		return err
	}
	reset := system.Actions.Reset
	wanted := resets[action]
	offered := func(kind string) bool { return len(reset.Allowed) == 0 || slices.Contains(reset.Allowed, kind) }
	at := slices.IndexFunc(wanted, offered)
	if at < 0 {
		return fmt.Errorf("%w: %s offers the resets %s, none of which is %s", power.ErrUnsupported, s,
			s.client.Clean(strings.Join(reset.Allowed, ", ")), strings.Join(wanted, " or "))
	}
	target, err := s.within(reset.Target)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]string{"ResetType": wanted[at]})
	if err != nil {
		return fmt.Errorf("encoding the reset: %w", err)
	}
	answer, err := s.client.Do(ctx, s.request(http.MethodPost, target, string(body)))
	return s.explained(err, answer.Body)
}

// State reads PowerState. PoweringOn, PoweringOff and Paused are unknown: the machine is on its way.
func (s *Switch) State(ctx context.Context) (power.State, error) {
	system, err := s.system(ctx)
	if err != nil {
		return "", err
	}
	switch system.PowerState {
	case "On":
		return power.On, nil
	case "Off":
		return power.Off, nil
	case "PoweringOn", "PoweringOff", "Paused":
		return power.Unknown, nil
	}
	return "", fmt.Errorf("%w: %s says PowerState %q", power.ErrGarbled, s, s.client.Clean(system.PowerState))
}

// system is what we read of a ComputerSystem.
type system struct {
	PowerState string `json:"PowerState"`
	Actions    struct {
		Reset struct {
			Target  string   `json:"target"`
			Allowed []string `json:"ResetType@Redfish.AllowableValues"`
		} `json:"#ComputerSystem.Reset"`
	} `json:"Actions"`
}

const systems = "/redfish/v1/Systems"

func (s *Switch) system(ctx context.Context) (system, error) {
	at, err := s.find(ctx)
	if err != nil {
		return system{}, err
	}
	var found system
	if err := s.get(ctx, at, &found); err != nil {
		return system{}, err
	}
	if found.Actions.Reset.Target == "" {
		found.Actions.Reset.Target = strings.TrimSuffix(at, "/") + "/Actions/ComputerSystem.Reset"
	}
	return found, nil
}

// find is the path of the system that is meant.
func (s *Switch) find(ctx context.Context) (string, error) {
	if s.o.System != "" {
		return systems + "/" + url.PathEscape(s.o.System), nil
	}
	var collection struct {
		Members []struct {
			ID string `json:"@odata.id"`
		} `json:"Members"`
	}
	if err := s.get(ctx, systems, &collection); err != nil {
		return "", err
	}
	switch members := collection.Members; len(members) {
	case 0:
		return "", fmt.Errorf("%w: %s lists no computer system", power.ErrGarbled, s)
	case 1:
		return s.within(members[0].ID)
	default:
		var names []string
		for _, member := range members {
			names = append(names, path.Base(member.ID))
		}
		return "", fmt.Errorf("%w: %s has the systems %s: say which", power.ErrUnsupported, s, s.client.Clean(strings.Join(names, ", ")))
	}
}

// within is the path of a link, which must lead to the same service: the password goes nowhere else.
func (s *Switch) within(link string) (string, error) {
	target, err := url.Parse(link)
	if err != nil || !strings.HasPrefix(target.Path, "/") || target.Host != "" && target.Host != s.base.Host || target.User != nil {
		return "", fmt.Errorf("%w: %s links to %q, which is not a place in it", power.ErrGarbled, s, s.client.Clean(link))
	}
	return target.EscapedPath(), nil
}

func (s *Switch) get(ctx context.Context, at string, into any) error {
	answer, err := s.client.Do(ctx, s.request(http.MethodGet, at, ""))
	if err != nil {
		return s.explained(err, answer.Body)
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		return fmt.Errorf("%w: GET %s is no Redfish answer: %s", power.ErrGarbled, s.client.Clean(at), s.client.Clean(err.Error()))
	}
	return nil
}

func (s *Switch) request(method, at, body string) web.Request {
	header := map[string]string{"Accept": "application/json", "OData-Version": "4.0"}
	if body != "" {
		header["Content-Type"] = "application/json"
	}
	return web.Request{
		Method: method, URL: s.base.String() + at, Name: at, Header: header, Body: body, Username: s.o.Username, Password: s.o.Password,
	}
}

// explained puts the service's own words in place of its raw answer.
func (s *Switch) explained(err error, body []byte) error {
	var said struct {
		Error struct {
			Message  string `json:"message"`
			Extended []struct {
				Message string `json:"Message"`
			} `json:"@Message.ExtendedInfo"`
		} `json:"error"`
	}
	if err == nil || json.Unmarshal(body, &said) != nil {
		return err
	}
	words := said.Error.Message
	for _, more := range said.Error.Extended {
		if more.Message != "" {
			words = more.Message
			break
		}
	}
	if words == "" {
		return err
	}
	for _, class := range []error{power.ErrCredentials, power.ErrBusy, power.ErrRefused} {
		if errors.Is(err, class) {
			return fmt.Errorf("%w: %s", class, s.client.Clean(words))
		}
	}
	return err
}
