package chart_test

import (
	"cmp"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"homecluster.dev/autoscaler/sandbox/chart"
)

// Prometheus asks each port once, and the way that it answers: the observer's is plaintext, whatever the manager's is.
func TestEveryPortIsScrapedOnceAndTheWayItAnswers(t *testing.T) {
	base := setting{"metrics.serviceMonitor.enable": true, "crd.enable": false}
	const observer = "-part-power-observer:polls"
	tests := []struct {
		with setting
		want map[string]string
	}{
		{setting{}, map[string]string{"-part-metrics:metrics": "https"}},
		{setting{"powerObserver.enable": true}, map[string]string{"-part-metrics:metrics": "https", observer: "http"}},
		{setting{"powerObserver.enable": true, "metrics.insecure": true}, map[string]string{"-part-metrics:metrics": "http", observer: "http"}},
	}
	var values []map[string]any
	for _, test := range tests {
		values = append(values, merged(base, test.with))
	}
	for i, text := range renderAll(t, values) {
		scraped := map[string]string{}
		objects := chart.Parse(t, text)
		for _, monitor := range objects {
			if monitor.GetKind() != "ServiceMonitor" {
				continue
			}
			for name, scheme := range ports(t, monitor, objects) {
				if _, twice := scraped[name]; twice {
					t.Errorf("%v: %s is scraped twice", tests[i].with, name)
				}
				scraped[name] = scheme
			}
		}
		if diff := gocmp.Diff(tests[i].want, scraped); diff != "" {
			t.Errorf("%v:\n%s", tests[i].with, diff)
		}
	}
}

// ports are the Services' ports that a ServiceMonitor finds, each with the scheme that is spoken there.
func ports(t *testing.T, monitor *unstructured.Unstructured, objects []*unstructured.Unstructured) map[string]string {
	t.Helper()
	wanted, _, err := unstructured.NestedStringMap(monitor.Object, "spec", "selector", "matchLabels")
	if err != nil || len(wanted) == 0 {
		t.Fatalf("%s selects by %v, %v", monitor.GetName(), wanted, err)
	}
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if err != nil || len(endpoints) == 0 {
		t.Fatalf("%s has %d endpoints, %v", monitor.GetName(), len(endpoints), err)
	}
	found := map[string]string{}
	for _, object := range objects {
		if object.GetKind() != "Service" || !labels.SelectorFromSet(wanted).Matches(labels.Set(object.GetLabels())) {
			continue
		}
		service := typed[corev1.Service](t, object)
		for _, port := range service.Spec.Ports {
			for _, endpoint := range endpoints {
				if e := endpoint.(map[string]any); e["port"] == port.Name {
					scheme, _ := e["scheme"].(string)
					found[strings.TrimPrefix(service.Name, chart.Release)+":"+port.Name] = cmp.Or(scheme, "http")
				}
			}
		}
	}
	return found
}
