// Package security decides who may speak on the provider's port: the server's certificate, the authorities and the names
// of clients, all of them from files that may change while the process runs.
package security

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc/credentials"

	"homecluster.dev/autoscaler/internal/certs"
)

// Files name what the port is secured with.
type Files struct {
	// Cert and Key are the server's certificate with its chain, and its key, in PEM.
	Cert, Key string
	// ClientCA holds the authorities of which one must have signed a client's certificate; empty: clients need none.
	ClientCA string
	// ClientNames are the names, common or DNS, of which a client's certificate must carry one; empty: any will do.
	ClientNames []string
}

// Port is the security of one port. A file that cannot be read leaves what was read of it last in force.
type Port struct {
	files Files
	log   logr.Logger
	own   *certs.Files

	mu sync.Mutex
	// text is the authorities' file as it was read last, and authorities what it holds.
	text        []byte
	authorities *x509.CertPool
	// fault is why it cannot be read now; empty: it can.
	fault string
}

// New reads every file, so that what is wrong with one is told before anything starts.
func New(files Files, log logr.Logger) (*Port, error) {
	own, err := certs.NewFiles("the provider's port", files.Cert, files.Key)
	if err != nil {
		return nil, err
	}
	p := &Port{files: files, log: log, own: own}
	if files.ClientCA != "" {
		if err := p.readAuthorities(); err != nil {
			return nil, fmt.Errorf("reading the authorities of the provider's clients: %w", err)
		}
	}
	return p, nil
}

// Start keeps the certificate up to date until the context ends.
func (p *Port) Start(ctx context.Context) error { return p.own.Start(ctx) }

// Tell tells when the certificate ends, now and whenever another one is read.
func (p *Port) Tell(tell func(end time.Time)) { p.own.Tell(tell) }

// NeedLeaderElection is false: every replica answers.
func (p *Port) NeedLeaderElection() bool { return false }

// Credentials are what a gRPC server needs of the port.
func (p *Port) Credentials() credentials.TransportCredentials {
	config := certs.ServerConfig(p.own.GetCertificate, http2)
	config.GetConfigForClient = p.forClient
	return spoken{credentials.NewTLS(config), p.log}
}

// http2 is all that gRPC speaks.
const http2 = "h2"

// forClient is the configuration for one connection. No session is resumed: a connection is judged by what holds when it
// is made, whatever an earlier one was granted.
func (p *Port) forClient(*tls.ClientHelloInfo) (*tls.Config, error) {
	config := certs.ServerConfig(p.own.GetCertificate, http2)
	config.SessionTicketsDisabled = true
	if p.files.ClientCA != "" {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, p.current()
		config.VerifyConnection = p.allowed
	}
	return config, nil
}

// allowed is nil when a verified client carries a name that may call.
func (p *Port) allowed(state tls.ConnectionState) error {
	if len(p.files.ClientNames) == 0 {
		return nil
	}
	leaf := state.PeerCertificates[0]
	names := append([]string{leaf.Subject.CommonName}, leaf.DNSNames...)
	if slices.ContainsFunc(names, func(name string) bool { return name != "" && slices.Contains(p.files.ClientNames, name) }) {
		return nil
	}
	return fmt.Errorf("the client's certificate names %q, of which none may call", names)
}

// current are the authorities in force now. They are read for every connection: connections are few, and a file costs
// less than a handshake.
func (p *Port) current() *x509.CertPool {
	p.mu.Lock()
	defer p.mu.Unlock()
	before, fault := p.authorities, ""
	if err := p.readAuthorities(); err != nil {
		fault = err.Error()
	}
	switch {
	case fault != "" && fault != p.fault:
		p.log.Info("the authorities of clients stay as they were: their file cannot be read", "because", fault)
	case before != p.authorities:
		p.log.Info("the authorities of clients have changed", "file", p.files.ClientCA)
	}
	p.fault = fault
	return p.authorities
}

func (p *Port) readAuthorities() error {
	text, err := os.ReadFile(p.files.ClientCA)
	if err != nil {
		return err
	}
	if p.authorities != nil && bytes.Equal(text, p.text) {
		return nil
	}
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(text) {
		return fmt.Errorf("%s holds no certificate in PEM", p.files.ClientCA)
	}
	p.text, p.authorities = text, authorities
	return nil
}

// spoken are credentials that say whom they refused: gRPC itself drops such a connection without a word.
type spoken struct {
	credentials.TransportCredentials
	log logr.Logger
}

// ServerHandshake greets a client.
func (s spoken) ServerHandshake(raw net.Conn) (net.Conn, credentials.AuthInfo, error) {
	conn, info, err := s.TransportCredentials.ServerHandshake(raw)
	// Who hangs up without a word is a probe of the port.
	if err != nil && !errors.Is(err, io.EOF) {
		s.log.Info("refused a connection", "from", raw.RemoteAddr().String(), "because", err.Error())
	}
	return conn, info, err
}

// Clone keeps the words.
func (s spoken) Clone() credentials.TransportCredentials {
	return spoken{s.TransportCredentials.Clone(), s.log}
}
