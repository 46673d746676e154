package manager

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	ctrl "sigs.k8s.io/controller-runtime"

	"homecluster.dev/autoscaler/internal/provider"
	"homecluster.dev/autoscaler/internal/provider/security"
)

// secure reads the certificates of the provider's port, unless it was asked to be plaintext.
func (m *Manager) secure() error {
	c := m.config.GRPC
	if err := c.Validate(); err != nil || c.Insecure {
		return err
	}
	var err error
	m.security, err = security.New(security.Files{
		Cert: c.CertFile, Key: c.KeyFile, ClientCA: c.ClientCAFile, ClientNames: c.AllowedClientNames,
	}, m.log.WithName("provider"))
	return err
}

// addProvider adds the gRPC server. It answers on every replica once the caches are filled.
func (m *Manager) addProvider(mgr ctrl.Manager, t tools) error {
	options, err := m.addSecurity(mgr, t)
	if err != nil {
		return err
	}
	server := provider.New(provider.Config{
		Namespace: m.config.Namespace, Policy: m.policy, Informers: mgr.GetCache(), Live: t.live, Writer: t.writer,
		Clock: m.clock, Log: m.log.WithName("provider"), Options: options, Answered: t.metrics.Answered,
	})
	if err := mgr.Add(server.Runnable(m.grpc)); err != nil {
		return fmt.Errorf("adding the provider: %w", err)
	}
	m.checks = append(m.checks, server.Ready)
	return nil
}

// addSecurity keeps the certificates up to date, and says in the log who may call.
func (m *Manager) addSecurity(mgr ctrl.Manager, t tools) ([]grpc.ServerOption, error) {
	c := m.config.GRPC
	if m.security == nil {
		m.log.Info("the provider's port is plaintext (--grpc-insecure): whoever reaches it can switch machines")
		return nil, nil
	}
	m.security.Tell(func(end time.Time) { t.metrics.Certificate("provider", end) })
	if err := mgr.Add(m.security); err != nil {
		return nil, fmt.Errorf("adding the security of the provider's port: %w", err)
	}
	if c.ClientCAFile == "" {
		m.log.Info("the provider's port speaks TLS and asks no client who it is: whoever reaches it can switch machines", "certificate", c.CertFile)
	} else {
		m.log.Info("the provider's port speaks mutual TLS", "certificate", c.CertFile, "authorities", c.ClientCAFile, "clients", c.AllowedClientNames)
	}
	return []grpc.ServerOption{grpc.Creds(m.security.Credentials())}, nil
}
