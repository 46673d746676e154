package rights

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/sandbox/chart"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

const (
	deployment = chart.Release + "-controller-manager"
	managers   = "control-plane=controller-manager"
	// patience is how long a test waits for what must come; nothing that works takes nearly as long.
	patience = 4 * time.Minute
)

// home is a cluster with the chart installed by Helm. The manager's pod really runs: the Deployment's, on an always-on
// node, with what the chart mounts and passes to it, as the chart's ServiceAccount.
type home struct {
	t  *testing.T
	cp *controlplane.ControlPlane
	// namespace is the release's, served the one with the pool.
	namespace, served string
	client            client.Client
	clients           kubernetes.Interface
	room              *machineroom.Room
	// address is where pods are reached; the ports are the manager's.
	address                        string
	grpc, metrics, webhook, probes int
}

// install installs the chart into a new namespace, with some values changed, and waits until its manager is ready. The
// objects are those that the values speak of.
func install(t *testing.T, namespace string, values map[string]any, objects ...client.Object) *home {
	t.Helper()
	h := &home{t: t, cp: controlplane.ForTest(t), namespace: namespace, served: namespace, address: ownAddress(t)}
	if other, ok := values["watchNamespace"].(string); ok {
		h.served = other
	}
	h.cp.ResetAfter(t)
	h.grpc, h.metrics, h.webhook, h.probes = freePort(t), freePort(t), freePort(t), freePort(t)
	h.clients = kubernetes.NewForConfigOrDie(h.cp.Config())
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	if h.client, err = client.New(h.cp.Config(), client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	h.helm("install", chart.Release, chart.Dir(t), "--create-namespace", "--values="+chart.ValuesFile(t, h.values()), "--values="+chart.ValuesFile(t, values))
	h.create(objects...)
	h.runPods()
	t.Cleanup(func() { h.leave() })
	h.eventually("the manager is ready", h.ready)
	return h
}

// values differ from the defaults in the ports, which this host shares with others; in the kubeconfig, which stands for
// the token that a container finds at a path of its own; and in that the tests are cluster-autoscaler.
func (h *home) values() map[string]any {
	return map[string]any{
		"grpc": map[string]any{"port": h.grpc}, "webhook": map[string]any{"port": h.webhook},
		"metrics": map[string]any{"port": h.metrics, "readers": []any{map[string]any{"name": "prometheus", "namespace": h.namespace}}},
		"controllerManager": map[string]any{
			"probePort":         h.probes,
			"extraEnv":          []any{map[string]any{"name": "KUBECONFIG", "value": "/kubeconfig/config"}},
			"extraVolumes":      []any{map[string]any{"name": "kubeconfig", "secret": map[string]any{"secretName": "kubeconfig"}}},
			"extraVolumeMounts": []any{map[string]any{"name": "kubeconfig", "mountPath": "/kubeconfig"}},
		},
		"clusterAutoscaler": map[string]any{"replicas": 0},
	}
}

func (h *home) helm(arguments ...string) {
	h.t.Helper()
	if _, err := chart.Helm(h.t, append(arguments, "--namespace="+h.namespace, "--kubeconfig="+h.cp.Kubeconfig())...); err != nil {
		h.t.Fatal(err)
	}
}

// runPods gives the manager the identity that its pod has, and opens the room where the pod runs.
func (h *home) runPods() {
	h.t.Helper()
	d, err := h.clients.AppsV1().Deployments(h.namespace).Get(h.t.Context(), deployment, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	path := filepath.Join(h.t.TempDir(), "config")
	if err := h.cp.WriteKubeconfig(path, h.as(d.Spec.Template.Spec.ServiceAccountName)); err != nil {
		h.t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		h.t.Fatal(err)
	}
	h.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: h.namespace, Name: "kubeconfig"}, Data: map[string][]byte{"config": text}})
	h.room, err = machineroom.New(context.WithoutCancel(h.t.Context()), h.cp.Config(), machineroom.Options{
		Dir: h.t.TempDir(), BootTime: 300 * time.Millisecond, ShutdownTime: 200 * time.Millisecond,
		LeaseInterval: time.Second, StatusInterval: time.Second, Address: h.address,
		Images: map[string][]string{d.Spec.Template.Spec.Containers[0].Image: {buildManager(h.t)}},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = h.room.Stop() }) // the processes end with this one anyway
	if err := h.room.AddAlwaysOn("infra"); err != nil {
		h.t.Fatal(err)
	}
}

