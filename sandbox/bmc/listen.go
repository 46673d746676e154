package bmc

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// loopback is an address of the machine's own on loopback, so that a port it gives up for a while is taken by nobody
// else. Where the system has only one loopback address, it is that.
func loopback(ctx context.Context) string {
	var octets [3]byte
	// It never fails, and a collision would only make two machines share an address.
	_, _ = rand.Read(octets[:])
	own := fmt.Sprintf("127.%d.%d.%d", 64+octets[0]%64, octets[1], 1+octets[2]%254)
	var network net.ListenConfig
	probe, err := network.Listen(ctx, "tcp", net.JoinHostPort(own, "0"))
	if err != nil {
		return "127.0.0.1"
	}
	_ = probe.Close()
	return own
}

// lossy cuts connections that the lies say are lost.
type lossy struct {
	net.Listener
	w *wire
}

func (l lossy) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil || !l.w.drops() {
			return conn, err
		}
		cut(conn)
	}
}

// cut ends a connection so that the other side sees it was not in order.
func cut(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

// serveHTTP answers on a free port of the host until stop is called.
func serveHTTP(w *wire, host string, wrap func(net.Listener) net.Listener, handler http.Handler) (address string, stop func(), err error) {
	var network net.ListenConfig
	listener, err := network.Listen(w.ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", nil, fmt.Errorf("listening for %s: %w", w.protocol, err)
	}
	address = listener.Addr().String()
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second, ErrorLog: quiet()}
	var done sync.WaitGroup
	done.Go(func() { _ = server.Serve(wrap(lossy{listener, w})) })
	return address, func() {
		// Nobody waits for an answer that a liar owes him.
		_ = server.Close()
		done.Wait()
	}, nil
}

// answers runs what a protocol does for one request, unless the lies say that no answer comes.
func (w *wire) answers(next http.HandlerFunc) http.HandlerFunc {
	return func(out http.ResponseWriter, req *http.Request) {
		if w.withhold(req.Context()) {
			panic(http.ErrAbortHandler)
		}
		next(out, req)
	}
}
