package bmc

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// plug is a smart plug between the machine and the wall, with the two ways to talk to it that are common: the remote
// procedure calls of a Shelly of the second generation, and a Tasmota's commands. It asks for a user and a password.
//
// It knows whether its relay is closed, which is not whether the machine is on: a machine that shut itself down draws a
// few watts behind a closed relay, and closing it again wakes nothing. Opening it cuts the power; closing an open one
// wakes the machine, whose firmware is set to start when the mains come back.
type plug struct {
	w *wire
	c Credentials

	mu     sync.Mutex
	closed bool
}

// The power in watts that a plug measures.
const (
	wattsOn      = 43.1
	wattsStandby = 1.4
)

func servePlug(w *wire, host string, c Credentials) (address string, stop func(), err error) {
	p := &plug{w: w, c: c, closed: w.machine.Status().On}
	mux := http.NewServeMux()
	mux.HandleFunc("/rpc/Switch.Set", p.known(func(out http.ResponseWriter, req *http.Request) {
		on := req.URL.Query().Get("on")
		if on != "true" && on != "false" {
			http.Error(out, `{"code":-103,"message":"Missing or bad argument 'on'!"}`, http.StatusBadRequest)
			return
		}
		p.mu.Lock()
		was := p.closed
		p.mu.Unlock()
		if p.turn(out, req, on == "true") {
			say(out, http.StatusOK, map[string]any{"was_on": was})
		}
	}))
	mux.HandleFunc("/rpc/Switch.GetStatus", p.known(func(out http.ResponseWriter, req *http.Request) {
		closed, watts := p.measure(req.Context())
		say(out, http.StatusOK, map[string]any{"id": 0, "source": "http", "output": closed, "apower": watts, "voltage": 230.4})
	}))
	mux.HandleFunc("/cm", p.known(p.tasmota))
	return serveHTTP(w, host, func(l net.Listener) net.Listener { return l }, w.answers(mux.ServeHTTP))
}

// tasmota takes "Power", which reads, and "Power On" and "Power Off".
func (p *plug) tasmota(out http.ResponseWriter, req *http.Request) {
	command := strings.Fields(strings.ToLower(req.URL.Query().Get("cmnd")))
	words := map[bool]string{true: "ON", false: "OFF"}
	switch {
	case len(command) == 1 && command[0] == "power":
		closed, _ := p.measure(req.Context())
		say(out, http.StatusOK, map[string]any{"POWER": words[closed]})
	case len(command) == 2 && command[0] == "power" && (command[1] == "on" || command[1] == "off"):
		on := command[1] == "on"
		if p.turn(out, req, on) {
			say(out, http.StatusOK, map[string]any{"POWER": words[on]})
		}
	default:
		say(out, http.StatusOK, map[string]any{"Command": "Unknown"})
	}
}

// known lets those in who say the password.
func (p *plug) known(next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, req *http.Request) {
		user, password, basic := req.BasicAuth()
		if query := req.URL.Query(); !basic { // as a Tasmota takes them
			user, password = query.Get("user"), query.Get("password")
		}
		switch {
		case p.w.refuses():
			http.Error(out, "too many connections", http.StatusServiceUnavailable)
		case p.w.current().RejectPassword || !p.c.match(user, password):
			p.w.reject(user)
			out.Header().Set("WWW-Authenticate", `Basic realm="plug"`)
			http.Error(out, "wrong user or password", http.StatusUnauthorized)
		default:
			next(out, req)
		}
	}
}

// turn closes or opens the relay, and has answered if it returns false.
func (p *plug) turn(out http.ResponseWriter, req *http.Request, on bool) bool {
	p.mu.Lock()
	same := p.closed == on
	p.mu.Unlock()
	source := p.w.source(p.c.User)
	if same {
		p.w.machine.Note(RelayUnmoved, source, map[bool]string{true: "closed", false: "open"}[on])
		p.w.dawdle(req.Context(), source)
		return true
	}
	action := machineroom.ActionOff
	if on {
		action = machineroom.ActionOn
	}
	err := p.w.press(req.Context(), action, p.c.User, "")
	// A relay that did not move did not move the machine's power either.
	p.mu.Lock()
	p.closed = p.w.machine.Status().On
	p.mu.Unlock()
	switch {
	case errors.Is(err, errHungUp):
		panic(http.ErrAbortHandler)
	case err != nil:
		http.Error(out, err.Error(), http.StatusInternalServerError)
		return false
	}
	return true
}

// measure reads the relay and the power that flows, both as the lies have it.
func (p *plug) measure(ctx context.Context) (closed bool, watts float64) {
	on := p.w.isOn(ctx, p.c.User)
	p.mu.Lock()
	closed = p.closed
	p.mu.Unlock()
	if on != p.w.machine.Status().On {
		closed = !closed
	}
	switch {
	case on:
		return closed, wattsOn
	case closed:
		return closed, wattsStandby
	}
	return closed, 0
}
