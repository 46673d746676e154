package admission_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/manager"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

func TestMain(m *testing.M) { controlplane.Main(m) }

const (
	// patience is how long a test waits for what must come.
	patience = time.Minute
	// secret is where a home's managers keep their certificate.
	secret = "certificate"
)

// home is one test's namespace, with webhooks that ask at an address where a manager may run.
type home struct {
	t         *testing.T
	cp        *controlplane.ControlPlane
	client    client.Client
	namespace string
	address   string
	warnings  *warnings
}

// warnings keeps what the API server warns of.
type warnings struct {
	mu   sync.Mutex
	told []string
}

func (w *warnings) HandleWarningHeader(_ int, _ string, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, text)
}

// take answers what was told since it was last taken.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	told := w.told
	w.told = nil
	return told
}

func newHome(t *testing.T) *home {
	t.Helper()
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	h := &home{t: t, cp: cp, namespace: cp.Namespace(t), warnings: &warnings{}}
	scheme, err := kube.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	reach := cp.Config()
	reach.WarningHandler = h.warnings
	if h.client, err = client.New(reach, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if h.address, err = controlplane.FreeAddress(); err != nil {
		t.Fatal(err)
	}
	if err := cp.InstallWebhooks(t.Context(), h.namespace, h.namespace, h.address); err != nil {
		t.Fatal(err)
	}
	return h
}

// manage starts a manager that answers at an address and waits until it is ready. Stop ends it and waits for its end.
func (h *home) manage(address string, change ...func(*config.Config)) (m *manager.Manager, stop func()) {
	h.t.Helper()
	m, stop = h.start(address, change...)
	h.eventually("a manager is ready", func(ctx context.Context) error { return ready(ctx, m.ProbeAddress()) })
	return m, stop
}

// start is manage without the wait.
func (h *home) start(address string, change ...func(*config.Config)) (m *manager.Manager, stop func()) {
	h.t.Helper()
	c := config.Config{
		Namespace: h.namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: "127.0.0.1:0", ProbeAddress: "127.0.0.1:0", StartTimeout: patience,
		Webhook: config.Webhook{Address: address, Configuration: h.namespace}, TLS: config.TLS{Secret: secret, Names: []string{"127.0.0.1"}},
	}
	for _, change := range change {
		change(&c)
	}
	quick := policy.Default()
	quick.SupersedeSettle = 2 * time.Second
	m, err := manager.New(h.cp.Config(), c, manager.Options{Policy: &quick, Log: funcr.New(func(prefix, line string) {
		if strings.Contains(prefix, "certificate") || strings.Contains(prefix, "webhook") {
			h.t.Log(prefix, line)
		}
	}, funcr.Options{})})
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			cancel()
			if err := <-ended; err != nil {
				h.t.Errorf("a manager stopped with %v", err)
			}
		})
	}
	h.t.Cleanup(stop)
	return m, stop
}

// ready is nil, or what the manager says it waits for.
func ready(ctx context.Context, address string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("/readyz answers %d: %s", response.StatusCode, text)
	}
	return err
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

// asked waits until the API server asks the manager: it learns of a new authority by a watch.
func (h *home) asked() {
	h.t.Helper()
	h.eventually("the API server asks", func(ctx context.Context) error { return answered(ctx, h.client, h.namespace) })
	h.warnings.take()
}

// answered tries a claim for a slot that does not exist, without storing it: only a webhook refuses that.
func answered(ctx context.Context, c client.Client, namespace string) error {
	claim := claimOf(namespace, "probe", "no-such-slot")
	return saying(c.Create(ctx, claim, client.DryRunAll), "there is no slot of this name")
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

// gone is nil for an object that is no more.
func (h *home) gone(ctx context.Context, object client.Object) error {
	if err := h.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
		return client.IgnoreNotFound(err)
	}
	return fmt.Errorf("it is there, with %v", object.GetFinalizers())
}

// claimOf is a claim of four lines.
func claimOf(namespace, name, slot string) *v2.NodeClaim {
	return &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: namespace},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: slot}, Request: v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "pool"},
		},
	}
}

func (h *home) claim(name, slot string) *v2.NodeClaim { return claimOf(h.namespace, name, slot) }

func (h *home) group(change ...func(*v2.Group)) *v2.Group {
	group := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "pool", Namespace: h.namespace}, Spec: v2.GroupSpec{Engine: v2.EngineNone}}
	for _, change := range change {
		change(group)
	}
	return group
}

// slot is one that gives no rise to a warning.
func (h *home) slot(name string, change ...func(*v2.Node)) *v2.Node {
	power := func(to string) v2.MinimalPodSpec {
		return v2.MinimalPodSpec{Image: "switch", Command: []string{"power", to}}
	}
	slot := &v2.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.namespace, Labels: map[string]string{v2.LabelGroup: "pool"}},
		Spec: v2.NodeSpec{
			KubernetesNodeName: name + ".lan", StartupPodSpec: power("on"), ShutdownPodSpec: power("off"),
			NodeCapacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")},
		},
	}
	for _, change := range change {
		change(slot)
	}
	return slot
}

func (h *home) create(objects ...client.Object) {
	h.t.Helper()
	for _, object := range objects {
		if err := h.client.Create(h.t.Context(), object); err != nil {
			h.t.Fatal(err)
		}
	}
}

// as is a client of somebody with every right.
func (h *home) as(user string) client.Client {
	h.t.Helper()
	reach, err := h.cp.UserConfig(user, "system:masters")
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := client.New(reach, client.Options{Scheme: h.client.Scheme()})
	if err != nil {
		h.t.Fatal(err)
	}
	return c
}

// refused wants an error that says all of these.
func refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it is not refused")
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("refused with %q, want %q", err, part)
		}
	}
}

// shown is the certificate that a port shows whoever trusts only the authorities of the home's Secret.
func (h *home) shown(address string) *x509.Certificate {
	h.t.Helper()
	var kept corev1.Secret
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: secret}, &kept); err != nil {
		h.t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(kept.Data["ca.crt"])
	dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: patience}, Config: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}}
	conn, err := dialer.DialContext(h.t.Context(), "tcp", address)
	if err != nil {
		h.t.Fatalf("a port is not trusted by its own authority: %v", err)
	}
	defer func() { _ = conn.Close() }()
	return conn.(*tls.Conn).ConnectionState().PeerCertificates[0]
}
