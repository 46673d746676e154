package chart_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/sandbox/chart"
)

func dump(t testing.TB, values map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// pointer is a path as a validator names it.
func pointer(path string) string { return "/" + strings.ReplaceAll(path, ".", "/") }

// One run with every value of a wrong type: Helm names each of them.
func TestAValueOfAWrongTypeIsRefused(t *testing.T) {
	s := readSchema(t)
	wrong, paths := setting{}, []string{}
	s.leaves(s, "", func(path string, leaf *schema) {
		if path == "global" {
			return
		}
		wrong[path] = "!" // no name, duration, image, number, list or switch
		if leaf.Type == "string" {
			wrong[path] = []any{1}
		}
		paths = append(paths, path)
	})
	_, err := chart.Template(t, merged(wrong))
	if err == nil {
		t.Fatal("Helm takes everything")
	}
	for _, path := range paths {
		if !strings.Contains(err.Error(), "'"+pointer(path)+"'") {
			t.Errorf("%s may be %v", path, wrong[path])
		}
	}
}

// One run with a word that is no value in every section.
func TestAValueThatDoesNotExistIsRefused(t *testing.T) {
	s := readSchema(t)
	unknown, sections := setting{"typo": true}, []string{""}
	s.leaves(s, "", func(path string, _ *schema) {
		for at := strings.LastIndex(path, "."); at > 0; at = strings.LastIndex(path[:at], ".") {
			unknown[path[:at]+".typo"] = true
			sections = append(sections, path[:at])
		}
	})
	_, err := chart.Template(t, merged(unknown))
	if err == nil {
		t.Fatal("Helm takes everything")
	}
	for _, section := range sections {
		if want := "at '" + strings.TrimSuffix(pointer(section), "/") + "': additional properties 'typo' not allowed"; !strings.Contains(err.Error(), want) {
			t.Errorf("no complaint: %s", want)
		}
	}
}

func TestAValueOutOfRangeIsRefused(t *testing.T) {
	for name, values := range map[string]setting{
		"a duration without a unit":     {"controllerManager.startTimeout": "60"},
		"a negative duration":           {"grpc.timeout": "-10s"},
		"a level that is none":          {"controllerManager.log.level": "loud"},
		"fewer managers than none":      {"controllerManager.replicas": -1},
		"half a manager":                {"controllerManager.replicas": 1.5},
		"a port that is none":           {"grpc.port": 70000},
		"a name with a space":           {"fullnameOverride": "my home"},
		"a digest that is none":         {"controllerManager.image.digest": "latest"},
		"an empty repository":           {"controllerManager.image.repository": ""},
		"a source that is none":         {"certificates.source": "letsencrypt"},
		"a certificate of nobody":       {"tls.source": "letsencrypt"},
		"an authority that is a path":   {"tls.secret.caBundle": "/etc/ssl/ca.crt"},
		"a reader without a namespace":  {"metrics.readers": []any{map[string]any{"name": "prometheus"}}},
		"a token without a key":         {"metrics.serviceMonitor.tokenSecret": map[string]any{"name": "prometheus"}},
		"a name for a port with a path": {"tls.names": []any{"home/autoscaler"}},
		"an expander that is none":      {"clusterAutoscaler.expander": "cheapest"},
		"a priority that is no number":  {"clusterAutoscaler.priorities": map[string]any{"high": []any{".*"}}},
		"an argument that is no flag":   {"controllerManager.extraArgs": []any{"debug"}},
		"a label that is no text":       {"commonLabels": map[string]any{"a": 1}},
		"a budget of words":             {"controllerManager.podDisruptionBudget.maxUnavailable": "half"},
		"a priority above users' range": {"powerJobs.priorityClass.value": 2000000000},
		"an issuer without a name":      {"certificates.certManager.issuerRef": map[string]any{"kind": "Issuer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := chart.Template(t, merged(values, withoutCRDs))
			if err == nil || !strings.Contains(err.Error(), "specifications of the schema") {
				t.Errorf("got %v", err)
			}
		})
	}
}
