package apitest

import (
	"testing"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	controlplane.Main(m)
}

// server gives a client of the real API server that refuses unknown fields, and a namespace for the test.
func server(t *testing.T) (client.Client, string) {
	t.Helper()
	cp := controlplane.ForTest(t)
	scheme := runtime.NewScheme()
	if err := v2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict), cp.Namespace(t)
}
