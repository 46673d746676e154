package controlplane

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/webhook"
)

// InstallWebhooks installs the project's webhook configurations under a name, for one namespace, with the manager at an
// address on the loopback interface in place of a Service. Who answers there is not trusted yet: the manager does that.
func (cp *ControlPlane) InstallWebhooks(ctx context.Context, name, namespace, address string) error {
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	at := place{namespace, address}
	registrations := client.AdmissionregistrationV1()
	first, second, _ := strings.Cut(string(webhook.Configurations), "\n---\n")
	var mutating admissionv1.MutatingWebhookConfiguration
	if err := yaml.UnmarshalStrict([]byte(first), &mutating); err != nil {
		return fmt.Errorf("reading the defaulting webhooks: %w", err)
	}
	mutating.Name = name
	for i := range mutating.Webhooks {
		hook := &mutating.Webhooks[i]
		at.move(&hook.ClientConfig, &hook.NamespaceSelector)
	}
	if _, err := registrations.MutatingWebhookConfigurations().Create(ctx, &mutating, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("creating the defaulting webhooks: %w", err)
	}
	var validating admissionv1.ValidatingWebhookConfiguration
	if err := yaml.UnmarshalStrict([]byte(second), &validating); err != nil {
		return fmt.Errorf("reading the validating webhooks: %w", err)
	}
	validating.Name = name
	for i := range validating.Webhooks {
		hook := &validating.Webhooks[i]
		at.move(&hook.ClientConfig, &hook.NamespaceSelector)
	}
	if _, err := registrations.ValidatingWebhookConfigurations().Create(ctx, &validating, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		return fmt.Errorf("creating the validating webhooks: %w", err)
	}
	return nil
}

// place is where a manager runs outside the cluster, and whom it serves.
type place struct{ namespace, address string }

// move points a webhook to the manager.
func (p place) move(config *admissionv1.WebhookClientConfig, selector **metav1.LabelSelector) {
	path := ""
	if config.Service != nil && config.Service.Path != nil {
		path = *config.Service.Path
	}
	config.Service, config.URL = nil, new("https://"+p.address+path)
	*selector = &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: p.namespace}}
}
