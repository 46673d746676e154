package machineroom

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
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
func serve(ctx context.Context, handler http.Handler, config *tls.Config) (*server, error) {
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", "127.0.0.1:0")
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
