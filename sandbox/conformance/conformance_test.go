package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/manager"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
)

var (
	address = flag.String("conformance.addr", "", "`host:port` of a provider to judge in place of this project's own")
	cacert  = flag.String("conformance.cacert", "", "`file` with the authority of the provider's certificate")
	cert    = flag.String("conformance.cert", "", "`file` with the client's certificate")
	key     = flag.String("conformance.key", "", "`file` with the key of the client's certificate")
	group   = flag.String("conformance.group", "", "`id` of a group at rest whose machines may be asked for and given back")
	within  = flag.Duration("conformance.patience", 0, "how long a machine of that group may take to go down (default 20s)")
)

// TestConformance judges the provider at -conformance.addr, or this project's own in each of its forms.
func TestConformance(t *testing.T) {
	if *address != "" {
		judge(t, Port{Address: *address, CACert: *cacert, Cert: *cert, Key: *key}, nil, *group)
		return
	}
	controlplane.ForTest(t)
	binary, err := build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, form := range map[string]struct {
		binary  string
		secured bool
	}{
		"in process, plaintext":  {"", false},
		"in process, mutual TLS": {"", true},
		"binary, plaintext":      {binary, false},
		"binary, mutual TLS":     {binary, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.cp.ResetAfter(t)
			h.lead()
			unjudged := judge(t, h.form(form.binary, form.secured), newYard(h), "")
			if unjudged > 0 {
				t.Errorf("%d cases were not judged, and our own provider leaves no reason for one", unjudged)
			}
		})
	}
}

// TestAnAddressIsEnough judges a provider of which nothing is known but its address and a group, while its controller is at
// work and machines boot.
func TestAnAddressIsEnough(t *testing.T) {
	h := newHouse(t)
	h.cp.ResetAfter(t)
	s := &sequence{house: h}
	s.furnish()
	s.start()
	t.Cleanup(func() { s.stop() })
	want := 0
	for _, c := range Cases() {
		if c.Need == Cluster {
			want++
		}
	}
	if unjudged := judge(t, s.port, nil, "g"); unjudged != want {
		t.Errorf("%d cases were not judged, and %d need the cluster's side", unjudged, want)
	}
	if len(s.claims()) == 0 {
		t.Error("no machine was asked for")
	}
}

// judge runs every case as a test, and says how many were not judged.
func judge(t *testing.T, port Port, ground Ground, group string) (unjudged int) {
	conn, err := port.Dial()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	suite := &Suite{Conn: conn, Ground: ground, Group: group, TellWithin: *within}
	differing, cases := 0, Cases()
	for _, c := range cases {
		t.Run(c.RPC+", "+c.Name, func(t *testing.T) {
			finding := suite.Judge(t.Context(), c)
			for _, difference := range finding.Differs {
				t.Errorf("differs%s: %s", sprung(c), difference)
			}
			if len(finding.Differs) > 0 {
				differing++
			}
			if finding.Unjudged != "" {
				unjudged++
				t.Skipf("not judged: %s", finding.Unjudged)
			}
		})
	}
	t.Logf("%d cases: %d as demanded, %d differ, %d not judged", len(cases), len(cases)-differing-unjudged, differing, unjudged)
	calls := suite.Calls()
	for _, rpc := range slices.Sorted(maps.Keys(calls)) {
		t.Logf("%s was answered %v", rpc, calls[rpc])
	}
	for _, method := range pb.CloudProvider_ServiceDesc.Methods {
		if len(calls[method.MethodName]) == 0 && ground != nil {
			t.Errorf("%s was never called", method.MethodName)
		}
	}
	return unjudged
}

// sprung is what a difference leads to.
func sprung(c Case) string {
	var text strings.Builder
	for _, trap := range c.Traps {
		fmt.Fprintf(&text, " (%s)", trap)
	}
	return text.String()
}

// TestEveryTrapIsSprungOrSaysWhyNot holds the suite to the whole list of traps.
func TestEveryTrapIsSprungOrSaysWhyNot(t *testing.T) {
	sprung := map[Trap]bool{}
	for _, c := range Cases() {
		for _, trap := range c.Traps {
			sprung[trap] = true
		}
	}
	for _, trap := range Traps() {
		if _, excused := Unjudgeable()[trap]; sprung[trap] == excused {
			t.Errorf("%s: sprung %t, excused %t", trap, sprung[trap], excused)
		}
	}
}

// lead holds the Lease by which replicas elect their leader, so that the provider under judgement answers, as every
// replica does, and decides nothing: what becomes of claims is for the yard to say.
func (h house) lead() {
	h.t.Helper()
	now := metav1.NowMicro()
	h.create(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "homelab-autoscaler"}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: new("conformance"), LeaseDurationSeconds: new(int32(3600)), AcquireTime: &now, RenewTime: &now,
	}})
}

