package upgrade_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	kubectl "k8s.io/kubectl/pkg/cmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// The names that the guide types.
const (
	release   = "homelab-autoscaler"
	namespace = "homelab-autoscaler-system"
)

// The test binary is kubectl as well, when it is called so.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "kubectl" {
		if err := kubectl.NewDefaultKubectlCommand().Execute(); err != nil {
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// home is a cluster, and the computer of somebody who works on it.
type home struct {
	cp     *controlplane.ControlPlane
	client client.Client
	// tools is a folder of programs, dir the one in which commands run.
	tools, dir string
}

// newHome starts a control plane in which nothing of ours is installed.
func newHome(t *testing.T) *home {
	t.Helper()
	if testing.Short() {
		t.Skip("wants a control plane; skipped with -short")
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Options{Progress: os.Stderr, Controllers: []string{
		"garbage-collector-controller", "namespace-controller", "serviceaccount-controller", "root-ca-certificate-publisher-controller",
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	h := &home{cp: cp, tools: t.TempDir()}
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if h.client, err = client.New(cp.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	h.equip(t, root)
	h.dir = t.TempDir()
	for _, folder := range []string{"charts", "config"} {
		link(t, filepath.Join(root, folder), filepath.Join(h.dir, folder))
	}
	ctx, stop := context.WithCancel(context.Background())
	rolled := make(chan struct{})
	go func() { defer close(rolled); h.rollOut(ctx) }()
	t.Cleanup(func() { stop(); <-rolled })
	return h
}

// equip puts kubectl, Helm and our program into the folder of tools.
func (h *home) equip(t *testing.T, root string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link(t, self, filepath.Join(h.tools, "kubectl"))
	link(t, chart.HelmBinary(t), filepath.Join(h.tools, "helm"))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(h.tools, "homelab-autoscaler"), "./cmd/homelab-autoscaler")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building our program: %v\n%s", err, out)
	}
}

func link(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Symlink(from, to); err != nil {
		t.Fatal(err)
	}
}

// rollOut says of every Deployment that its pods run: no controller and no kubelet does.
func (h *home) rollOut(ctx context.Context) {
	_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var list appsv1.DeploymentList
		if h.client.List(ctx, &list) != nil {
			return false, nil //nolint:nilerr // asked again
		}
		for i := range list.Items {
			d := &list.Items[i]
			n := *d.Spec.Replicas
			if d.Status.ObservedGeneration == d.Generation {
				continue
			}
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n,
				Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentAvailable, Status: corev1.ConditionTrue}}}
			_ = h.client.Status().Update(ctx, d) // or the next time
		}
		return false, nil
	})
}

// sh runs a script as a person would, and answers what it printed, complaints included, and its exit code.
func (h *home) sh(t *testing.T, script string) (out string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	command.Dir = h.dir
	command.Env = []string{"PATH=" + h.tools + ":/usr/bin:/bin", "HOME=" + h.dir, "KUBECONFIG=" + h.cp.Kubeconfig()}
	var both bytes.Buffer
	command.Stdout, command.Stderr = &both, &both
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", script, err)
	}
	t.Logf("$ %s\n%s(%d)", script, both.String(), command.ProcessState.ExitCode())
	return both.String(), command.ProcessState.ExitCode()
}

// must runs a script that has to succeed.
func (h *home) must(t *testing.T, script string) string {
	t.Helper()
	out, code := h.sh(t, script)
	if code != 0 {
		t.Fatalf("exit code %d of\n%s\n%s", code, script, out)
	}
	return out
}

// refused runs a script that has to fail with some words.
func (h *home) refused(t *testing.T, script, words string) {
	t.Helper()
	out, code := h.sh(t, script)
	if code == 0 || !strings.Contains(strings.Join(strings.Fields(out), " "), words) {
		t.Errorf("exit code %d, want a failure with %q, of\n%s\n%s", code, words, script, out)
	}
}

// installOld installs the stand-in for 0.1 and its pool, of which one machine is on.
func (h *home) installOld(t *testing.T, set ...string) {
	t.Helper()
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	values := ""
	for _, value := range set {
		values += " --set " + value
	}
	h.must(t, fmt.Sprintf("helm install %s %s/chart-0.1 -n %s --create-namespace%s", release, here, namespace, values))
	h.must(t, "kubectl wait --for=condition=Established crd/nodes.infra.homecluster.dev crd/groups.infra.homecluster.dev")
	h.must(t, "kubectl apply -f "+here+"/pool.v1alpha1.yaml")
	h.must(t, `kubectl patch nodes.infra.homecluster.dev worker-01 -n `+namespace+
		` --subresource=status --type=merge -p '{"status":{"powerState":"on","progress":"ready"}}'`)
}
