package chart_test

import (
	"slices"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"homecluster.dev/autoscaler/sandbox/chart"
)

// hooksOf are all webhooks of both configurations; as far as the tests go, the kinds have the same fields.
func hooksOf(t *testing.T, rendered chart.Objects) (hooks []admissionv1.ValidatingWebhook, annotations []map[string]string) {
	t.Helper()
	for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
		object := rendered.Get(t, kind, release)
		annotations = append(annotations, object.GetAnnotations())
		if kind == "MutatingWebhookConfiguration" {
			for _, hook := range typed[admissionv1.MutatingWebhookConfiguration](t, object).Webhooks {
				hooks = append(hooks, admissionv1.ValidatingWebhook{Name: hook.Name, ClientConfig: hook.ClientConfig,
					NamespaceSelector: hook.NamespaceSelector, FailurePolicy: hook.FailurePolicy})
			}
			continue
		}
		hooks = append(hooks, typed[admissionv1.ValidatingWebhookConfiguration](t, object).Webhooks...)
	}
	return hooks, annotations
}

// mounted is the Secret behind the certificate that the manager shows on its ports.
func mounted(t *testing.T, rendered chart.Objects) string {
	t.Helper()
	for _, volume := range pod(t, rendered.Get(t, "Deployment", release+"-controller-manager")).Spec.Volumes {
		if volume.Name == "tls" {
			return volume.Secret.SecretName
		}
	}
	t.Fatal("no certificate is mounted for the ports")
	return ""
}

// cert-manager makes the certificate that the manager shows, for the Service that the API server asks, and the authority
// that signed it is put into the configurations.
func TestCertManagerServesTheWebhook(t *testing.T) {
	rendered := chart.Render(t, merged(withoutCRDs, setting{"tls.source": "certManager", "watchNamespace": "pool", "tls.names": []any{"a.lan", "192.0.2.7"}}))
	certificate := rendered.Get(t, "Certificate", release+"-ports")
	text := func(object *unstructured.Unstructured, path ...string) string {
		value, _, _ := unstructured.NestedString(object.Object, path...)
		return value
	}
	if got := text(certificate, "spec", "secretName"); got != mounted(t, rendered) {
		t.Errorf("cert-manager writes Secret %q, the manager reads %q", got, mounted(t, rendered))
	}
	if issuer := text(certificate, "spec", "issuerRef", "name"); rendered.Get(t, "Issuer", issuer).GetNamespace() != certificate.GetNamespace() {
		t.Errorf("issuer %q is in another namespace", issuer)
	}
	names, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "dnsNames")
	addresses, _, _ := unstructured.NestedStringSlice(certificate.Object, "spec", "ipAddresses")
	if !slices.Contains(names, "a.lan") || !slices.Equal(addresses, []string{"192.0.2.7"}) {
		t.Errorf("the certificate is for %q and %q", names, addresses)
	}
	hooks, annotations := hooksOf(t, rendered)
	for _, given := range annotations {
		if got, want := given["cert-manager.io/inject-ca-from"], namespace+"/"+certificate.GetName(); got != want {
			t.Errorf("the authority comes from %q, want %q", got, want)
		}
	}
	for _, hook := range hooks {
		service := hook.ClientConfig.Service
		if host := service.Name + "." + service.Namespace + ".svc"; !slices.Contains(names, host) {
			t.Errorf("%s asks %s, the certificate is for %q", hook.Name, host, names)
		}
		if found := rendered.Get(t, "Service", service.Name); found.GetNamespace() != service.Namespace {
			t.Errorf("%s asks a Service of namespace %s, which is in %s", hook.Name, service.Namespace, found.GetNamespace())
		}
		if about := hook.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]; about != "pool" {
			t.Errorf("%s is asked about namespace %q", hook.Name, about)
		}
		if *hook.FailurePolicy != admissionv1.Ignore {
			t.Errorf("%s: failure policy %s", hook.Name, *hook.FailurePolicy)
		}
	}
}

func TestACertificateOfOnesOwnIsTrusted(t *testing.T) {
	rendered := chart.Render(t, merged(withoutCRDs, setting{"tls.source": "secret", "tls.secret.name": "mine", "tls.secret.caBundle": someAuthority}))
	if got := mounted(t, rendered); got != "mine" {
		t.Errorf("the manager reads Secret %q", got)
	}
	hooks, _ := hooksOf(t, rendered)
	for _, hook := range hooks {
		if string(hook.ClientConfig.CABundle) != someAuthority {
			t.Errorf("%s trusts %q", hook.Name, hook.ClientConfig.CABundle)
		}
	}
}
