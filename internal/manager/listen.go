package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"

	"homecluster.dev/autoscaler/internal/config"
)

// listen takes the four addresses, or none of them.
func (m *Manager) listen(ctx context.Context, o Options) error {
	var fault error
	take := func(given net.Listener, flag, address string) net.Listener {
		if given != nil || fault != nil || address == config.Off {
			return given
		}
		listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
		if err != nil {
			fault = fmt.Errorf("taking the address of %s: %w", flag, err)
			return nil
		}
		return listener
	}
	m.grpc = take(o.GRPC, "--grpc-bind-address", m.config.GRPCAddress)
	m.metrics = take(o.Metrics, "--metrics-bind-address", m.config.MetricsAddress)
	m.probes = take(o.Probes, "--health-probe-bind-address", m.config.ProbeAddress)
	if m.config.Webhook.On() {
		m.webhook = take(o.Webhook, "--webhook-bind-address", m.config.Webhook.Address)
	}
	if fault != nil {
		return errors.Join(fault, m.close())
	}
	return nil
}

// close lets the addresses go; whoever served on one has closed it already.
func (m *Manager) close() error {
	var faults []error
	for _, listener := range []net.Listener{m.grpc, m.metrics, m.probes, m.webhook} {
		if listener == nil {
			continue
		}
		if err := listener.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			faults = append(faults, fmt.Errorf("closing %s: %w", listener.Addr(), err))
		}
	}
	return errors.Join(faults...)
}

// GRPCAddress is where the provider listens.
func (m *Manager) GRPCAddress() string { return address(m.grpc) }

// MetricsAddress is where /metrics listens; empty: nowhere.
func (m *Manager) MetricsAddress() string { return address(m.metrics) }

// ProbeAddress is where /healthz and /readyz listen; empty: nowhere.
func (m *Manager) ProbeAddress() string { return address(m.probes) }

// WebhookAddress is where the webhook listens; empty: nowhere.
func (m *Manager) WebhookAddress() string { return address(m.webhook) }

func address(listener net.Listener) string {
	if listener == nil {
		return ""
	}
	return listener.Addr().String()
}

// serveHTTP serves probes and metrics until the context ends: both have something to say before there is an API server.
// Metrics are answered once it has said who asks.
func (m *Manager) serveHTTP(ctx context.Context) {
	probes := http.NewServeMux()
	probes.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	probes.Handle("/readyz", &m.ready)
	var group sync.WaitGroup
	group.Go(func() { m.serve(ctx, &port{name: "probes", listener: m.probes, handler: probes}) })
	group.Go(func() {
		serve := &port{name: "metrics", listener: m.metrics, handler: m.measured}
		if !m.config.MetricsInsecure {
			serve.certificate = m.certificate
		}
		m.serve(ctx, serve)
	})
	group.Wait()
}

func (m *Manager) serve(ctx context.Context, port *port) {
	if port.listener == nil {
		return
	}
	port.log = m.log
	if err := port.Start(ctx); err != nil {
		m.log.Error(err, "an endpoint is lost")
	}
}
