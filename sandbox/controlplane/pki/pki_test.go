package pki_test

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
)

// TestIssuedCertificatesMeet has a server and a client of one authority meet, and a client of another turned away.
func TestIssuedCertificatesMeet(t *testing.T) {
	authority, stranger := newAuthority(t), newAuthority(t)
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority.Cert)
	serving, err := authority.Serving("server", "other.name")
	if err != nil {
		t.Fatal(err)
	}
	var user []string
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		subject := r.TLS.PeerCertificates[0].Subject
		user = append([]string{subject.CommonName}, subject.Organization...)
	}))
	server.TLS = &tls.Config{
		Certificates: []tls.Certificate{pair(t, serving)}, ClientCAs: trusted, ClientAuth: tls.RequireAndVerifyClientCert,
	}
	server.StartTLS()
	defer server.Close()
	get := func(from *pki.Authority, name string) error {
		issued, err := from.Client("somebody", "some", "others")
		if err != nil {
			t.Fatal(err)
		}
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: trusted, Certificates: []tls.Certificate{pair(t, issued)}, ServerName: name,
		}}}
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err == nil {
			_ = response.Body.Close()
		}
		return err
	}
	for _, name := range []string{"127.0.0.1", "localhost", "other.name"} {
		if err := get(authority, name); err != nil {
			t.Errorf("as %s: %v", name, err)
		}
	}
	if diff := cmp.Diff([]string{"somebody", "some", "others"}, user); diff != "" {
		t.Errorf("the user (-want +got):\n%s", diff)
	}
	if get(stranger, "localhost") == nil {
		t.Error("a stranger's client was let in")
	}
	if get(authority, "no.name") == nil {
		t.Error("the server passed under a name that it was not issued for")
	}
}

func TestSigningKeysArePairsAndDiffer(t *testing.T) {
	private, public, err := pki.SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	again, _, err := pki.SigningKey()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(private), "PRIVATE KEY") || !strings.Contains(string(public), "PUBLIC KEY") {
		t.Errorf("got %s and %s", private, public)
	}
	if string(private) == string(again) {
		t.Error("the same key twice")
	}
}

func newAuthority(t *testing.T) *pki.Authority {
	t.Helper()
	authority, err := pki.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	return authority
}

func pair(t *testing.T, p pki.Pair) tls.Certificate {
	t.Helper()
	certificate, err := p.TLS()
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}
