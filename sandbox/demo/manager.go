package demo

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// The commands of the main module that the sandbox runs, which are also who they are to the API server.
const (
	managerProgram  = "homelab-autoscaler"
	observerProgram = "power-observer"
)

// webhooks is the name of the manager's webhook configurations, which its rights name too.
const webhooks = "homelab-autoscaler"

// startPatience is how long the manager may take to be ready; an idle machine needs a second or two.
const startPatience = 2 * time.Minute

// build builds the programs as anybody would, from the checkout, into a folder of its own, and returns that.
func build(ctx context.Context, progress io.Writer) (string, error) {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "homelab-autoscaler-build-")
	if err != nil {
		return "", fmt.Errorf("making a folder for binaries: %w", err)
	}
	say(progress, "building the manager and the power observer")
	build := exec.CommandContext(ctx, "go", "build", "-o", dir, "./cmd/"+managerProgram, "./cmd/"+observerProgram)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		return "", fmt.Errorf("building the manager and the power observer: %w\n%s", err, out)
	}
	return dir, nil
}

// startManager runs the manager as a process of its own, outside the cluster, and waits until it is ready.
func (s *Sandbox) startManager(ctx context.Context, built string, progress io.Writer) error {
	addresses, err := freeAddresses(ctx, 4)
	if err != nil {
		return err
	}
	kubeconfig, err := s.admit(ctx, managerProgram, managerRights)
	if err != nil {
		return err
	}
	home, err := s.moveIn(built, managerProgram)
	if err != nil {
		return err
	}
	s.Provider = addresses[0]
	if s.certificates, err = newCertificates(s.Dir); err != nil {
		return err
	}
	cert, key, err := s.certificates.serving()
	if err != nil {
		return err
	}
	// For a person who wants to call the provider; a client that runs here is given its own.
	if _, _, err := s.certificates.client(clientName); err != nil {
		return err
	}
	if err := s.plane.InstallWebhooks(ctx, webhooks, Namespace, addresses[3]); err != nil {
		return err
	}
	s.manager, err = start(ctx, s.Logs, "manager", home,
		"--kubeconfig="+kubeconfig, "--namespace="+Namespace, "--leader-elect=false",
		"--grpc-bind-address="+s.Provider,
		"--grpc-cert-file="+cert, "--grpc-key-file="+key, "--grpc-client-ca-file="+s.certificates.ca(),
		"--grpc-allowed-client-names="+clientNames,
		"--webhook-bind-address="+addresses[3], "--webhook-configuration="+webhooks, "--tls-names=127.0.0.1",
		"--metrics-bind-address="+addresses[1], "--health-probe-bind-address="+addresses[2])
	if err != nil {
		return err
	}
	say(progress, "the manager is starting")
	return s.managerReady(ctx, addresses[2])
}

// startObserver runs the power observer as a process of its own beside the manager. It may read the Secrets of the switches and
// asks as gently as at home.
func (s *Sandbox) startObserver(ctx context.Context, built string) error {
	kubeconfig, err := s.admit(ctx, observerProgram, observerRights, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: s.secrets, Verbs: []string{"get"}})
	if err != nil {
		return err
	}
	home, err := s.moveIn(built, observerProgram)
	if err != nil {
		return err
	}
	s.observer, err = start(ctx, s.Logs, observerProgram, home, "--kubeconfig="+kubeconfig, "--namespace="+Namespace, "--bind-address=0")
	return err
}

// moveIn moves a program into the sandbox's folder, whose end is sure.
func (s *Sandbox) moveIn(built, program string) (string, error) {
	home := filepath.Join(s.Dir, program)
	return home, moveFile(filepath.Join(built, program), home)
}

// managerReady waits until the manager says that it decides, or is dead.
func (s *Sandbox) managerReady(ctx context.Context, probes string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("the manager was not ready within %s", startPatience))
	defer cancel()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	last := "no answer"
	for {
		if ready, answer := probe(ctx, "http://"+probes+"/readyz"); ready {
			return nil
		} else if answer != "" {
			last = answer
		}
		select {
		case <-s.manager.ended:
			return s.manager.watch(context.WithoutCancel(ctx))
		case <-ctx.Done():
			return fmt.Errorf("waiting for the manager: %w; it last answered: %s", context.Cause(ctx), last)
		case <-ticker.C:
		}
	}
}

// probe asks once whether a part of the sandbox is ready, and what else it has to say.
func probe(ctx context.Context, url string) (ready bool, answer string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false, err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false, ""
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 4096))
	if err != nil {
		return false, err.Error()
	}
	return response.StatusCode == http.StatusOK, strings.TrimSpace(string(text))
}

// freeAddresses are loopback addresses nobody listens on, all different.
func freeAddresses(ctx context.Context, n int) ([]string, error) {
	var addresses []string
	var listen net.ListenConfig
	for range n {
		listener, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("finding a free port: %w", err)
		}
		// Held until all are found, so that none is found twice.
		defer func() { _ = listener.Close() }()
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

func freeAddress(ctx context.Context) (string, error) {
	addresses, err := freeAddresses(ctx, 1)
	if err != nil {
		return "", err
	}
	return addresses[0], nil
}

// moveFile renames, or copies where the folders are on different disks.
func moveFile(from, to string) error {
	if os.Rename(from, to) == nil {
		return nil
	}
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o700)
	}
	if err != nil {
		return fmt.Errorf("moving %s: %w", from, err)
	}
	return nil
}

func say(out io.Writer, format string, args ...any) {
	if out != nil {
		_, _ = fmt.Fprintf(out, format+"\n", args...)
	}
}
