package certs

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	"homecluster.dev/autoscaler/internal/kube"
)

const (
	// lookEvery is how often the Secret and the webhook configurations are looked at. It also bounds how long a replica
	// shows a certificate that another one has renewed, and how long an API server has to learn of a new authority.
	lookEvery = 10 * time.Second
	// lookAgain is the pause after a look that failed.
	lookAgain = time.Second
)

// Shown is the certificate that the ports show; at first there is none.
type Shown struct {
	cert atomic.Pointer[tls.Certificate]
}

// GetCertificate is the certificate now.
func (s *Shown) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := s.cert.Load(); cert != nil {
		return cert, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// Keeper makes the manager's own certificate, renews it before its time and keeps it in a Secret, which all replicas
// share: one of them writes it, and all show it. It puts the authority into the webhook configurations, and again
// whenever somebody takes it out.
//
// Nothing is refused by a rotation: an authority is trusted before it signs, and as long as it is valid; a certificate
// whose authority is newly trusted is not shown before the API server has had time to learn of it.
type Keeper struct {
	// Namespace and Secret say where the certificate is kept.
	Namespace, Secret string
	// Configuration is the name of the webhook configurations that the authority is put into; empty: none.
	Configuration string
	// Names are the DNS names and IP addresses that the certificate is for.
	Names []string
	// Shown gets the certificate.
	Shown  *Shown
	Live   *kube.Live
	Writer *kube.Writer
	// Clock is the real one: certificates are judged by the clocks of others.
	Clock clock.Clock
	Log   logr.Logger
	// Tell is told when the certificate that is shown ends.
	Tell func(end time.Time)

	// announced are the authorities that the last look found, or made, trusted.
	announced []*x509.Certificate
	// unfit is why there is no certificate to show yet, or nil.
	unfit atomic.Pointer[error]
	kept  atomic.Bool
}

// NeedLeaderElection is false: every replica shows a certificate.
func (k *Keeper) NeedLeaderElection() bool { return false }

// Ready is nil once there is a certificate, and the webhook configurations trust it.
func (k *Keeper) Ready() error {
	if k.kept.Load() {
		return nil
	}
	if err := k.unfit.Load(); err != nil {
		return *err
	}
	return errors.New("making the certificate")
}

// Start looks again and again until the context ends.
func (k *Keeper) Start(ctx context.Context) error {
	said := ""
	for {
		err := k.look(ctx)
		pause := lookEvery
		switch {
		case err == nil:
			k.kept.Store(true)
			said = ""
		case ctx.Err() != nil:
		default:
			pause = lookAgain
			k.unfit.Store(&err)
			if text := err.Error(); text != said && !kube.DecideAgain(err) {
				k.Log.Error(err, "keeping the certificate")
				said = text
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-k.Clock.After(pause):
		}
	}
}

// look does once what is due. A write that another replica was quicker at is a conflict, and the next look sees why.
func (k *Keeper) look(ctx context.Context) error {
	secret, err := k.Live.Secret(ctx, k.Namespace, k.Secret)
	if err != nil {
		return err
	}
	m, err := k.keep(ctx, secret)
	if err != nil {
		return err
	}
	if err := k.trust(ctx, inPEM(m.trusted...)); err != nil {
		return err
	}
	k.show(m)
	return nil
}

// keep renews what is due and saves it.
func (k *Keeper) keep(ctx context.Context, secret *corev1.Secret) (material, error) {
	var m material
	switch {
	case secret == nil:
		// Nobody has made one yet; or somebody deleted it to have everything made anew, which shall cut nobody off.
		m.trusted = slices.Clone(k.announced)
	case foreign(secret):
		return m, fmt.Errorf("the certificate in Secret %s has no authority's key beside it, so that somebody else keeps it: "+
			"name another with --tls-secret, pass its files with --tls-cert-file, or delete it", k.Secret)
	default:
		m = readMaterial(secret.Data)
	}
	done, err := m.renew(k.Clock.Now(), k.Names)
	if err != nil || len(done) == 0 {
		return m, err
	}
	data, err := m.data()
	if err != nil {
		return m, err
	}
	if secret == nil {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Secret}, Type: corev1.SecretTypeTLS, Data: data,
		}
		_, err = k.Writer.CreateSecret(ctx, secret)
	} else {
		_, err = k.Writer.SecretData(ctx, secret, data)
	}
	if err == nil {
		k.Log.Info("renewed the certificate", "secret", k.Secret, "done", strings.Join(done, "; "), "ends", m.serving.cert.NotAfter.UTC())
	}
	return m, err
}

// foreign is whether the Secret is one of cert-manager's, for example, which must not be written over.
func foreign(secret *corev1.Secret) bool {
	return len(secret.Data[keyCert]) > 0 && len(secret.Data[keyAuthority]) == 0 && len(secret.Data[keyNext]) == 0
}

// trust puts the authorities into the webhook configurations.
func (k *Keeper) trust(ctx context.Context, authorities []byte) error {
	if k.Configuration == "" {
		return nil
	}
	changed, err := k.Writer.TrustInWebhooks(ctx, k.Configuration, authorities)
	if changed > 0 {
		k.Log.Info("the API server trusts the authority", "webhooks", k.Configuration)
	}
	return err
}

// show lets the ports show the certificate, at once if whoever calls them trusts it since the last look.
func (k *Keeper) show(m material) {
	now, known := m.serving, k.announced
	k.announced = m.trusted
	shown := k.Shown.cert.Load()
	if shown != nil && bytes.Equal(shown.Certificate[0], now.cert.Raw) {
		return
	}
	trusted := slices.ContainsFunc(known, func(c *x509.Certificate) bool { return now.cert.CheckSignatureFrom(c) == nil })
	if shown == nil || trusted || !k.Clock.Now().Before(shown.Leaf.NotAfter) {
		k.Shown.cert.Store(&tls.Certificate{Certificate: [][]byte{now.cert.Raw}, PrivateKey: now.key, Leaf: now.cert})
		k.Log.Info("the ports show a new certificate", "names", k.Names, "ends", now.cert.NotAfter.UTC())
		k.Tell(now.cert.NotAfter)
	}
}
