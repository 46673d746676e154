package bmc

import (
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"sync"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

const (
	redfishSystem   = "/redfish/v1/Systems/1"
	redfishReset    = redfishSystem + "/Actions/ComputerSystem.Reset"
	redfishSessions = "/redfish/v1/SessionService/Sessions"
)

// resets are the reset types that the service takes, and what they do to the machine.
var resets = map[string]machineroom.Action{
	"On": machineroom.ActionOn, "ForceOn": machineroom.ActionOn, "ForceOff": machineroom.ActionOff,
	"GracefulShutdown": machineroom.ActionSoft, "PowerCycle": machineroom.ActionCycle, "ForceRestart": machineroom.ActionCycle,
}

// redfish is the machine's Redfish service: one system, basic authentication or a session, TLS.
type redfish struct {
	w *wire
	c Credentials

	mu     sync.Mutex
	tokens map[string]bool
}

func serveRedfish(w *wire, host string, c Credentials, certificate tls.Certificate) (address string, stop func(), err error) {
	r := &redfish{w: w, c: c, tokens: map[string]bool{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /redfish", r.constant(map[string]any{"v1": "/redfish/v1/"}))
	mux.HandleFunc("GET /redfish/v1/{$}", r.constant(root()))
	mux.HandleFunc("GET /redfish/v1/SessionService", r.known(r.constant(map[string]any{
		"@odata.id": "/redfish/v1/SessionService", "Id": "SessionService", "ServiceEnabled": true, "Sessions": link(redfishSessions)})))
	mux.HandleFunc("POST "+redfishSessions, r.login)
	mux.HandleFunc("DELETE "+redfishSessions+"/{id}", r.known(r.logout))
	mux.HandleFunc("GET /redfish/v1/Systems", r.known(r.constant(map[string]any{
		"@odata.id": "/redfish/v1/Systems", "Name": "Systems", "Members": []any{link(redfishSystem)}, "Members@odata.count": 1})))
	mux.HandleFunc("GET "+redfishSystem, r.known(r.system))
	mux.HandleFunc("POST "+redfishReset, r.known(r.reset))
	secure := func(listener net.Listener) net.Listener {
		return tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12})
	}
	return serveHTTP(w, host, secure, w.answers(mux.ServeHTTP))
}

func link(to string) map[string]string { return map[string]string{"@odata.id": to} }

func root() map[string]any {
	return map[string]any{
		"@odata.id": "/redfish/v1/", "@odata.type": "#ServiceRoot.v1_5_0.ServiceRoot", "Id": "RootService", "Name": "Root Service",
		"RedfishVersion": "1.6.0", "Systems": link("/redfish/v1/Systems"), "SessionService": link("/redfish/v1/SessionService"),
		"Links": map[string]any{"Sessions": link(redfishSessions)},
	}
}

func (r *redfish) constant(body any) http.HandlerFunc {
	return func(out http.ResponseWriter, _ *http.Request) { say(out, http.StatusOK, body) }
}

func say(out http.ResponseWriter, status int, body any) {
	out.Header().Set("Content-Type", "application/json")
	out.Header().Set("OData-Version", "4.0")
	out.WriteHeader(status)
	// A client that went away needs no answer.
	_ = json.NewEncoder(out).Encode(body)
}

// complain answers with the error object of the standard.
func complain(out http.ResponseWriter, status int, id, message string) {
	say(out, status, map[string]any{"error": map[string]any{"code": id, "message": message,
		"@Message.ExtendedInfo": []any{map[string]any{"MessageId": id, "Message": message}}}})
}

// known lets those in who have a session or say their password.
func (r *redfish) known(next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, req *http.Request) {
		if token := req.Header.Get("X-Auth-Token"); token != "" {
			r.mu.Lock()
			open := r.tokens[token]
			r.mu.Unlock()
			if open {
				next(out, req)
				return
			}
		}
		user, password, _ := req.BasicAuth()
		if r.admits(out, user, password) {
			next(out, req)
		}
	}
}

