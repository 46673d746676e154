package rights

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// What the chart leaves out for other values the manager does without: it asks at its start for what it needs, gets ready,
// answers the API server and is forbidden nothing.
func TestOtherValuesMakeAManagerThatAnswers(t *testing.T) {
	cp := controlplane.ForTest(t)
	// The definitions may be there, of a release before.
	if err := cp.InstallCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Run("certificates of one's own and no election", func(t *testing.T) {
		const home = "own-certificates"
		answers(install(t, home, map[string]any{
			"crd":               map[string]any{"enable": false},
			"certificates":      map[string]any{"source": "secret", "secret": map[string]any{"server": "mine", "client": "mine"}},
			"tls":               map[string]any{"source": "secret", "secret": map[string]any{"name": "mine", "caBundle": string(cp.Authority().Cert)}},
			"controllerManager": map[string]any{"leaderElection": map[string]any{"enable": false}},
		}, certificate(t, cp, home, chart.Release+"-webhook."+home+".svc")))
	})
	t.Run("another namespace and all that may be plain", func(t *testing.T) {
		answers(install(t, "elsewhere", map[string]any{
			"crd":            map[string]any{"enable": false},
			"watchNamespace": cp.Namespace(t),
			"certificates":   map[string]any{"source": "none"},
			"metrics":        map[string]any{"insecure": true},
		}))
	})
}

func answers(h *home) {
	h.t.Helper()
	h.neverForbidden()
	h.asked()
	h.stop()
}

// certificate is a Secret with a certificate that the sandbox's authority signed.
func certificate(t *testing.T, cp *controlplane.ControlPlane, namespace string, hosts ...string) *corev1.Secret {
	t.Helper()
	pair, err := cp.Authority().Serving("home", hosts...)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "mine"}, Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{"tls.crt": pair.Cert, "tls.key": pair.Key, "ca.crt": cp.Authority().Cert},
	}
}
