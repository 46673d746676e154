package chart_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/pairwise"
)

// Whatever two choices a person makes, the API server takes what comes of them, without an unknown field.
func TestEveryPairOfChoicesGivesManifestsThatTheAPIServerTakes(t *testing.T) {
	c := newCluster(t)
	c.installForeignKinds(t)
	// Pods of this namespace must be as restricted as Kubernetes knows.
	c.namespace(t, namespace, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
	c.namespace(t, "pool", nil)
	all := options()
	counts := make([]int, len(all))
	for i, o := range all {
		counts[i] = len(o.choices)
	}
	rows := pairwise.Rows(counts)
	values := make([]map[string]any, len(rows))
	for i, row := range rows {
		var chosen []setting
		for o, choice := range row {
			chosen = append(chosen, all[o].choices[choice])
		}
		values[i] = merged(chosen...)
	}
	tried := map[string]bool{}
	for i, text := range renderAll(t, values) {
		rendered := chart.Parse(t, text)
		for _, object := range rendered {
			key := dump(t, object.Object)
			if tried[key] {
				continue
			}
			tried[key] = true
			if err := c.apply(t.Context(), object, metav1.DryRunAll); err != nil {
				t.Errorf("%v\nwith\n%s", err, dump(t, values[i]))
			}
			if object.GetKind() == "Deployment" {
				c.runs(t, object)
			}
		}
	}
	t.Logf("%d rows, %d objects", len(rows), len(tried))
	if len(tried) < 5*len(rows) {
		t.Error("the rows hardly differ")
	}
}

// runs tries a Deployment's pod itself: the API server judges its security there and not on the Deployment. Who wants the
// observer in the host's network has a namespace that allows this; all else in its pod is as restricted as in the others.
func (c *cluster) runs(t *testing.T, deployment *unstructured.Unstructured) {
	t.Helper()
	template := typed[appsv1.Deployment](t, deployment).Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "try", Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec}
	pod.Spec.ServiceAccountName = "" // it exists only where the chart is installed
	if strings.HasSuffix(deployment.GetName(), "-power-observer") {
		pod.Spec.HostNetwork = false
	}
	_, err := c.clients.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{
		DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
	})
	if err != nil {
		t.Errorf("a pod of %s: %v", deployment.GetName(), err)
	}
}

// installForeignKinds installs the kinds of cert-manager and of the Prometheus Operator that the chart has objects of, as
// these projects define them.
func (c *cluster) installForeignKinds(t *testing.T) {
	t.Helper()
	files := t.TempDir()
	for module, paths := range map[string][]string{
		"github.com/cert-manager/cert-manager": {"deploy/crds/cert-manager.io_certificates.yaml", "deploy/crds/cert-manager.io_issuers.yaml"},
		"github.com/prometheus-operator/prometheus-operator": {
			"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
			"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
		},
	} {
		dir := moduleDir(t, module)
		for _, path := range paths {
			copyFile(t, filepath.Join(dir, path), filepath.Join(files, filepath.Base(path)))
		}
	}
	if err := c.cp.InstallCRDsFrom(t.Context(), os.DirFS(files)); err != nil {
		t.Fatal(err)
	}
}

// moduleDir is where a module of tools/crds lies.
func moduleDir(t *testing.T, module string) string {
	t.Helper()
	dir, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", module)
	command.Dir = filepath.Join(dir, "tools", "crds")
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := command.Output()
	var answer struct{ Dir, Error string }
	if err = errors.Join(err, json.Unmarshal(out, &answer)); err != nil || answer.Dir == "" {
		t.Fatalf("fetching %s: %v %s", module, err, answer.Error)
	}
	return answer.Dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(in)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBothDeploymentsStayOffTheMachinesOfEveryPool(t *testing.T) {
	for name, affinity := range map[string]map[string]any{"nobody asks for more": {}, "somebody asks for one of two things": someAffinity} {
		rendered := chart.Render(t, merged(withoutCRDs, setting{"controllerManager.affinity": affinity, "clusterAutoscaler.affinity": affinity}))
		for _, deployment := range []string{"controller-manager", "cluster-autoscaler"} {
			t.Run(strings.Join([]string{name, deployment}, ": "), func(t *testing.T) {
				asked := pod(t, rendered.Get(t, "Deployment", release+"-"+deployment)).Spec.Affinity
				terms := asked.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
				if want := max(1, len(affinity)); len(terms) != want {
					t.Errorf("%d terms, want %d", len(terms), want)
				}
				for _, term := range terms {
					off := false
					for _, e := range term.MatchExpressions {
						off = off || e.Key == "infra.homecluster.dev/node" && e.Operator == corev1.NodeSelectorOpDoesNotExist
					}
					if !off {
						t.Errorf("a machine of a pool will do: %v", term)
					}
				}
			})
		}
	}
}