// admits checks a password, and has answered if it returns false.
func (r *redfish) admits(out http.ResponseWriter, user, password string) bool {
	switch {
	case r.w.refuses():
		out.Header().Set("Retry-After", "30")
		complain(out, http.StatusServiceUnavailable, "Base.1.8.SessionLimitExceeded",
			"The session establishment failed due to the number of simultaneous sessions exceeding the limit of the implementation.")
	case r.w.current().RejectPassword || !r.c.match(user, password):
		r.w.reject(user)
		out.Header().Set("WWW-Authenticate", `Basic realm="redfish"`)
		complain(out, http.StatusUnauthorized, "Base.1.8.NoValidSession", "There is no valid session established with the implementation.")
	default:
		return true
	}
	return false
}

func (r *redfish) login(out http.ResponseWriter, req *http.Request) {
	var body struct{ UserName, Password string }
	if !hear(out, req, &body) || !r.admits(out, body.UserName, body.Password) {
		return
	}
	token, id := rand.Text(), rand.Text()
	r.mu.Lock()
	r.tokens[token] = true
	r.mu.Unlock()
	out.Header().Set("X-Auth-Token", token)
	out.Header().Set("Location", redfishSessions+"/"+id)
	say(out, http.StatusCreated, map[string]any{"@odata.id": redfishSessions + "/" + id, "Id": id, "Name": "Session", "UserName": body.UserName})
}

// logout ends the session that it is asked in, whatever it is called.
func (r *redfish) logout(out http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	delete(r.tokens, req.Header.Get("X-Auth-Token"))
	r.mu.Unlock()
	out.WriteHeader(http.StatusNoContent)
}

func (r *redfish) system(out http.ResponseWriter, req *http.Request) {
	power := "Off"
	if r.w.isOn(req.Context(), r.c.User) {
		power = "On"
	}
	allowed := []string{"On", "ForceOff", "GracefulShutdown", "ForceRestart", "PowerCycle", "ForceOn"}
	say(out, http.StatusOK, map[string]any{
		"@odata.id": redfishSystem, "@odata.type": "#ComputerSystem.v1_10_0.ComputerSystem", "Id": "1", "Name": r.w.machine.Name(),
		"PowerState": power, "Actions": map[string]any{"#ComputerSystem.Reset": map[string]any{
			"target": redfishReset, "ResetType@Redfish.AllowableValues": allowed}},
	})
}

func (r *redfish) reset(out http.ResponseWriter, req *http.Request) {
	var body struct{ ResetType string }
	if !hear(out, req, &body) {
		return
	}
	action, known := resets[body.ResetType]
	if !known {
		complain(out, http.StatusBadRequest, "Base.1.8.ActionParameterNotSupported", "The reset type is not one of the allowable values.")
		return
	}
	switch err := r.w.press(req.Context(), action, r.c.User, body.ResetType); {
	case errors.Is(err, errHungUp):
		panic(http.ErrAbortHandler)
	case errors.Is(err, machineroom.ErrNotOn):
		complain(out, http.StatusConflict, "Base.1.8.ResourceInStandby", err.Error())
	case err != nil:
		complain(out, http.StatusServiceUnavailable, "Base.1.8.ServiceTemporarilyUnavailable", err.Error())
	default:
		out.WriteHeader(http.StatusNoContent)
	}
}

// hear reads a request's body, and has answered if it returns false.
func hear(out http.ResponseWriter, req *http.Request, into any) bool {
	if err := json.NewDecoder(http.MaxBytesReader(out, req.Body, 1<<16)).Decode(into); err != nil {
		complain(out, http.StatusBadRequest, "Base.1.8.MalformedJSON", "The request body could not be read.")
		return false
	}
	return true
}

// match compares without telling by its time how much was right.
func (c Credentials) match(user, password string) bool {
	return subtle.ConstantTimeCompare([]byte(user), []byte(c.User))&subtle.ConstantTimeCompare([]byte(password), []byte(c.Password)) == 1
}
