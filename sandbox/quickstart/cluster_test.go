package quickstart_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	os.Exit(m.Run())
}

// namespace is the one that the pages install into.
const namespace = "homelab-autoscaler-system"

// cluster is what the reader of a page has: a cluster without our kinds, a spare machine, and a shell.
type cluster struct {
	plane   *controlplane.ControlPlane
	clients kubernetes.Interface
	room    *machineroom.Room
	// dir is where the shell is, and environment what it has.
	dir         string
	environment []string
	actors      actors
	// provider tells where the manager answers, once it does.
	provider chan string
}

func newCluster(t *testing.T, root string) *cluster {
	t.Helper()
	if testing.Short() {
		t.Skip("wants a control plane; skipped with -short")
	}
	c := &cluster{dir: t.TempDir(), provider: make(chan string, 10)}
	var err error
	if c.plane, err = controlplane.Start(t.Context(), controlplane.Options{Progress: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.plane.Stop() })
	if c.clients, err = kubernetes.NewForConfig(c.plane.Config()); err != nil {
		t.Fatal(err)
	}
	c.room, err = machineroom.New(t.Context(), c.plane.Config(), machineroom.Options{
		Dir: t.TempDir(), BootTime: time.Second, ShutdownTime: time.Second, LeaseInterval: time.Second, StatusInterval: time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.room.Stop() })
	if err := c.room.AddAlwaysOn("always-on", machineroom.ControlPlane); err != nil {
		t.Fatal(err)
	}
	c.furnish(t, root)
	t.Cleanup(func() { c.actors.end() })
	return c
}

// furnish puts what a reader has beside the shell: the checkout, a kubeconfig, and the programs.
func (c *cluster) furnish(t *testing.T, root string) {
	t.Helper()
	bin, home := t.TempDir(), t.TempDir()
	for _, name := range []string{"charts", "config", "docs"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(c.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, build := range [][]string{
		{root, "go", "build", "-o", filepath.Join(bin, "kubectl-homelab"), "./cmd/kubectl-homelab"},
		{filepath.Join(root, "sandbox"), "go", "build", "-o", filepath.Join(bin, "kubectl"), "./cmd/kubectl"},
	} {
		run(t, build[0], os.Environ(), build[1:]...)
	}
	if err := os.Symlink(chart.HelmBinary(t), filepath.Join(bin, "helm")); err != nil {
		t.Fatal(err)
	}
	kubeconfig, err := os.ReadFile(c.plane.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(home, "kubeconfig")
	if err := os.WriteFile(config, kubeconfig, 0o600); err != nil {
		t.Fatal(err)
	}
	c.environment = []string{"PATH=" + bin + ":/usr/bin:/bin", "HOME=" + home, "KUBECONFIG=" + config}
}

// shell types a block.
func (c *cluster) shell(t *testing.T, block string) {
	t.Helper()
	began := time.Now()
	out := run(t, c.dir, c.environment, "bash", "-euxo", "pipefail", "-c", block)
	t.Logf("%s\nafter %s", out, time.Since(began).Round(100*time.Millisecond))
}

// run runs a program that has to succeed, and answers what it printed; what it complained of is in the failure, and in the
// answer too.
func run(t *testing.T, dir string, environment []string, words ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), words[0], words[1:]...)
	command.Dir, command.Env = dir, environment
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", words[0], err, out)
	}
	return string(out)
}

// wired gives each slot of a file the switch of a simulated machine, which is put into the room: the only change to what
// the page shows.
func (c *cluster) wired(t *testing.T, text string) string {
	t.Helper()
	var documents [][]byte
	for document := range strings.SplitSeq(text, "\n---\n") {
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &kind); err != nil {
			t.Fatal(err)
		}
		if kind.APIVersion != v2.GroupVersion.String() || kind.Kind != "Node" {
			documents = append(documents, []byte(document))
			continue
		}
		var slot v2.Node
		if err := yaml.UnmarshalStrict([]byte(document), &slot); err != nil {
			t.Fatal(err)
		}
		machine, err := c.room.AddMachine(machineroom.Machine{
			Name: slot.Name, KubernetesNodeName: slot.Spec.KubernetesNodeName, Capacity: slot.Spec.NodeCapacity,
		})
		if err != nil {
			t.Fatal(err)
		}
		slot.Spec.StartupPodSpec, slot.Spec.ShutdownPodSpec = machine.StartupPodSpec(), machine.ShutdownPodSpec()
		wired, err := yaml.Marshal(slot)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, wired)
	}
	return string(bytes.Join(documents, []byte("\n---\n")))
}
