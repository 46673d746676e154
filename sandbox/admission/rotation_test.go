package admission_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// Two replicas share a certificate. It is renewed, and then its authority replaced, while the API server asks without a
// pause and others connect anew each time, with the authorities that the configuration named a moment ago.
func TestARotationDropsNoRequest(t *testing.T) {
	h := newHome(t)
	one, _ := h.manage(h.address)
	other, err := controlplane.FreeAddress()
	if err != nil {
		t.Fatal(err)
	}
	two, _ := h.manage(other)
	addresses := []string{one.WebhookAddress(), two.WebhookAddress(), one.MetricsAddress(), two.MetricsAddress()}
	h.asked()
	h.same(addresses)
	count := h.askAllTheTime(addresses)

	before := h.shown(h.address)
	h.patchSecret(`{"data":{"tls.crt":""}}`)
	h.eventually("the ports show a new certificate", func(context.Context) error { return differs(before, h.shown(h.address)) })
	renewed := h.shown(h.address)
	if string(renewed.AuthorityKeyId) != string(before.AuthorityKeyId) {
		t.Error("a renewed certificate has another authority")
	}
	if err := h.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: secret}}); err != nil {
		t.Fatal(err)
	}
	h.eventually("the ports show a certificate of a new authority", func(ctx context.Context) error {
		var kept corev1.Secret
		if err := h.client.Get(ctx, client.ObjectKey{Namespace: h.namespace, Name: secret}, &kept); err != nil {
			return err
		}
		if now := h.shown(h.address); string(now.AuthorityKeyId) == string(before.AuthorityKeyId) {
			return fmt.Errorf("it is still of the old one")
		}
		return nil
	})
	h.same(addresses)
	if n := count(); n < 100 {
		t.Errorf("only %d requests were made: that proves little", n)
	}
}

func differs(a, b *x509.Certificate) error {
	if a.Equal(b) {
		return fmt.Errorf("it is still number %s", a.SerialNumber)
	}
	return nil
}

func (h *home) patchSecret(patch string) {
	h.t.Helper()
	kept := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: secret}}
	if err := h.client.Patch(h.t.Context(), kept, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		h.t.Fatal(err)
	}
}

// same waits until all ports show one certificate.
func (h *home) same(addresses []string) {
	h.t.Helper()
	h.eventually("all replicas show the same", func(context.Context) error {
		first := h.shown(addresses[0])
		for _, address := range addresses[1:] {
			if other := h.shown(address); !first.Equal(other) {
				return fmt.Errorf("%s shows number %s, %s number %s", addresses[0], first.SerialNumber, address, other.SerialNumber)
			}
		}
		return nil
	})
}

// askAllTheTime asks until the count is taken, which also ends it. A request that fails fails the test.
func (h *home) askAllTheTime(addresses []string) (count func() int64) {
	ctx, cancel := context.WithCancel(h.t.Context())
	var group sync.WaitGroup
	var asked atomic.Int64
	again := func(what string, ask func() error) {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := ask(); err != nil && ctx.Err() == nil {
					h.t.Errorf("after %d requests, %s: %v", asked.Load(), what, err)
					return
				}
				asked.Add(1)
			}
		})
	}
	again("through the API server", func() error { return answered(ctx, h.client, h.namespace) })
	for _, address := range addresses {
		again("at "+address, func() error {
			roots, err := h.trusted(ctx)
			if err != nil {
				return err
			}
			select { // the API server learns of a change later than we do
			case <-ctx.Done():
				return nil
			case <-time.After(200 * time.Millisecond):
			}
			dialer := tls.Dialer{Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
			conn, err := dialer.DialContext(ctx, "tcp", address)
			if err != nil {
				return err
			}
			return conn.Close()
		})
	}
	stop := func() { cancel(); group.Wait() }
	h.t.Cleanup(stop)
	return func() int64 { stop(); return asked.Load() }
}

// trusted are the authorities that the API server was told to trust.
func (h *home) trusted(ctx context.Context) (*x509.CertPool, error) {
	var hooks admissionv1.ValidatingWebhookConfiguration
	if err := h.client.Get(ctx, client.ObjectKey{Name: h.namespace}, &hooks); err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	for _, hook := range hooks.Webhooks {
		if !roots.AppendCertsFromPEM(hook.ClientConfig.CABundle) {
			return nil, fmt.Errorf("%s trusts nobody", hook.Name)
		}
	}
	return roots, nil
}

// Whoever replaces the configurations takes the authority out: it is put back.
func TestAnAuthorityThatIsTakenOutIsPutBack(t *testing.T) {
	h := newHome(t)
	h.manage(h.address)
	h.asked()
	var hooks admissionv1.MutatingWebhookConfiguration
	if err := h.client.Get(t.Context(), client.ObjectKey{Name: h.namespace}, &hooks); err != nil {
		t.Fatal(err)
	}
	want := hooks.Webhooks[0].ClientConfig.CABundle
	hooks.Webhooks[0].ClientConfig.CABundle = nil
	if err := h.client.Update(t.Context(), &hooks); err != nil {
		t.Fatal(err)
	}
	h.eventually("the authority is back", func(ctx context.Context) error {
		if err := h.client.Get(ctx, client.ObjectKey{Name: h.namespace}, &hooks); err != nil {
			return err
		}
		if got := hooks.Webhooks[0].ClientConfig.CABundle; string(got) != string(want) {
			return fmt.Errorf("the webhook trusts %q", got)
		}
		return nil
	})
}
