// Package proxy stands between a client and the API server, counts what the client writes, and can be told what goes
// wrong at which write. With it a test lets a manager die after its k-th write, for every k of an episode, and sees how
// the next one finds its way.
package proxy

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"

	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
)

// Bookkeeping are resources whose writes come by the clock or at will, not by decision; an episode's count that held
// them would never be the same twice. They pass, and are cut, like all others.
var Bookkeeping = []string{"leases", "events"}

// Proxy is a running proxy. Its methods are safe for concurrent use.
type Proxy struct {
	config  *rest.Config
	token   string
	ignored map[string]bool
	server  *http.Server
	forward *httputil.ReverseProxy

	// turn lets one counted write pass at a time: otherwise the write after a crash point could be under way already.
	turn sync.Mutex

	mu     sync.Mutex
	fault  Fault
	writes []Write
	cut    chan struct{} // closed at a crash point
}

// Start runs a proxy that acts as the user of the given config. Writes to the ignored resources (plurals) are not
// counted; nil ignores Bookkeeping.
func Start(upstream *rest.Config, ignored []string) (*Proxy, error) {
	if ignored == nil {
		ignored = Bookkeeping
	}
	target, _, err := rest.DefaultServerUrlFor(upstream)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	transport, err := rest.TransportFor(upstream)
	if err != nil {
		return nil, fmt.Errorf("making the proxy's transport: %w", err)
	}
	p := &Proxy{token: rand.Text(), ignored: map[string]bool{}, cut: make(chan struct{})}
	for _, resource := range ignored {
		p.ignored[resource] = true
	}
	p.forward = p.reverse(target, transport)
	if err := p.listen(); err != nil {
		return nil, err
	}
	return p, nil
}

// reverse passes requests on unbuffered, since a watch is an answer without end.
func (p *Proxy) reverse(target *url.URL, transport http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Authorization") // the caller's token is for this proxy alone
			// Answers must be readable here for the names of new objects; the transport's own compression is undone.
			r.Out.Header.Del("Accept-Encoding")
		},
		Transport:     transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
}

func (p *Proxy) listen() error {
	authority, err := pki.NewAuthority("homelab-autoscaler proxy")
	if err != nil {
		return err
	}
	pair, err := authority.Serving("proxy")
	if err != nil {
		return err
	}
	certificate, err := pair.TLS()
	if err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listening: %w", err)
	}
	// HTTP/1.1 alone: there a request that is cut is a connection that is cut, as in a crash.
	p.server = &http.Server{
		Handler:      http.HandlerFunc(p.serve),
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		ErrorLog:     log.New(io.Discard, "", 0),
	}
	p.config = &rest.Config{
		Host: "https://" + listener.Addr().String(), BearerToken: p.token,
		TLSClientConfig: rest.TLSClientConfig{CAData: authority.Cert},
		QPS:             -1,
	}
	go func() { _ = p.server.ServeTLS(listener, "", "") }() // ends with Close
	return nil
}

// Config is the access of the client under test; the caller owns the copy.
func (p *Proxy) Config() *rest.Config { return rest.CopyConfig(p.config) }

// Close cuts all connections and ends the proxy.
func (p *Proxy) Close() { _ = p.server.Close() }

// Arm starts a new episode: the count is zero, connections pass again, and the fault lies in wait. Fault{} only counts.
func (p *Proxy) Arm(fault Fault) {
	p.turn.Lock() // not in the middle of a write of the episode before
	defer p.turn.Unlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fault, p.writes = fault, nil
	if p.isCut() {
		p.cut = make(chan struct{})
	}
	if fault.hits(Cut, 0) {
		close(p.cut)
	}
}

// Cut returns what is closed when this episode reaches its crash point.
func (p *Proxy) Cut() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cut
}

// Writes returns the counted writes since Arm, in their order.
func (p *Proxy) Writes() []Write {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.writes)
}

func (p *Proxy) isCut() bool {
	select {
	case <-p.cut:
		return true
	default:
		return false
	}
}

func (p *Proxy) serve(out http.ResponseWriter, r *http.Request) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if subtle.ConstantTimeCompare([]byte(token), []byte(p.token)) == 0 {
		answer(out, status(http.StatusUnauthorized, "the proxy serves its own client alone"))
		return
	}
	ctx, cancel := p.untilCut(r.Context())
	defer cancel()
	r = r.WithContext(ctx)
	write, is := readWrite(r)
	if !is || p.ignored[write.Resource] {
		p.pass(out, r)
		return
	}
	p.turn.Lock()
	defer p.turn.Unlock()
	p.count(out, r, write)
}

// untilCut derives a context that ends at the crash point, so that running watches end with it.
func (p *Proxy) untilCut(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-p.Cut():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// pass forwards a request, or cuts its connection if the crash point is behind.
func (p *Proxy) pass(out http.ResponseWriter, r *http.Request) {
	select {
	case <-p.Cut():
		panic(http.ErrAbortHandler)
	default:
		p.forward.ServeHTTP(out, r)
	}
}
