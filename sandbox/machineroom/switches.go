package machineroom

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// serveSwitches answers for all switches of the room, its temperaments and its log.
func serveSwitches(r *Room) (*server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /machines", func(w http.ResponseWriter, _ *http.Request) {
		all := []Status{}
		for _, m := range r.Machines() {
			all = append(all, m.Status())
		}
		answer(w, all)
	})
	mux.HandleFunc("GET /machines/{name}", r.with(showStatus))
	mux.HandleFunc("GET /machines/{name}/power", r.with(showStatus))
	mux.HandleFunc("POST /machines/{name}/power", r.with(press))
	mux.HandleFunc("GET /machines/{name}/temperament", r.with(showTemperament))
	mux.HandleFunc("PUT /machines/{name}/temperament", r.with(setTemperament))
	mux.HandleFunc("POST /machines/{name}/outage", r.with(outage))
	mux.HandleFunc("GET /log", r.answerLog)
	return serve(r.ctx, mux, nil)
}

// with finds the machine that a path names.
func (r *Room) with(do func(http.ResponseWriter, *http.Request, *Metal)) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		m := r.Machine(req.PathValue("name"))
		if m == nil {
			http.Error(w, "there is no such machine in the room", http.StatusNotFound)
			return
		}
		do(w, req, m)
	}
}

func showStatus(w http.ResponseWriter, _ *http.Request, m *Metal) { answer(w, m.Status()) }

func showTemperament(w http.ResponseWriter, _ *http.Request, m *Metal) { answer(w, m.Temperament()) }

// pressBody is what POST …/power takes.
type pressBody struct {
	Action Action `json:"action"`
	// Source is who presses, for the log.
	Source string `json:"source,omitempty"`
}

func press(w http.ResponseWriter, req *http.Request, m *Metal) {
	var body pressBody
	if !read(w, req, &body) {
		return
	}
	source := sourceSwitch
	if body.Source != "" {
		source += ":" + body.Source
	}
	switch err := m.Press(req.Context(), body.Action, source); {
	case errors.Is(err, ErrUnknownAction):
		http.Error(w, err.Error(), http.StatusBadRequest)
	case errors.Is(err, ErrNotOn):
		http.Error(w, err.Error(), http.StatusConflict)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func setTemperament(w http.ResponseWriter, req *http.Request, m *Metal) {
	var t Temperament
	if !read(w, req, &t) {
		return
	}
	if err := m.SetTemperament(t); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer(w, m.Temperament())
}

// outage makes something happen to a machine now: {"kind": "PowerLost"} or {"kind": "Panicked"}.
func outage(w http.ResponseWriter, req *http.Request, m *Metal) {
	var body struct {
		Kind Kind `json:"kind"`
	}
	if !read(w, req, &body) {
		return
	}
	switch body.Kind {
	case PowerLost:
		m.LosePower()
	case Panicked:
		m.Panic()
	default:
		http.Error(w, fmt.Sprintf("kind must be %s or %s", PowerLost, Panicked), http.StatusBadRequest)
		return
	}
	answer(w, m.Status())
}

// answerLog answers /log?machine=&kind=&after= with a line of JSON per event.
func (r *Room) answerLog(w http.ResponseWriter, req *http.Request) {
	var filters []Filter
	query := req.URL.Query()
	if machine := query.Get("machine"); machine != "" {
		filters = append(filters, Of(machine))
	}
	if kind := query.Get("kind"); kind != "" {
		filters = append(filters, Is(Kind(kind)))
	}
	if after := query.Get("after"); after != "" {
		seq, err := strconv.ParseInt(after, 10, 64)
		if err != nil {
			http.Error(w, "after must be a number", http.StatusBadRequest)
			return
		}
		filters = append(filters, After(seq))
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	out := json.NewEncoder(w)
	for _, event := range r.Log(filters...) {
		if out.Encode(event) != nil {
			return
		}
	}
}

// read decodes a request, and has answered if it returns false.
func read(w http.ResponseWriter, req *http.Request, into any) bool {
	decoder := json.NewDecoder(http.MaxBytesReader(w, req.Body, 1<<16))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	// A client that went away needs no answer.
	_ = json.NewEncoder(w).Encode(value)
}
