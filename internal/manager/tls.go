package manager

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"

	"homecluster.dev/autoscaler/internal/certs"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/webhook"
)

// certify finds the certificate of the webhook's and the metrics' ports: in files, or to be made once there is an API
// server to keep it.
func (m *Manager) certify() (err error) {
	c := m.config
	switch {
	case c.OwnCertificate():
		m.shown = &certs.Shown{}
		m.certificate = m.shown.GetCertificate
	case c.TLS.Files():
		if m.files, err = certs.NewFiles("the webhook's and the metrics' ports", c.TLS.CertFile, c.TLS.KeyFile); err != nil {
			return err
		}
		m.certificate = m.files.GetCertificate
	}
	return nil
}

// addCertificate keeps the certificate up to date.
func (m *Manager) addCertificate(mgr ctrl.Manager, t tools) error {
	tell := func(end time.Time) {
		if m.config.Webhook.On() {
			t.metrics.Certificate("webhook", end)
		}
		if m.config.MetricsOn() && !m.config.MetricsInsecure {
			t.metrics.Certificate("metrics", end)
		}
	}
	switch {
	case m.files != nil:
		m.files.Tell(tell)
		if err := mgr.Add(m.files); err != nil {
			return fmt.Errorf("adding the certificate's files: %w", err)
		}
	case m.shown != nil:
		keeper := &certs.Keeper{
			Namespace: m.config.Namespace, Secret: m.config.TLS.Secret, Names: m.config.CertificateNames(),
			Shown: m.shown, Live: t.live, Writer: t.writer, Clock: kube.Clock{}, Log: m.log.WithName("certificate"), Tell: tell,
		}
		if m.config.Webhook.On() {
			keeper.Configuration = m.config.Webhook.Configuration
		}
		if err := mgr.Add(keeper); err != nil {
			return fmt.Errorf("adding the keeper of the certificate: %w", err)
		}
		m.checks = append(m.checks, keeper.Ready)
	}
	return nil
}

// addWebhook lets the API server ask, on every replica.
func (m *Manager) addWebhook(mgr ctrl.Manager, t tools) error {
	if !m.config.Webhook.On() {
		m.log.Info("there is no webhook (--webhook-bind-address=0): only the schema judges our objects")
		return nil
	}
	handler, err := webhook.Handler(webhook.Config{
		Namespace: m.config.Namespace, Scheme: m.scheme, Live: t.live, Clock: m.clock, Policy: m.policy, Log: m.log.WithName("webhook"),
	})
	if err != nil {
		return err
	}
	port := &port{name: "the webhook", listener: m.webhook, handler: handler, certificate: m.certificate, log: m.log}
	if err := mgr.Add(port); err != nil {
		return fmt.Errorf("adding the webhook: %w", err)
	}
	m.checks = append(m.checks, port.Ready)
	return nil
}

// answers is nil once everything that others ask answers: the provider, and the webhook with its certificate.
func (m *Manager) answers() error {
	for _, check := range m.checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// meter makes the metrics' handler: it answers whom the API server knows and allows to read them, unless it was told to
// answer everybody.
func (m *Manager) meter() error {
	mux, gathered := http.NewServeMux(), prometheus.Gatherers{ctrlmetrics.Registry, m.state}
	mux.Handle("/metrics", promhttp.HandlerFor(gathered, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	m.measured = mux
	if !m.config.MetricsOn() {
		return nil
	}
	if m.config.MetricsInsecure {
		m.log.Info("the metrics' port is plaintext (--metrics-insecure): whoever reaches it can read them")
		return nil
	}
	clients, err := rest.HTTPClientFor(m.rest)
	if err != nil {
		return fmt.Errorf("reading how to reach the API server: %w", err)
	}
	filter, err := filters.WithAuthenticationAndAuthorization(m.rest, clients)
	if err != nil {
		return fmt.Errorf("guarding the metrics: %w", err)
	}
	if m.measured, err = filter(m.log.WithName("metrics"), mux); err != nil {
		return fmt.Errorf("guarding the metrics: %w", err)
	}
	return nil
}
