package admission_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMetricsAreForThoseWhoMayReadThem(t *testing.T) {
	h := newHome(t)
	m, _ := h.manage(h.address)
	prometheus, curious := h.serviceAccount("prometheus"), h.serviceAccount("curious")
	h.create(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}, Rules: []rbacv1.PolicyRule{{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: h.namespace}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: h.namespace},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: h.namespace, Name: "prometheus"}}})
	for name, test := range map[string]struct {
		token string
		code  int
	}{
		"somebody who may":     {prometheus, http.StatusOK},
		"somebody who may not": {curious, http.StatusForbidden},
		// The API server calls a token that it cannot read an error.
		"somebody unknown":      {"nobody-issued-this", http.StatusInternalServerError},
		"somebody with no name": {"", http.StatusUnauthorized},
	} {
		t.Run(name, func(t *testing.T) {
			inside := *h
			inside.t = t
			// The API server may not know the binding yet.
			inside.eventually("the answer", func(ctx context.Context) error {
				code, text, err := h.scrape(ctx, "https://"+m.MetricsAddress()+"/metrics", test.token)
				if err != nil {
					return err
				}
				if code != test.code {
					return fmt.Errorf("answers %d", code)
				}
				if told := strings.Contains(text, `homelab_autoscaler_certificate_expiry_timestamp_seconds{namespace="`+h.namespace+`",port="metrics"}`); told != (code == http.StatusOK) {
					t.Errorf("tells metrics: %t", told)
				}
				return nil
			})
		})
	}
	if code, _, err := h.scrape(t.Context(), "http://"+m.MetricsAddress()+"/metrics", prometheus); err == nil && code == http.StatusOK {
		t.Error("metrics are told in plaintext")
	}
}

// serviceAccount makes one and answers with a token of it.
func (h *home) serviceAccount(name string) string {
	h.t.Helper()
	h.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: name}})
	clients, err := kubernetes.NewForConfig(h.cp.Config())
	if err != nil {
		h.t.Fatal(err)
	}
	request, err := clients.CoreV1().ServiceAccounts(h.namespace).CreateToken(h.t.Context(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	return request.Status.Token
}

// scrape trusts the authorities of the Secret, as a ServiceMonitor does.
func (h *home) scrape(ctx context.Context, url, token string) (int, string, error) {
	var kept corev1.Secret
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: h.namespace, Name: secret}, &kept); err != nil {
		return 0, "", err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(kept.Data["ca.crt"])
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}
