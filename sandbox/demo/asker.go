package demo

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"k8s.io/utils/clock"

	"homecluster.dev/autoscaler/sandbox/standin"
)

// Patience of whoever asks for machines: what takes minutes at home takes seconds here.
const (
	scan          = time.Second
	unneededTime  = 8 * time.Second
	delayAfterAdd = 5 * time.Second
)

// asker is whoever asks the manager for machines. It runs until the context ends.
type asker struct {
	// name is what it is called in the title and the logs.
	name string
	run  func(ctx context.Context) error
}

// newAsker is the real cluster-autoscaler if a binary is given, else the stand-in client.
func newAsker(s *Sandbox, binary string) asker {
	if binary != "" {
		return asker{name: "cluster-autoscaler", run: func(ctx context.Context) error { return runClusterAutoscaler(ctx, s, binary) }}
	}
	return asker{name: "the stand-in client", run: func(ctx context.Context) error { return runStandIn(ctx, s) }}
}

func runStandIn(ctx context.Context, s *Sandbox) (err error) {
	out, err := os.Create(filepath.Join(s.Logs, "stand-in.log"))
	if err != nil {
		return fmt.Errorf("opening the log of the stand-in client: %w", err)
	}
	defer func() { _ = out.Close() }()
	patience := standin.Defaults()
	patience.Group.UnneededTime, patience.DelayAfterAdd = unneededTime, delayAfterAdd
	security, err := s.certificates.clientTLS(standin.UserAgent)
	if err != nil {
		return err
	}
	client, err := standin.New(standin.Options{
		Config: s.Config, Address: s.Provider, TLS: security, Scan: scan, Patience: patience,
		Settle: time.Second, EvictTimeout: time.Minute, Clock: clock.RealClock{}, Log: slog.New(slog.NewTextHandler(out, nil)),
	})
	if err != nil {
		return err
	}
	return client.Run(ctx)
}

func runClusterAutoscaler(ctx context.Context, s *Sandbox, binary string) error {
	cert, key, err := s.certificates.client(clientName)
	if err != nil {
		return err
	}
	config := filepath.Join(s.Dir, "cluster-autoscaler.yaml")
	text := fmt.Appendf(nil, "address: %q\ngrpc_timeout: 10s\ncert: %q\nkey: %q\ncacert: %q\n", s.Provider, cert, key, s.certificates.ca())
	if err := os.WriteFile(config, text, 0o600); err != nil {
		return fmt.Errorf("writing the configuration of cluster-autoscaler: %w", err)
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	p, err := start(ctx, s.Logs, "cluster-autoscaler", binary,
		"--cloud-provider=externalgrpc", "--cloud-config="+config, "--kubeconfig="+s.Kubeconfig,
		"--leader-elect=false", "--address="+address, "--v=4", "--scan-interval=2s",
		"--scale-down-unneeded-time="+unneededTime.String(), "--scale-down-unready-time=20s",
		"--scale-down-delay-after-add="+delayAfterAdd.String(), "--scale-down-delay-after-delete=0s",
		"--scale-down-delay-after-failure=5s", "--unremovable-node-recheck-timeout=5s",
		"--initial-node-group-backoff-duration=10s", "--node-delete-delay-after-taint=1s")
	if err != nil {
		return err
	}
	defer p.stop()
	return p.watch(ctx)
}

// guarded turns a panic into an error, so that what was started is stopped in order.
func guarded(run func() error) (err error) {
	defer func() {
		if reason := recover(); reason != nil {
			err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	return run()
}
