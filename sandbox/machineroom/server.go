package machineroom

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"k8s.io/client-go/util/cert"

	"homecluster.dev/autoscaler/sandbox/machineroom/internal/kubelet"
)

// server is an HTTP server on loopback.
type server struct {
	http *http.Server
	url  string
	port int32
	done sync.WaitGroup
}

func (s *server) close() {
	// Nobody waits for an answer that a switch hangs on.
	_ = s.http.Close()
	s.done.Wait()
}

// serve answers with handler on a free port, with TLS where config is given.
func serve(handler http.Handler, config *tls.Config) (*server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	s := &server{
		http: &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, TLSConfig: config},
		port: int32(listener.Addr().(*net.TCPAddr).Port),
		url:  "http://" + listener.Addr().String(),
	}
	if config != nil {
		listener = tls.NewListener(listener, config)
	}
	s.done.Go(func() { _ = s.http.Serve(listener) })
	return s, nil
}

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
	mux.HandleFunc("GET /machines/{name}", r.with(func(w http.ResponseWriter, _ *http.Request, m *Metal) { answer(w, m.Status()) }))
	mux.HandleFunc("GET /machines/{name}/power", r.with(func(w http.ResponseWriter, _ *http.Request, m *Metal) { answer(w, m.Status()) }))
	mux.HandleFunc("POST /machines/{name}/power", r.with(press))
	mux.HandleFunc("GET /machines/{name}/temperament", r.with(func(w http.ResponseWriter, _ *http.Request, m *Metal) { answer(w, m.Temperament()) }))
	mux.HandleFunc("PUT /machines/{name}/temperament", r.with(setTemperament))
	mux.HandleFunc("POST /machines/{name}/outage", r.with(outage))
	mux.HandleFunc("GET /log", r.answerLog)
	return serve(mux, nil)
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

// serveKubelets is the port that the API server asks for logs. One serves all nodes of the room: a pod's name says
// which kubelet has it. Its certificate is made here and its callers are not checked, as befits a loopback toy.
func serveKubelets(r *Room) (*server, error) {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return nil, fmt.Errorf("making the kubelets' certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, fmt.Errorf("reading the kubelets' certificate: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{namespace}/{pod}/{container}", r.answerLogs)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the machine room's kubelets serve logs and nothing else", http.StatusNotImplemented)
	})
	return serve(mux, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
}

func (r *Room) answerLogs(w http.ResponseWriter, req *http.Request) {
	opts, err := logOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	k := r.kubeletWith(req.PathValue("namespace"), req.PathValue("pod"))
	if k == nil {
		http.Error(w, kubelet.ErrNoSuchPod.Error(), http.StatusNotFound)
		return
	}
	err = k.Logs(req.Context(), req.PathValue("namespace"), req.PathValue("pod"), req.PathValue("container"), opts, flushing{w})
	if errors.Is(err, kubelet.ErrNoSuchPod) {
		http.Error(w, err.Error(), http.StatusNotFound)
	}
}

func (r *Room) kubeletWith(namespace, name string) *kubelet.Kubelet {
	pod, found, err := r.pods.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !found {
		return nil
	}
	nodes, err := nodeOf(pod)
	if err != nil {
		return nil
	}
	return r.kubeletOf(nodes[0])
}

func logOptions(req *http.Request) (opts kubelet.LogOptions, err error) {
	query := req.URL.Query()
	opts.Tail = -1
	if lines := query.Get("tailLines"); lines != "" {
		if opts.Tail, err = strconv.Atoi(lines); err != nil || opts.Tail < 0 {
			return opts, fmt.Errorf("tailLines must be a number that is not negative, not %q", lines)
		}
	}
	if limit := query.Get("limitBytes"); limit != "" {
		if opts.Limit, err = strconv.ParseInt(limit, 10, 64); err != nil || opts.Limit < 1 {
			return opts, fmt.Errorf("limitBytes must be a positive number, not %q", limit)
		}
	}
	for _, unknown := range []string{"previous", "timestamps", "sinceSeconds", "sinceTime"} {
		if value := query.Get(unknown); value != "" && value != "false" {
			return opts, fmt.Errorf("the machine room keeps output only, and cannot serve %s", unknown)
		}
	}
	opts.Follow = query.Get("follow") == "true"
	return opts, nil
}

// flushing sends every write on at once, for those who follow.
type flushing struct{ http.ResponseWriter }

func (f flushing) Write(p []byte) (int, error) {
	n, err := f.ResponseWriter.Write(p)
	if flusher, ok := f.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
	return n, err
}
