package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// binary is the command, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "homelab-autoscaler")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "homelab-autoscaler")
	if out, err := exec.CommandContext(context.Background(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%v: %s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// outcome runs the command to its end.
func outcome(t *testing.T, args ...string) (code int, out, complaints string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Env = []string{"HOME=" + t.TempDir(), "PATH=/nowhere"}
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

// The bad starts that need an API server are in the sandbox's badstart.
func TestABadStartIsOneClearLine(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kubeconfig := func(name, cluster, user string) string {
		return write(name, "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\n"+
			"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'"+cluster+"}}]\nusers: [{name: u, user: {"+user+"}}]\n", 0o600)
	}
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().String()

	good := kubeconfig("good", "", "token: t")
	free := []string{"--namespace=home", "--kubeconfig=" + good, "--grpc-bind-address=127.0.0.1:0", "--grpc-insecure",
		"--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--webhook-bind-address=127.0.0.1:0", "--start-timeout=1ms"}
	with := func(args ...string) []string { return append(append([]string{}, free...), args...) }
	secured := func(args ...string) []string {
		return append(slices.DeleteFunc(slices.Clone(free), func(arg string) bool { return arg == "--grpc-insecure" }), args...)
	}
	cert, key := selfSigned(t)
	_, other := selfSigned(t)
	crt := "--grpc-cert-file=" + write("tls.crt", cert, 0o600)

	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown flag": {[]string{"--nope"}, exitUsage, "flag provided but not defined: -nope, see --help"},
		"a value of the wrong kind": {with("--start-timeout=soon"), exitUsage,
			`invalid value "soon" for flag -start-timeout: parse error, see --help`},
		"a value out of range": {with("--grpc-bind-address=:70000"), exitUsage,
			`--grpc-bind-address ":70000" is not an address like :8080 or 127.0.0.1:8080: port "70000" is not between 0 and 65535`},
		"a positional argument": {with("run"), exitUsage, `unexpected argument "run": everything is told by flags, see --help`},
		"no namespace": {[]string{"--kubeconfig=" + good}, exitUsage,
			"no namespace to serve: pass --namespace or set POD_NAMESPACE (in a pod it is read from the service account)"},
		"no way to an API server": {[]string{"--namespace=home", "--grpc-insecure"}, exitFailed,
			"no API server to talk to: pass --kubeconfig or set KUBECONFIG (in a pod the service account is used)"},
		"a kubeconfig that does not exist": {with("--kubeconfig=/nowhere/config"), exitFailed,
			"reading kubeconfig /nowhere/config: stat /nowhere/config: no such file or directory"},
		"a kubeconfig under a file": {with("--kubeconfig=" + good + "/config"), exitFailed,
			"reading kubeconfig DIR/good/config: stat DIR/good/config: not a directory"},
		"a kubeconfig that is a directory": {with("--kubeconfig=" + dir), exitFailed, "reading kubeconfig DIR: it is a directory"},
		"a kubeconfig that is none": {with("--kubeconfig=" + write("bad", "{", 0o600)), exitFailed,
			`reading kubeconfig DIR/bad: error loading config file "DIR/bad": yaml: line 1: did not find expected node content`},
		"a CA that cannot be read": {with("--kubeconfig=" + kubeconfig("noca", ", certificate-authority: /nowhere/ca.crt", "token: t")), exitFailed,
			"reading kubeconfig DIR/noca: invalid configuration: unable to read certificate-authority /nowhere/ca.crt for c due to open /nowhere/ca.crt: no such file or directory"},
		"a client certificate that is none": {with("--kubeconfig=" + kubeconfig("badcert", "", "client-certificate: "+write("crt", "no PEM", 0o600)+", client-key: "+write("key", "no PEM", 0o600))), exitFailed,
			"reading the certificates of kubeconfig DIR/badcert: tls: failed to find any PEM data in certificate input"},
		"the provider's port is taken": {with("--grpc-bind-address=" + port), exitFailed,
			"taking the address of --grpc-bind-address: listen tcp PORT: bind: address already in use"},
		"the metrics' port is taken": {with("--metrics-bind-address=" + port), exitFailed,
			"taking the address of --metrics-bind-address: listen tcp PORT: bind: address already in use"},
		"the probes' port is taken": {with("--health-probe-bind-address=" + port), exitFailed,
			"taking the address of --health-probe-bind-address: listen tcp PORT: bind: address already in use"},
		"the webhook's port is taken": {with("--webhook-bind-address=" + port), exitFailed,
			"taking the address of --webhook-bind-address: listen tcp PORT: bind: address already in use"},
		"a webhook's certificate that does not exist": {with("--tls-cert-file=/nowhere/c", "--tls-key-file=/nowhere/k"), exitFailed,
			"reading the certificate of the webhook's and the metrics' ports (/nowhere/c, /nowhere/k): open /nowhere/c: no such file or directory"},
		"a webhook's certificate without its key": {with("--tls-cert-file=/nowhere/c"), exitUsage,
			"--tls-cert-file and --tls-key-file go together: pass both"},
		"no word on the provider's security": {secured(), exitUsage,
			"no certificate for the provider's port: pass --grpc-cert-file and --grpc-key-file, or --grpc-insecure to serve plaintext"},
		"a provider's certificate that does not exist": {secured("--grpc-cert-file=/nowhere/c", "--grpc-key-file=/nowhere/k"), exitFailed,
			"reading the certificate of the provider's port (/nowhere/c, /nowhere/k): open /nowhere/c: no such file or directory"},
		"a provider's certificate that is none": {secured("--grpc-cert-file="+good, "--grpc-key-file="+good), exitFailed,
			"reading the certificate of the provider's port (DIR/good, DIR/good): tls: failed to find any PEM data in certificate input"},
		"a provider's key of another certificate": {secured(crt, "--grpc-key-file="+write("other.key", other, 0o600)), exitFailed,
			"reading the certificate of the provider's port (DIR/tls.crt, DIR/other.key): tls: private key does not match public key"},
		"authorities of clients that are none": {secured(crt, "--grpc-key-file="+write("tls.key", key, 0o600), "--grpc-client-ca-file="+good), exitFailed,
			"reading the authorities of the provider's clients: DIR/good holds no certificate in PEM"},
		"an API server that does not answer": {free, exitFailed,
			"the API server at https://127.0.0.1:1 does not answer: dial tcp 127.0.0.1:1: connect: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, complaints := outcome(t, append(test.args, "--log-level=error")...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if out != "" {
				t.Errorf("on standard output: %q", out)
			}
			complaints = strings.NewReplacer(dir, "DIR", port, "PORT").Replace(complaints)
			if diff := cmp.Diff("homelab-autoscaler: "+test.want+"\n", complaints); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// selfSigned is a certificate and its key, in PEM.
func selfSigned(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	return text("CERTIFICATE", public), text("PRIVATE KEY", secret)
}

func TestCloudConfigIsWrittenOrRefused(t *testing.T) {
	for name, test := range map[string]struct {
		args            []string
		code            int
		out, complaints string
	}{
		"plaintext":  {[]string{"--address=127.0.0.1:50051", "--insecure"}, 0, "address: 127.0.0.1:50051\ngrpc_timeout: 10s\n", ""},
		"no address": {nil, exitUsage, "", "homelab-autoscaler: no provider to find: pass --address host:port\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, complaints := outcome(t, append([]string{"cloud-config"}, test.args...)...)
			if code != test.code || out != test.out || complaints != test.complaints {
				t.Errorf("exit code %d, output %q, complaints %q", code, out, complaints)
			}
		})
	}
	if code, out, _ := outcome(t, "cloud-config", "--help"); code != 0 || !strings.Contains(out, "-cacert") {
		t.Errorf("--help: exit code %d, output %q", code, out)
	}
}

func TestHelpAndVersionAreNoFaults(t *testing.T) {
	for flag, want := range map[string]string{"--help": "-grpc-bind-address", "--version": "devel"} {
		code, out, complaints := outcome(t, flag)
		if code != 0 || complaints != "" || !strings.Contains(out, want) {
			t.Errorf("%s: exit code %d, output %q, complaints %q", flag, code, out, complaints)
		}
	}
}
