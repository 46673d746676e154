package chart_test

import (
	"encoding/json"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/sandbox/chart"
)

// schema is as much of values.schema.json as the tests read.
type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 any                `json:"type"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties any                `json:"additionalProperties"`
	Defs                 map[string]*schema `json:"$defs"`
	OneOf                []*schema          `json:"oneOf"`
}

func readSchema(t *testing.T) *schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart.Dir(t), "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	return &s
}

// leaves visits every value that the schema knows, by its path; what Kubernetes judges counts as one value.
func (s *schema) leaves(root *schema, path string, visit func(path string, leaf *schema)) {
	if s.Ref != "" {
		s = root.Defs[strings.TrimPrefix(s.Ref, "#/$defs/")]
	}
	if s.Properties == nil {
		visit(path, s)
		return
	}
	for name, property := range s.Properties {
		property.leaves(root, strings.TrimPrefix(path+"."+name, "."), visit)
	}
}

func schemaPaths(t *testing.T) (paths []string) {
	s := readSchema(t)
	s.leaves(s, "", func(path string, _ *schema) {
		if path != "global" {
			paths = append(paths, path)
		}
	})
	slices.Sort(paths)
	return paths
}

// defaults reads values.yaml, and names its values at the depth that the schema does.
func defaults(t *testing.T) (values map[string]any, paths []string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(chart.Dir(t), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, &values); err != nil {
		t.Fatal(err)
	}
	known := schemaPaths(t)
	var walk func(at map[string]any, path string)
	walk = func(at map[string]any, path string) {
		for name, value := range at {
			below := strings.TrimPrefix(path+"."+name, ".")
			if inner, ok := value.(map[string]any); ok && !slices.Contains(known, below) && len(inner) > 0 {
				walk(inner, below)
			} else {
				paths = append(paths, below)
			}
		}
	}
	walk(values, "")
	slices.Sort(paths)
	return values, paths
}

func TestSchemaDefaultsAndOptionsNameTheSameValues(t *testing.T) {
	known := schemaPaths(t)
	_, given := defaults(t)
	if diff := cmp.Diff(known, given); diff != "" {
		t.Errorf("values.schema.json (-) and values.yaml (+) know other values:\n%s", diff)
	}
	tried := map[string]bool{}
	for _, o := range options() {
		for _, choice := range o.choices {
			for path := range choice {
				tried[path] = true
			}
		}
	}
	if diff := cmp.Diff(known, slices.Sorted(maps.Keys(tried))); diff != "" {
		t.Errorf("values.schema.json (-) and the options that the tests try (+) know other values:\n%s", diff)
	}
}

// flagsOf are the names of the manager's flags.
func flagsOf(t *testing.T) (names []string) {
	t.Helper()
	for _, match := range regexp.MustCompile(`(?m)^  -([a-z-]+)`).FindAllStringSubmatch(config.Usage(), -1) {
		names = append(names, match[1])
	}
	if len(names) < 10 {
		t.Fatalf("the help names %d flags", len(names))
	}
	return names
}

func TestEveryFlagOfTheManagerHasAValue(t *testing.T) {
	without := map[string]string{
		"kubeconfig": "a pod is told by its service account where the API server is",
		"version":    "it ends the process",
	}
	given := map[string]bool{}
	for _, values := range []map[string]any{{}, merged(setting{"certificates.source": "none", "metrics.insecure": true, "tls.source": "secret",
		"tls.secret.name": "mine", "tls.secret.caBundle": someAuthority})} {
		for _, argument := range managerArguments(t, chart.Render(t, values)) {
			name, _, _ := strings.Cut(strings.TrimPrefix(argument, "--"), "=")
			given[name] = true
		}
	}
	for _, name := range flagsOf(t) {
		if given[name] == (without[name] != "") {
			t.Errorf("--%s: given by the chart: %v, reason to leave it out: %q", name, given[name], without[name])
		}
	}
}

// managerArguments are those of the manager's Deployment.
func managerArguments(t testing.TB, rendered chart.Objects) []string {
	t.Helper()
	return container(t, rendered.Get(t, "Deployment", release+"-controller-manager")).Args
}

func TestTheManagerUnderstandsItsArguments(t *testing.T) {
	parsed, err := config.Parse(managerArguments(t, chart.Render(t, merged(setting{
		"watchNamespace": "pool", "grpc.port": 1, "metrics.port": 2, "webhook.port": 3, "controllerManager.probePort": 4, "controllerManager.startTimeout": "3m",
		"controllerManager.log.level": "warn", "controllerManager.log.format": "json", "controllerManager.leaderElection.leaseDuration": "90s",
		"controllerManager.leaderElection.renewDeadline": "50s", "controllerManager.leaderElection.retryPeriod": "7s",
		"grpc.allowedClientNames": []any{"a", "b"}, "tls.names": []any{"c"}, "powerJobs.priorityClass.name": "power",
		"powerJobs.image.repository": "registry.lan/power", "powerJobs.image.tag": "v1",
	}))), config.Environment{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	const at = "/etc/homelab-autoscaler/provider-tls/"
	const metricsHost, webhookHost = release + "-metrics." + namespace + ".svc", release + "-webhook." + namespace + ".svc"
	want := config.Config{
		Namespace: "pool", GRPCAddress: ":1", MetricsAddress: ":2", ProbeAddress: ":4", StartTimeout: 3 * time.Minute,
		Webhook: config.Webhook{Address: ":3", Configuration: "homelab-autoscaler"},
		TLS: config.TLS{Secret: "homelab-autoscaler-certs", Names: []string{"c", metricsHost, metricsHost + ".cluster.local",
			webhookHost, webhookHost + ".cluster.local"}},
		GRPC:             config.GRPC{CertFile: at + "tls.crt", KeyFile: at + "tls.key", ClientCAFile: at + "ca.crt", AllowedClientNames: []string{"a", "b"}},
		LeaderElection:   config.LeaderElection{Enabled: true, LeaseDuration: 90 * time.Second, RenewDeadline: 50 * time.Second, RetryPeriod: 7 * time.Second},
		JobPriorityClass: "power", PowerImage: "registry.lan/power:v1", Log: config.Log{Level: slog.LevelWarn, Format: "json"},
	}
	if diff := cmp.Diff(want, parsed); diff != "" {
		t.Error(diff)
	}
}
