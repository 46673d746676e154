package kube

import (
	"bytes"
	"context"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Secret is the Secret as it is now, or nil when it is gone.
func (l *Live) Secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	return Get[corev1.Secret](ctx, l.reader, namespace, name)
}

// CreateSecret creates a Secret.
func (w *Writer) CreateSecret(ctx context.Context, secret *corev1.Secret) (*corev1.Secret, error) {
	after := secret.DeepCopy()
	if err := w.client.Create(ctx, after); err != nil {
		return nil, fmt.Errorf("creating Secret %s: %w", secret.Name, err)
	}
	return after, nil
}

// SecretData gives a Secret complete new data.
func (w *Writer) SecretData(ctx context.Context, secret *corev1.Secret, data map[string][]byte) (*corev1.Secret, error) {
	after := secret.DeepCopy()
	after.Data = data
	return after, w.patch(ctx, "renewing Secret", secret, after)
}

// TrustInWebhooks gives every webhook of the two configurations of that name these authorities, in PEM, and answers how
// many configurations that changed. One that does not exist is nobody's who could ask.
func (w *Writer) TrustInWebhooks(ctx context.Context, name string, authorities []byte) (int, error) {
	changed := 0
	for _, trust := range []func(context.Context, string, []byte) (bool, error){w.trustInMutating, w.trustInValidating} {
		did, err := trust(ctx, name, authorities)
		if err != nil {
			return changed, err
		}
		if did {
			changed++
		}
	}
	return changed, nil
}

func (w *Writer) trustInMutating(ctx context.Context, name string, authorities []byte) (bool, error) {
	before, err := Get[admissionv1.MutatingWebhookConfiguration](ctx, w.live.reader, "", name)
	if before == nil || err != nil {
		return false, err
	}
	after, differs := before.DeepCopy(), false
	for i := range after.Webhooks {
		differs = trustIn(&after.Webhooks[i].ClientConfig, authorities) || differs
	}
	return differs, w.patchIf(ctx, differs, before, after)
}

func (w *Writer) trustInValidating(ctx context.Context, name string, authorities []byte) (bool, error) {
	before, err := Get[admissionv1.ValidatingWebhookConfiguration](ctx, w.live.reader, "", name)
	if before == nil || err != nil {
		return false, err
	}
	after, differs := before.DeepCopy(), false
	for i := range after.Webhooks {
		differs = trustIn(&after.Webhooks[i].ClientConfig, authorities) || differs
	}
	return differs, w.patchIf(ctx, differs, before, after)
}

func trustIn(config *admissionv1.WebhookClientConfig, authorities []byte) bool {
	differs := !bytes.Equal(config.CABundle, authorities)
	config.CABundle = authorities
	return differs
}

func (w *Writer) patchIf(ctx context.Context, differs bool, before, after client.Object) error {
	if !differs {
		return nil
	}
	return w.patch(ctx, "putting the authority into webhook configuration", before, after)
}
