package realkubelet

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

const (
	// nodeName is what the kubelet registers as.
	nodeName = "real"
	// powerTag is the tag of the image that the test makes, and powerImage its whole name.
	powerTag   = "realkubelet"
	powerImage = "homecluster.dev/power:" + powerTag
	// patience is how long a node may take to be ready, on a busy computer.
	patience = 3 * time.Minute
)

// node is a containerd and a kubelet, with the images of power and pause.
type node struct {
	t *testing.T
	// folder has its images and its logs.
	folder string
	// ended is closed when the node is no more.
	ended chan struct{}
}

// start makes the node and waits until it is ready. It ends with the test.
func start(t *testing.T, cp *controlplane.ControlPlane) {
	t.Helper()
	kubelet, err := controlplane.Build(t.Context(), controlplane.BuildOptions{Program: controlplane.Kubelet, Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "node") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	n := node{t, folder, make(chan struct{})}
	n.makeImages()
	n.run(kubelet, cp.Kubeconfig())
	n.untilReady(cp)
}

// makeImages makes what the node has: the image of power is that of make image.
func (n node) makeImages() {
	n.t.Helper()
	images := filepath.Join(n.folder, "images")
	n.do("go", "-C", "../../tools/image", "run", ".", "-only", "power", "-tag", powerTag, "-platforms", "linux/"+runtime.GOARCH, "-out", images)
	n.do("go", "build", "-o", filepath.Join(n.folder, "pause", "pause"), "./testdata/pause")
	n.do("testdata/pause/image", filepath.Join(n.folder, "pause"), filepath.Join(images, "pause.tar"))
}

func (n node) do(name string, args ...string) {
	n.t.Helper()
	if said, err := exec.CommandContext(n.t.Context(), name, args...).CombinedOutput(); err != nil {
		n.t.Fatalf("%s %s: %v\n%s", name, args, err, said)
	}
}

// run lets the node live until the end of the test, or of this process: then its input ends, and with it the node.
func (n node) run(kubelet, kubeconfig string) {
	n.t.Helper()
	script, err := filepath.Abs("testdata/node")
	if err != nil {
		n.t.Fatal(err)
	}
	clearCgroups()
	before := traces(n.t)
	// The test's context would end it before its time.
	life := exec.CommandContext(context.Background(), "unshare", "--mount", "--pid", "--fork", "--mount-proc", script, kubelet, kubeconfig, nodeName)
	says := &strings.Builder{}
	life.Dir, life.Stdout, life.Stderr = n.folder, says, says
	input, err := life.StdinPipe()
	if err == nil {
		err = life.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	go func() {
		_ = life.Wait() // killed or not, it is over
		close(n.ended)
	}()
	n.t.Cleanup(func() {
		_ = input.Close()
		<-n.ended
		if n.t.Failed() {
			n.t.Logf("the node said: %s", says)
			n.tell("ctr.log", "containerd.log", "kubelet.log")
		}
		clearCgroups()
		if diff := cmp.Diff(before, traces(n.t)); diff != "" {
			n.t.Errorf("the node left this behind (-before +after):\n%s", diff)
		}
	})
}

// tell shows how the node's logs end.
func (n node) tell(logs ...string) {
	n.t.Helper()
	for _, name := range logs {
		text, _ := os.ReadFile(filepath.Join(n.folder, name))
		n.t.Logf("%s ends with:\n%s", name, text[max(0, len(text)-4000):])
	}
}

func (n node) untilReady(cp *controlplane.ControlPlane) {
	n.t.Helper()
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		n.t.Fatal(err)
	}
	ready := func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	}
	for end := time.After(patience); ; {
		kubeNode, err := client.CoreV1().Nodes().Get(n.t.Context(), nodeName, metav1.GetOptions{})
		if err == nil && slices.ContainsFunc(kubeNode.Status.Conditions, ready) {
			is := kubeNode.Status.NodeInfo
			n.t.Logf("node %s is ready: kubelet %s, %s, %s", nodeName, is.KubeletVersion, is.ContainerRuntimeVersion, is.KernelVersion)
			return
		}
		select {
		case <-n.ended:
			n.t.Fatal("the node ended before it was ready")
		case <-end:
			n.t.Fatalf("the node is not ready after %s", patience)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// cgroups is where containerd keeps those of containers, in the first and in the second version.
var cgroups = []string{"/sys/fs/cgroup/*/k8s.io", "/sys/fs/cgroup/k8s.io"}

// clearCgroups removes those that hold no process any more.
func clearCgroups() {
	for _, below := range []string{"/*", ""} {
		for _, pattern := range cgroups {
			empty, _ := filepath.Glob(pattern + below) // the patterns are good
			for _, folder := range empty {
				_ = os.Remove(folder)
			}
		}
	}
}

// traces is what nodes leave behind on a computer that are not careful, beside processes and mounts.
func traces(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range append(cgroups, "/var/lib/cni/*", "/var/lib/kubelet/*", "/var/log/pods/*", "/run/containerd/*", "/run/netns/*") {
		names, _ := filepath.Glob(pattern)
		for _, name := range names {
			found[name] = "is there"
		}
	}
	for _, setting := range []string{"vm/overcommit_memory", "kernel/panic", "kernel/panic_on_oops", "net/ipv4/ip_forward"} {
		value, err := os.ReadFile(filepath.Join("/proc/sys", setting))
		if err != nil {
			t.Fatal(err)
		}
		found[setting] = strings.TrimSpace(string(value))
	}
	return found
}
