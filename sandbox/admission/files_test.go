package admission_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/config"
)

// Somebody else keeps the certificate in files and puts the authority into the configurations, as cert-manager does: the
// manager uses both, makes nothing, and shows a new certificate without a restart.
func TestACertificateFromFiles(t *testing.T) {
	h := newHome(t)
	h.trust(h.cp.Authority().Cert)
	cert, key := filepath.Join(t.TempDir(), "tls.crt"), filepath.Join(t.TempDir(), "tls.key")
	first := h.issue(cert, key)
	m, _ := h.manage(h.address, func(c *config.Config) { c.TLS = config.TLS{CertFile: cert, KeyFile: key, Secret: secret} })
	h.asked()
	for _, address := range []string{m.WebhookAddress(), m.MetricsAddress()} {
		h.eventually("the port shows the first", func(ctx context.Context) error { return h.shows(ctx, address, first) })
		older := tls.Dialer{Config: &tls.Config{RootCAs: h.roots(), MaxVersion: tls.VersionTLS12}}
		if conn, err := older.DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			t.Errorf("%s speaks an older TLS", address)
		}
	}
	second := h.issue(cert, key)
	for _, address := range []string{m.WebhookAddress(), m.MetricsAddress()} {
		h.eventually("the port shows the second", func(ctx context.Context) error { return h.shows(ctx, address, second) })
	}
	h.asked()
	err := h.client.Get(t.Context(), client.ObjectKey{Namespace: h.namespace, Name: secret}, &corev1.Secret{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("a Secret was made: %v", err)
	}
}

// The Secret of somebody else is not written over.
func TestASecretThatSomebodyElseKeepsIsLeftAlone(t *testing.T) {
	h := newHome(t)
	pair, err := h.cp.Authority().Serving("webhook")
	if err != nil {
		t.Fatal(err)
	}
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: secret}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": h.cp.Authority().Cert}}
	h.create(kept)
	m, _ := h.start(h.address)
	const why = "the certificate in Secret certificate has no authority's key beside it, so that somebody else keeps it"
	h.eventually("the manager says so", func(ctx context.Context) error { return saying(ready(ctx, m.ProbeAddress()), why) })
	version := kept.ResourceVersion
	if err := h.client.Get(t.Context(), client.ObjectKeyFromObject(kept), kept); err != nil || kept.ResourceVersion != version {
		t.Errorf("the Secret has changed: %v", err)
	}
}

// trust has the API server trust an authority.
func (h *home) trust(authority []byte) {
	h.t.Helper()
	key := client.ObjectKey{Name: h.namespace}
	var mutating admissionv1.MutatingWebhookConfiguration
	var validating admissionv1.ValidatingWebhookConfiguration
	for _, hooks := range []client.Object{&mutating, &validating} {
		if err := h.client.Get(h.t.Context(), key, hooks); err != nil {
			h.t.Fatal(err)
		}
	}
	for i := range mutating.Webhooks {
		mutating.Webhooks[i].ClientConfig.CABundle = authority
	}
	for i := range validating.Webhooks {
		validating.Webhooks[i].ClientConfig.CABundle = authority
	}
	for _, hooks := range []client.Object{&mutating, &validating} {
		if err := h.client.Update(h.t.Context(), hooks); err != nil {
			h.t.Fatal(err)
		}
	}
}

// issue writes a new certificate and its key, and answers the certificate.
func (h *home) issue(cert, key string) *x509.Certificate {
	h.t.Helper()
	pair, err := h.cp.Authority().Serving("webhook")
	if err != nil {
		h.t.Fatal(err)
	}
	for path, text := range map[string][]byte{key: pair.Key, cert: pair.Cert} {
		if err := os.WriteFile(path, text, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	issued, err := pair.TLS()
	if err != nil {
		h.t.Fatal(err)
	}
	return issued.Leaf
}

// shows is nil when a port shows that certificate.
func (h *home) shows(ctx context.Context, address string, want *x509.Certificate) error {
	dialer := tls.Dialer{Config: &tls.Config{RootCAs: h.roots(), MinVersion: tls.VersionTLS13}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if got := conn.(*tls.Conn).ConnectionState().PeerCertificates[0]; !got.Equal(want) {
		return fmt.Errorf("it shows number %s", got.SerialNumber)
	}
	return nil
}

// roots are the authority of whoever keeps the files.
func (h *home) roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(h.cp.Authority().Cert)
	return roots
}
