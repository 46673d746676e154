package conformance

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
)

// Port is where a provider answers, in the terms of the client's own cloud-config.
type Port struct {
	// Address is host:port.
	Address string
	// CACert, Cert and Key are PEM files; all empty: plaintext. The host of the address must be the certificate's.
	CACert, Cert, Key string
}

// Dial makes a connection as cluster-autoscaler does: plaintext, or TLS with a certificate of its own.
func (p Port) Dial() (*grpc.ClientConn, error) {
	if p.CACert == "" && p.Cert == "" && p.Key == "" {
		return grpc.NewClient(p.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	}
	if p.CACert == "" || p.Cert == "" || p.Key == "" {
		return nil, errors.New("the client speaks TLS only with all three of cacert, cert and key")
	}
	own, err := tls.LoadX509KeyPair(p.Cert, p.Key)
	if err != nil {
		return nil, fmt.Errorf("reading the client's certificate: %w", err)
	}
	text, err := os.ReadFile(p.CACert)
	if err != nil {
		return nil, fmt.Errorf("reading the authority: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("reading the authority: no certificate in %s", p.CACert)
	}
	return grpc.NewClient(p.Address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, RootCAs: roots,
	})))
}
