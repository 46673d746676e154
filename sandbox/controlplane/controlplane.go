// Package controlplane runs a real Kubernetes control plane — etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, built from their Go modules — as child processes on the loopback interface, with everything it needs
// in one folder. It has no nodes: pods stay Pending until somebody registers some.
//
// Nothing survives the process that started it. Stop ends the components and removes the folder; a process that dies
// without calling it (panic, Ctrl-C, SIGKILL) takes them and the folder along, because every component holds the end of
// a pipe that the kernel then closes.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
)

// Options shape a control plane. The zero value is a good one.
type Options struct {
	// Build says where the binary comes from.
	Build BuildOptions
	// Binary, if set, is used as it is and nothing is built.
	Binary string
	// Dir is the folder for certificates, kubeconfigs, data and logs. It must not exist yet, or be empty. Empty: a new
	// one in the folder for temporary files.
	Dir string
	// Keep leaves the folder in place when the control plane stops, to be looked at afterwards. The processes end all
	// the same.
	Keep bool
	// Progress receives a line for each thing that takes time. Nil: nothing is said.
	Progress io.Writer
	// Controllers are those that kube-controller-manager runs. Empty: the ones that this project meets.
	Controllers []string
	// NodeMonitorPeriod is how often the node lifecycle controller looks at kubeNodes. Zero: 1s (upstream 5s).
	NodeMonitorPeriod time.Duration
	// NodeMonitorGrace is after how long a silent kubelet's kubeNode turns Unknown. Zero: 6s (upstream 50s). It must be
	// several times the interval at which kubelets renew their Lease.
	NodeMonitorGrace time.Duration
	// ReadyTimeout bounds the start of all components. Zero: two minutes, which is for machines under heavy load; an
	// idle one needs about five seconds.
	ReadyTimeout time.Duration
	// WithoutKinds leaves it to the tests to install the project's kinds and admission policies; Start never does.
	WithoutKinds bool
	// ExtraArgs are appended to a component's command line, by its name; a flag given twice has its last value.
	ExtraArgs map[string][]string
}

func (o Options) withDefaults() Options {
	if len(o.Controllers) == 0 {
		o.Controllers = controllers
	}
	if o.NodeMonitorPeriod == 0 {
		o.NodeMonitorPeriod = time.Second
	}
	if o.NodeMonitorGrace == 0 {
		o.NodeMonitorGrace = 6 * time.Second
	}
	if o.ReadyTimeout == 0 {
		o.ReadyTimeout = 2 * time.Minute
	}
	if o.Build.Progress == nil {
		o.Build.Progress = o.Progress
	}
	return o
}

// ControlPlane is a running control plane. Its methods are safe for concurrent use.
type ControlPlane struct {
	// Dir is the folder that holds everything of this control plane.
	Dir string
	// Logs is the folder of the components' logs, one file each.
	Logs string
	// Version is the Kubernetes version, as the API server reports it.
	Version string

	keep      bool
	ports     ports
	authority *pki.Authority
	serving   pki.Pair
	admin     *rest.Config
	lifeline  *os.File // the writing end; never written, only held open

	mu         sync.Mutex
	components []*component
	stopping   bool
	failed     chan error
	stopOnce   sync.Once
	stopErr    error
}

// Start builds the binary if need be, runs the components and returns once all of them are ready and pods can be made
// in the default namespace. The context bounds the start, not the life: only Stop, or the end of this process, ends it.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	o = o.withDefaults()
	binary := o.Binary
	if binary == "" {
		var err error
		if binary, err = Build(ctx, o.Build); err != nil {
			return nil, err
		}
	}
	binary, err := filepath.Abs(binary) // components run in another folder
	if err != nil {
		return nil, fmt.Errorf("resolving %s: %w", o.Binary, err)
	}
	// Ports are found free and then used by another process: somebody may take one in between, and then all of it is
	// started anew with others.
	for attempt := 1; ; attempt++ {
		cp, err := startOnce(ctx, binary, o)
		if err == nil {
			return cp, nil
		}
		if attempt == startAttempts || !errors.Is(err, errPortTaken) {
			return nil, err
		}
	}
}

// startAttempts bounds how often a lost race for a port is tried again.
const startAttempts = 5

// errPortTaken marks a start that failed while one of its ports belonged to somebody else.
var errPortTaken = errors.New("a port was taken meanwhile")

func startOnce(ctx context.Context, binary string, o Options) (*ControlPlane, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, o.ReadyTimeout,
		fmt.Errorf("the control plane was not ready within %s", o.ReadyTimeout))
	defer cancel()
	cp, err := prepare(o)
	if err != nil {
		return nil, err
	}
	if err := cp.run(ctx, binary, o); err != nil {
		_ = cp.Stop()
		if cp.ports.taken() {
			_ = os.RemoveAll(cp.Dir) // kept or not: the next attempt wants it empty
			err = fmt.Errorf("%w: %w", errPortTaken, err)
		}
		return nil, err
	}
	return cp, nil
}

