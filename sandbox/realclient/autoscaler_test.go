package realclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// binaryVariable names the path of the real client's binary.
const binaryVariable = "CLUSTER_AUTOSCALER"

// autoscalerBinary is the real client's path; without one the test is skipped.
func autoscalerBinary(t *testing.T) string {
	t.Helper()
	binary := os.Getenv(binaryVariable)
	if binary == "" {
		t.Skipf("wants a real cluster-autoscaler with the externalgrpc provider: set %s to the path of its binary", binaryVariable)
	}
	path, err := filepath.Abs(binary)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// What takes the client minutes at home takes seconds here.
const (
	unneededTime  = 6 * time.Second
	delayAfterAdd = 3 * time.Second
)

// autoscaler is a running client.
type autoscaler struct {
	cmd   *exec.Cmd
	log   string
	ended chan struct{}
}

// autoscale starts the real client, which reaches the provider through the tap.
func (o *home) autoscale(flags ...string) *autoscaler {
	o.t.Helper()
	cloud := filepath.Join(o.dir, "cloud.yaml")
	if err := os.WriteFile(cloud, fmt.Appendf(nil, "address: %q\ngrpc_timeout: %s\n", o.tap.address, o.patienceOfCalls), 0o600); err != nil {
		o.t.Fatal(err)
	}
	o.started++
	a := &autoscaler{log: filepath.Join(o.dir, fmt.Sprintf("cluster-autoscaler-%d.log", o.started)), ended: make(chan struct{})}
	out, err := os.Create(a.log)
	if err != nil {
		o.t.Fatal(err)
	}
	a.cmd = exec.CommandContext(context.WithoutCancel(o.t.Context()), o.binary, append([]string{
		"--cloud-provider=externalgrpc", "--cloud-config=" + cloud, "--kubeconfig=" + o.cp.Kubeconfig(),
		"--leader-elect=false", "--address=" + freeAddress(o.t), "--v=4", "--scan-interval=1s",
		"--scale-down-unneeded-time=" + unneededTime.String(), "--scale-down-unready-time=15s",
		"--scale-down-delay-after-add=" + delayAfterAdd.String(), "--scale-down-delay-after-delete=0s",
		"--scale-down-delay-after-failure=5s", "--unremovable-node-recheck-timeout=3s",
		"--initial-node-group-backoff-duration=10s", "--node-delete-delay-after-taint=1s",
	}, flags...)...)
	a.cmd.Stdout, a.cmd.Stderr, a.cmd.SysProcAttr = out, out, endWithUs()
	if err := a.cmd.Start(); err != nil {
		o.t.Fatal(errors.Join(err, out.Close()))
	}
	go func() {
		defer close(a.ended)
		_ = a.cmd.Wait() // the state says all that the error would
		_ = out.Close()
	}()
	o.client = a
	o.t.Cleanup(func() { a.stop(o.t) })
	return a
}

// kill ends the client as a power cut would.
func (a *autoscaler) kill() {
	_ = a.cmd.Process.Kill()
	<-a.ended
}

// lives says whether the client still runs.
func (a *autoscaler) lives() bool {
	select {
	case <-a.ended:
		return false
	default:
		return true
	}
}

func (a *autoscaler) stop(t *testing.T) {
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.ended:
	case <-time.After(10 * time.Second):
		t.Log("the client did not stop when it was asked")
		a.kill()
	}
}

// lastLines is the end of what the client said, for whoever looks at a failure.
func (a *autoscaler) lastLines(n int) string {
	text, err := os.ReadFile(a.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// name is what the client calls itself at the top of its log: "Cluster Autoscaler" and its version.
func (a *autoscaler) name() string {
	if a == nil {
		return "the test itself"
	}
	text, err := os.ReadFile(a.log)
	if err != nil {
		return err.Error()
	}
	line, _, _ := strings.Cut(string(text), "\n")
	_, name, _ := strings.Cut(line, "] ")
	return name
}

// before is whether the client is older than a release of Kubernetes 1: some scenarios end differently with those. One that
// was built from no release ("dev") is new.
func (o *home) before(minor int) bool {
	o.t.Helper()
	o.eventually("the client says which it is", func(context.Context) string {
		if o.client.name() == "" {
			return "it has not"
		}
		return ""
	})
	var own int
	_, err := fmt.Sscanf(o.client.name(), "Cluster Autoscaler 1.%d", &own)
	return err == nil && own < minor
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
