package machineroom

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"

	"k8s.io/client-go/util/cert"

	"homecluster.dev/autoscaler/sandbox/machineroom/internal/kubelet"
)

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
	return serve(r.ctx, mux, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12})
}

func (r *Room) answerLogs(w http.ResponseWriter, req *http.Request) {
	opts, err := logOptions(req)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "text/plain")
	namespace, pod, container := req.PathValue("namespace"), req.PathValue("pod"), req.PathValue("container")
	k := r.kubeletWith(namespace, pod)
	if k == nil {
		http.Error(w, kubelet.ErrNoSuchPod.Error(), http.StatusNotFound)
		return
	}
	err = k.Logs(req.Context(), namespace, pod, container, opts, flushing{w})
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
