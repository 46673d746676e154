// Package certs gives the manager's ports their certificates: from files that somebody else keeps, cert-manager for
// example, or made and renewed by the manager itself and kept in a Secret. Either way a port asks for the certificate at
// every handshake, so that a new one needs no restart and breaks no connection.
package certs

import (
	"context"
	"crypto/tls"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
)

// Get is what a port asks at every handshake.
type Get func(*tls.ClientHelloInfo) (*tls.Certificate, error)

// ServerConfig is the TLS configuration of a port that shows what get gives.
func ServerConfig(get Get, protocols ...string) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, NextProtos: protocols, GetCertificate: get}
}

// Files is a certificate in two files, which are read again when they change. While they cannot be read, what was read
// last stays in force.
type Files struct {
	watcher *certwatcher.CertWatcher
	port    string
}

// NewFiles reads the files, so that what is wrong with them is told before anything starts. port says whose they are.
func NewFiles(port, cert, key string) (*Files, error) {
	watcher, err := certwatcher.New(cert, key)
	if err != nil {
		return nil, fmt.Errorf("reading the certificate of %s (%s, %s): %w", port, cert, key, err)
	}
	return &Files{watcher: watcher, port: port}, nil
}

// GetCertificate is the certificate now.
func (f *Files) GetCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	return f.watcher.GetCertificate(hello)
}

// Start keeps the certificate up to date until the context ends.
func (f *Files) Start(ctx context.Context) error {
	if err := f.watcher.Start(ctx); err != nil {
		return fmt.Errorf("watching the certificate of %s: %w", f.port, err)
	}
	return nil
}

// Tell tells when the certificate ends, now and whenever another one is read.
func (f *Files) Tell(tell func(end time.Time)) {
	f.watcher.RegisterCallback(func(cert tls.Certificate) {
		if leaf := cert.Leaf; leaf != nil {
			tell(leaf.NotAfter)
		}
	})
}

// NeedLeaderElection is false: every replica answers.
func (f *Files) NeedLeaderElection() bool { return false }
