package controlplane_test

import (
	"crypto/tls"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// TestWebhooksOnTheLoopbackInterfaceAreAsked registers a webhook that refuses one name, served by this process with a
// certificate of the control plane's authority.
func TestWebhooksOnTheLoopbackInterfaceAreAsked(t *testing.T) {
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	namespace := cp.Namespace(t)
	client := clientFor(t, cp.Config())
	pair, err := cp.Authority().Serving("webhook")
	must(t, err)
	certificate, err := pair.TLS()
	must(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(refuseTheRefused))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	server.StartTLS()
	defer server.Close()

	_, err = client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(t.Context(),
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "refuse"},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name:                    "refuse.example.com",
				ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: new(server.URL), CABundle: cp.Authority().Cert},
				SideEffects:             new(admissionregistrationv1.SideEffectClassNone),
				AdmissionReviewVersions: []string{"v1"},
				NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule: admissionregistrationv1.Rule{
						APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"},
					},
				}},
			}},
		}, metav1.CreateOptions{})
	must(t, err)

	create := func(name string) error {
		_, err := client.CoreV1().ConfigMaps(namespace).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"}}, metav1.CreateOptions{})
		return err
	}
	deadline := time.Now().Add(10 * time.Second) // the API server learns of the configuration by a watch
	for err = create("refused"); err == nil; err = create("refused") {
		if time.Now().After(deadline) {
			t.Fatal("the webhook was never asked")
		}
		time.Sleep(50 * time.Millisecond)
	}
	if !strings.Contains(err.Error(), "not this one") {
		t.Errorf("refused with %v", err)
	}
	must(t, create("welcome"))
}

func refuseTheRefused(out http.ResponseWriter, r *http.Request) {
	var review admissionv1.AdmissionReview
	var object metav1.PartialObjectMetadata
	if json.NewDecoder(r.Body).Decode(&review) != nil || json.Unmarshal(review.Request.Object.Raw, &object) != nil {
		http.Error(out, "no review", http.StatusBadRequest)
		return
	}
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: object.GenerateName != "refused-", Result: &metav1.Status{Message: "not this one"},
	}
	_ = json.NewEncoder(out).Encode(review)
}