// buildManager builds the manager from the checkout.
func buildManager(t *testing.T) string {
	t.Helper()
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "homelab-autoscaler")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/homelab-autoscaler")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the manager: %v\n%s", err, out)
	}
	return binary
}

// ownAddress is one of this host that is not on loopback, which no endpoint of a Service may be.
func ownAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if network, ok := address.(*net.IPNet); ok && network.IP.To4() != nil && network.IP.IsGlobalUnicast() {
			return network.IP.String()
		}
	}
	t.Skip("this host has no address beside those on loopback, where no Service can lead")
	return ""
}

// freePort is one that nobody listens on, below those from which connections are made: the manager takes it on all of this
// host's addresses, and only after its pod was scheduled.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		port := 20000 + rand.IntN(10000)
		if listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", ":"+strconv.Itoa(port)); err == nil {
			_ = listener.Close()
			return port
		}
	}
}

// at is a port of the manager's pod.
func (h *home) at(port int) string { return net.JoinHostPort(h.address, strconv.Itoa(port)) }

// as is the access of a ServiceAccount, by its token, as a pod of it has.
func (h *home) as(account string) *rest.Config {
	h.t.Helper()
	token, err := h.clients.CoreV1().ServiceAccounts(h.namespace).CreateToken(h.t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	reach := rest.AnonymousClientConfig(h.cp.Config())
	reach.BearerToken, reach.QPS = token.Status.Token, -1
	return reach
}

func (h *home) create(objects ...client.Object) {
	h.t.Helper()
	for _, object := range objects {
		if err := h.client.Create(h.t.Context(), object); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *home) eventually(what string, check func(context.Context) error) {
	h.t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(h.t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		h.t.Fatalf("%s: %v", what, last)
	}
}

// leave ends the manager while its kubelet runs, after having told what it said if the test failed.
func (h *home) leave() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.t.Context()), time.Minute)
	defer cancel()
	if h.t.Failed() {
		h.tell(ctx)
	}
	if err := h.clients.AppsV1().Deployments(h.namespace).Delete(ctx, deployment, metav1.DeleteOptions{}); err != nil {
		h.t.Error(err)
	}
	if err := wait.PollUntilContextCancel(ctx, 100*time.Millisecond, true, func(ctx context.Context) (bool, error) { return h.gone(ctx) == nil, nil }); err != nil {
		h.t.Errorf("the manager's pods do not go: %v", err)
	}
}

// gone is nil once no pod of the manager is left.
func (h *home) gone(ctx context.Context) error {
	pods, err := h.clients.CoreV1().Pods(h.namespace).List(ctx, metav1.ListOptions{LabelSelector: managers})
	if err == nil && len(pods.Items) > 0 {
		err = fmt.Errorf("%d are there", len(pods.Items))
	}
	return err
}

// tell logs what the manager's pods are and say.
func (h *home) tell(ctx context.Context) {
	pods, err := h.clients.CoreV1().Pods(h.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		h.t.Log(err)
		return
	}
	for _, pod := range pods.Items {
		text, err := h.clients.CoreV1().Pods(h.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
		h.t.Logf("pod %s: %+v\n%s%v", pod.Name, pod.Status, text, err)
	}
}

// secretTLS trusts the authority in a Secret of the chart; with a key in it, it also shows the Secret's certificate.
func (h *home) secretTLS(name, host string) *tls.Config {
	h.t.Helper()
	secret, err := h.clients.CoreV1().Secrets(h.namespace).Get(h.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		h.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(secret.Data["ca.crt"]) {
		h.t.Fatalf("Secret %s has no authority", name)
	}
	config := &tls.Config{RootCAs: roots, ServerName: host, MinVersion: tls.VersionTLS13}
	pair, err := tls.X509KeyPair(secret.Data["tls.crt"], secret.Data["tls.key"])
	if err != nil {
		h.t.Fatal(err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config
}

// saying is nil for an error that says so.
func saying(err error, what string) error {
	switch {
	case err == nil:
		return fmt.Errorf("nobody says %q", what)
	case !strings.Contains(err.Error(), what):
		return fmt.Errorf("said in place of %q: %w", what, err)
	}
	return nil
}
