package chart_test

import (
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"homecluster.dev/autoscaler/sandbox/chart"
)

// typed is a rendered object as its Go type.
func typed[T any](t testing.TB, object *unstructured.Unstructured) *T {
	t.Helper()
	into := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, into, true); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return into
}

// pod is the template of a Deployment's pods.
func pod(t testing.TB, deployment *unstructured.Unstructured) corev1.PodTemplateSpec {
	t.Helper()
	return typed[appsv1.Deployment](t, deployment).Spec.Template
}

// container is a Deployment's only container.
func container(t testing.TB, deployment *unstructured.Unstructured) corev1.Container {
	t.Helper()
	containers := pod(t, deployment).Spec.Containers
	if len(containers) != 1 {
		t.Fatalf("%s has %d containers", deployment.GetName(), len(containers))
	}
	return containers[0]
}

// withoutCRDs saves the time that the CustomResourceDefinitions take to render where they do not matter.
var withoutCRDs = setting{"crd.enable": false}

func TestHelmFindsNothingToComplainOf(t *testing.T) {
	if out, err := chart.Helm(t, "lint", "--strict", chart.Dir(t)); err != nil {
		t.Errorf("%s%v", out, err)
	}
}

var checksum = regexp.MustCompile(`checksum/.*`)

// Each choice of each value changes something, where what it depends on is on.
func TestNoValueIsWithoutEffect(t *testing.T) {
	// Helm's own certificates would be others every time, as are the checksums of parts with other names.
	base := setting{"certificates.source": "certManager"}
	var names []string
	var values []map[string]any
	for _, o := range options() {
		for _, choice := range o.choices {
			names = append(names, dump(t, merged(choice)))
			values = append(values, merged(base, withoutCRDs, o.given, choice))
		}
	}
	rendered := renderAll(t, values)
	last := ""
	for i, name := range names {
		text := checksum.ReplaceAllString(rendered[i], "checksum")
		switch {
		case name == "{}":
			last = text
		case text == last && name != dump(t, merged(base)):
			t.Errorf("nothing changes with\n%s", name)
		}
	}
}

// What a person has to change is said where it is wrong, before anything reaches the cluster.
func TestContradictionsAreRefusedWithWhatToDo(t *testing.T) {
	for name, test := range map[string]struct {
		values setting
		want   string
	}{
		"two managers that elect none": {setting{"controllerManager.replicas": 2, "controllerManager.leaderElection.enable": false},
			"controllerManager.replicas is more than 1 without leaderElection.enable: all of them would decide"},
		"names in plaintext": {setting{"certificates.source": "none", "grpc.allowedClientNames": []any{"a"}},
			"grpc.allowedClientNames needs certificates: with certificates.source none nobody shows one"},
		"nothing to scrape": {setting{"metrics.enable": false, "metrics.serviceMonitor.enable": true},
			"metrics.serviceMonitor.enable needs metrics.enable: there is nothing to scrape"},
		"a webhook that nobody trusts": {setting{"tls.source": "secret", "tls.secret.name": "mine"},
			"tls.source secret needs tls.secret.caBundle, the authority in PEM: else the API server trusts no webhook"},
		"ports without a Secret": {setting{"tls.source": "secret", "tls.secret.caBundle": someAuthority},
			"tls.source is secret: name the Secret in tls.secret.name"},
		"names for a certificate that is there": {setting{"tls.source": "secret", "tls.secret.name": "mine", "tls.names": []any{"a"}, "webhook.enable": false},
			"tls.names contradicts tls.source secret: the names are those of the certificate in the Secret"},
		"priorities that nobody set": {setting{"clusterAutoscaler.expander": "priority"},
			`clusterAutoscaler.expander priority needs clusterAutoscaler.priorities, for example {50: [".*"]}`},
		"a Secret without a name": {setting{"certificates.source": "secret", "certificates.secret.server": "server"},
			"certificates.source is secret: name cluster-autoscaler's Secret in certificates.secret.client"},
		"an account without a name": {setting{"serviceAccount.create": false},
			"serviceAccount.create is false: name the one that exists in serviceAccount.name"},
		"an autoscaler's account without a name": {setting{"clusterAutoscaler.serviceAccount.create": false},
			"clusterAutoscaler.serviceAccount.create is false: name the one that exists in clusterAutoscaler.serviceAccount.name"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := chart.Template(t, merged(test.values, withoutCRDs))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
