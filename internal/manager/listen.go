package manager

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"homecluster.dev/autoscaler/internal/config"
)

// listen takes the three addresses, or none of them.
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
	if fault != nil {
		return errors.Join(fault, m.close())
	}
	return nil
}

// close lets the addresses go; whoever served on one has closed it already.
func (m *Manager) close() error {
	var faults []error
	for _, listener := range []net.Listener{m.grpc, m.metrics, m.probes} {
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

func address(listener net.Listener) string {
	if listener == nil {
		return ""
	}
	return listener.Addr().String()
}

// serveHTTP serves probes and metrics until the context ends: both have something to say before there is an API server.
func (m *Manager) serveHTTP(ctx context.Context) {
	var group sync.WaitGroup
	probes := http.NewServeMux()
	probes.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("ok\n")) })
	probes.Handle("/readyz", &m.ready)
	metrics := http.NewServeMux()
	metrics.Handle("/metrics", promhttp.HandlerFor(prometheus.Gatherers{ctrlmetrics.Registry, m.state}, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	group.Go(func() { m.serve(ctx, "probes", m.probes, probes) })
	group.Go(func() { m.serve(ctx, "metrics", m.metrics, metrics) })
	group.Wait()
}

// headerTimeout bounds a client that connects and says nothing.
const headerTimeout = 10 * time.Second

func (m *Manager) serve(ctx context.Context, name string, listener net.Listener, handler http.Handler) {
	if listener == nil {
		return
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: headerTimeout}
	unhook := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer unhook()
	if err := server.Serve(listener); err != nil && !errors.Is(err, http.ErrServerClosed) {
		m.log.Error(err, "serving "+name)
	}
}