// form starts the manager, as a process of its own if it is given a binary, and returns its provider's port.
func (h house) form(binary string, secured bool) Port {
	h.t.Helper()
	port, server := Port{Address: h.freeAddress()}, config.GRPC{Insecure: true}
	if secured {
		port, server = h.certify(port.Address)
	}
	var logged string
	if binary != "" {
		logged = h.execute(binary, port.Address, server)
	} else {
		h.manage(port.Address, server)
	}
	conn, err := port.Dial()
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	h.until("the provider answers", func(ctx context.Context) bool {
		_, err := pb.NewCloudProviderClient(conn).Refresh(ctx, &pb.RefreshRequest{})
		return err == nil
	})
	if binary != "" {
		h.saysWhoMayCall(logged, secured)
	}
	return port
}

// saysWhoMayCall holds the log of a process to the way in which its port is secured.
func (h house) saysWhoMayCall(logged string, secured bool) {
	h.t.Helper()
	text, err := os.ReadFile(logged)
	if err != nil {
		h.t.Fatal(err)
	}
	if plain := strings.Contains(string(text), "port is plaintext"); plain == secured {
		h.t.Errorf("the log says that the port is plaintext: %t", plain)
	}
}

func (h house) manage(address string, server config.GRPC) {
	h.t.Helper()
	m, err := manager.New(h.cp.Config(), config.Config{
		Namespace: h.namespace, GRPCAddress: address, GRPC: server, MetricsAddress: config.Off, ProbeAddress: config.Off, StartTimeout: patience,
		LeaderElection: config.LeaderElection{Enabled: true, LeaseDuration: 15 * time.Second, RenewDeadline: 10 * time.Second, RetryPeriod: 2 * time.Second},
	}, manager.Options{})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			h.t.Errorf("ending the manager: %v", err)
		}
	})
}

// build makes the command in a folder.
func build(ctx context.Context, dir string) (string, error) {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		return "", err
	}
	binary := filepath.Join(dir, "homelab-autoscaler")
	build := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/homelab-autoscaler")
	build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the manager: %w\n%s", err, out)
	}
	return binary, nil
}

// execute runs the binary and returns the path of its log.
func (h house) execute(binary, address string, server config.GRPC) string {
	h.t.Helper()
	args := []string{"--kubeconfig=" + h.cp.Kubeconfig(), "--namespace=" + h.namespace, "--leader-elect", "--grpc-bind-address=" + address,
		"--metrics-bind-address=0", "--health-probe-bind-address=0"}
	if server.Insecure {
		args = append(args, "--grpc-insecure")
	} else {
		args = append(args, "--grpc-cert-file="+server.CertFile, "--grpc-key-file="+server.KeyFile,
			"--grpc-client-ca-file="+server.ClientCAFile, "--grpc-allowed-client-names="+strings.Join(server.AllowedClientNames, ","))
	}
	logged, err := os.Create(filepath.Join(h.t.TempDir(), "manager.log"))
	if err != nil {
		h.t.Fatal(err)
	}
	command := exec.CommandContext(context.WithoutCancel(h.t.Context()), binary, args...)
	command.Stdout, command.Stderr = logged, logged
	if err := command.Start(); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // one that has ended is told by Wait
		if err := command.Wait(); err != nil || h.t.Failed() {
			text, _ := os.ReadFile(logged.Name()) // what is left of the log
			h.t.Logf("the manager (%v) logged:\n%s", err, text[max(0, len(text)-4000):])
		}
		_ = logged.Close()
	})
	return logged.Name()
}

// certify makes certificates for both ends, and a client that the server allows by name.
func (h house) certify(address string) (Port, config.GRPC) {
	h.t.Helper()
	authority, err := pki.NewAuthority("conformance")
	if err != nil {
		h.t.Fatal(err)
	}
	dir := h.t.TempDir()
	write := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			h.t.Fatal(err)
		}
		return path
	}
	own, err := authority.Serving("provider")
	if err != nil {
		h.t.Fatal(err)
	}
	theirs, err := authority.Client("cluster-autoscaler")
	if err != nil {
		h.t.Fatal(err)
	}
	ca := write("ca.crt", authority.Cert)
	return Port{Address: address, CACert: ca, Cert: write("client.crt", theirs.Cert), Key: write("client.key", theirs.Key)},
		config.GRPC{CertFile: write("server.crt", own.Cert), KeyFile: write("server.key", own.Key), ClientCAFile: ca,
			AllowedClientNames: []string{"cluster-autoscaler"}}
}

func (h house) freeAddress() string {
	h.t.Helper()
	listener, err := new(net.ListenConfig).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
