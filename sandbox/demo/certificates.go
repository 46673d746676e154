package demo

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
	"homecluster.dev/autoscaler/sandbox/standin"
)

// clientName is the real client's, and that of the certificate that lies ready; clientNames are who may call the provider.
const (
	clientName  = "cluster-autoscaler"
	clientNames = clientName + "," + standin.UserAgent
)

// certificates secure the provider's port as at home: mutual TLS under an authority of its own.
type certificates struct {
	dir       string
	authority *pki.Authority
}

func newCertificates(dir string) (*certificates, error) {
	authority, err := pki.NewAuthority("provider")
	if err != nil {
		return nil, fmt.Errorf("making the provider's authority: %w", err)
	}
	c := &certificates{dir: filepath.Join(dir, "provider"), authority: authority}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of the provider's certificates: %w", err)
	}
	if err := os.WriteFile(c.ca(), authority.Cert, 0o600); err != nil {
		return nil, fmt.Errorf("writing the provider's authority: %w", err)
	}
	return c, nil
}

func (c *certificates) ca() string { return filepath.Join(c.dir, "ca.crt") }

// serving writes the provider's own certificate and key.
func (c *certificates) serving() (cert, key string, err error) {
	pair, err := c.authority.Serving("provider")
	if err != nil {
		return "", "", err
	}
	return c.write("server", pair)
}

// client writes the certificate and key of a client of that name.
func (c *certificates) client(name string) (cert, key string, err error) {
	pair, err := c.authority.Client(name)
	if err != nil {
		return "", "", err
	}
	return c.write(name, pair)
}

func (c *certificates) write(name string, pair pki.Pair) (cert, key string, err error) {
	cert, key = filepath.Join(c.dir, name+".crt"), filepath.Join(c.dir, name+".key")
	for path, text := range map[string][]byte{cert: pair.Cert, key: pair.Key} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return "", "", fmt.Errorf("writing the certificate of %s: %w", name, err)
		}
	}
	return cert, key, nil
}

// clientTLS is what a client of that name in this process calls the provider with.
func (c *certificates) clientTLS(name string) (*tls.Config, error) {
	pair, err := c.authority.Client(name)
	if err != nil {
		return nil, err
	}
	own, err := pair.TLS()
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(c.authority.Cert)
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{own}, RootCAs: roots}, nil
}