// prepare makes the folder and all files that the components read.
func prepare(o Options) (*ControlPlane, error) {
	dir, err := makeFolder(o.Dir)
	if err != nil {
		return nil, err
	}
	cp := &ControlPlane{Dir: dir, Logs: filepath.Join(dir, "logs"), keep: o.Keep, failed: make(chan error, 1)}
	if err := cp.furnish(); err != nil {
		_ = cp.Stop()
		return nil, fmt.Errorf("preparing the control plane's folder: %w", err)
	}
	return cp, nil
}

func makeFolder(wanted string) (string, error) {
	if wanted == "" {
		dir, err := os.MkdirTemp("", "homelab-autoscaler-")
		if err != nil {
			return "", fmt.Errorf("making the control plane's folder: %w", err)
		}
		return dir, nil
	}
	dir, err := filepath.Abs(wanted)
	if err != nil {
		return "", fmt.Errorf("resolving %s: %w", wanted, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("making the control plane's folder: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("reading the control plane's folder: %w", err)
	}
	if len(entries) > 0 { // it is removed in the end, with whatever else lies in it
		return "", fmt.Errorf("folder %s is not empty", dir)
	}
	return dir, nil
}

// run starts the components in the order of their dependence.
func (cp *ControlPlane) run(ctx context.Context, binary string, o Options) error {
	reading, writing, err := os.Pipe() // both close on exec: only this process keeps the writing end
	if err != nil {
		return fmt.Errorf("making the lifeline: %w", err)
	}
	defer func() { _ = reading.Close() }() // the components have theirs
	cp.lifeline = writing
	probes, err := cp.probeClient()
	if err != nil {
		return err
	}
	begun := time.Now()
	step := func(name string, port int, args []string) error {
		c, err := cp.launch(binary, name, reading, append(args, o.ExtraArgs[name]...))
		if err != nil {
			return err
		}
		path := "/readyz"
		if name == ControllerManager {
			path = "/healthz" // it has no readiness of its own
		}
		return c.ready(ctx, probes, url(port)+path)
	}
	if err := step(Etcd, cp.ports.etcd, cp.etcdArgs()); err != nil {
		return err
	}
	if err := step(APIServer, cp.ports.api, cp.apiServerArgs()); err != nil {
		return err
	}
	var both errgroup.Group
	both.Go(func() error { return step(ControllerManager, cp.ports.controllerManager, cp.controllerManagerArgs(o)) })
	both.Go(func() error { return step(Scheduler, cp.ports.scheduler, cp.schedulerArgs()) })
	if err := both.Wait(); err != nil {
		return err
	}
	if err := cp.settle(ctx); err != nil {
		return err
	}
	say(o.Progress, "Kubernetes %s is ready after %s, in %s", cp.Version, time.Since(begun).Round(100*time.Millisecond), cp.Dir)
	return nil
}

// launch starts one component and watches over its life.
func (cp *ControlPlane) launch(binary, name string, lifeline *os.File, args []string) (*component, error) {
	remove := ""
	if !cp.keep && name != Etcd { // etcd goes first, so that nobody writes into the folder while it is removed
		remove = cp.Dir
	}
	c, err := launch(binary, name, cp.Logs, lifeline, remove, args)
	if err != nil {
		return nil, err
	}
	cp.mu.Lock()
	cp.components = append(cp.components, c)
	cp.mu.Unlock()
	go func() {
		<-c.ended
		cp.mu.Lock()
		defer cp.mu.Unlock()
		if cp.stopping {
			return
		}
		select {
		case cp.failed <- c.died():
		default: // the first death is the cause of the others
		}
	}()
	return c, nil
}

// probeClient may ask every component for its health: etcd wants a certificate, the others do not mind one.
func (cp *ControlPlane) probeClient() (*http.Client, error) {
	config := rest.TLSClientConfig{CAData: cp.authority.Cert, CertData: cp.serving.Cert, KeyData: cp.serving.Key}
	client, err := rest.HTTPClientFor(&rest.Config{Host: loopback, TLSClientConfig: config, Timeout: 5 * time.Second})
	if err != nil {
		return nil, fmt.Errorf("making the client for health checks: %w", err)
	}
	return client, nil
}

// Failed delivers the first death of a component that nobody asked for, with the end of its log.
func (cp *ControlPlane) Failed() <-chan error { return cp.failed }

// Stop ends all components and removes the folder unless it is kept. It is abrupt on purpose: there is nothing to save.
// Calling it again does nothing more.
func (cp *ControlPlane) Stop() error {
	cp.stopOnce.Do(func() {
		cp.mu.Lock()
		cp.stopping = true
		components := cp.components
		cp.mu.Unlock()
		for i := range components { // the last first, so that none complains of another's absence
			components[len(components)-1-i].kill()
		}
		if cp.lifeline != nil {
			_ = cp.lifeline.Close()
		}
		if cp.keep {
			return
		}
		if err := os.RemoveAll(cp.Dir); err != nil {
			cp.stopErr = fmt.Errorf("removing the control plane's folder: %w", err)
		}
	})
	return cp.stopErr
}

func (cp *ControlPlane) path(name string) string { return filepath.Join(cp.Dir, name) }
