package manager

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"homecluster.dev/autoscaler/internal/certs"
)

const (
	// headerTimeout bounds a client that connects and says nothing.
	headerTimeout = 10 * time.Second
	// idleTimeout ends a connection that nobody uses. It is longer than an API server's pauses, which reuses its own.
	idleTimeout = 2 * time.Minute
)

// port serves HTTP on a listener, with TLS if there is a certificate.
type port struct {
	name     string
	listener net.Listener
	handler  http.Handler
	// certificate is what the port shows; nil: it is plaintext.
	certificate certs.Get
	log         logr.Logger
	serving     atomic.Bool
}

// NeedLeaderElection is false: every replica answers.
func (p *port) NeedLeaderElection() bool { return false }

// Ready is nil while the port serves.
func (p *port) Ready() error {
	if !p.serving.Load() {
		return fmt.Errorf("%s does not serve yet", p.name)
	}
	return nil
}

// Start serves until the context ends, and lets those finish who are being answered then.
func (p *port) Start(ctx context.Context) error {
	server := &http.Server{
		Handler: p.handler, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout,
		// What it says is about clients, a scan or a probe that hangs up.
		ErrorLog: slog.NewLogLogger(logr.ToSlogHandler(p.log.V(1)), slog.LevelDebug),
	}
	ended := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		defer close(ended)
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace/2)
		defer cancel()
		if server.Shutdown(stopping) != nil {
			_ = server.Close()
		}
	})
	p.serving.Store(true)
	var err error
	if p.certificate == nil {
		err = server.Serve(p.listener)
	} else {
		server.TLSConfig = certs.ServerConfig(p.certificate, "h2", "http/1.1")
		err = server.ServeTLS(p.listener, "", "")
	}
	p.serving.Store(false)
	if !unhook() {
		<-ended
	}
	if err != nil && !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serving %s: %w", p.name, err)
	}
	return nil
}
