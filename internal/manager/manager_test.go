package manager

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// nowhere is a configuration that serves on loopback ports of the kernel's choice, for an API server that is not there.
func nowhere() (*rest.Config, config.Config) {
	return &rest.Config{Host: "https://127.0.0.1:1"}, config.Config{Namespace: "home", GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: "127.0.0.1:0", MetricsInsecure: true, ProbeAddress: "127.0.0.1:0", StartTimeout: time.Hour}
}

func TestAManagerWithoutAnAPIServerIsAliveAndSaysWhyItIsNotReady(t *testing.T) {
	reach, c := nowhere()
	m, err := New(reach, c, Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	if code, _ := get(t, m.ProbeAddress(), "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d", code)
	}
	if code, _ := get(t, m.MetricsAddress(), "/metrics"); code != http.StatusOK {
		t.Errorf("/metrics answers %d", code)
	}
	deadline := time.Now().Add(time.Minute)
	for {
		code, text := get(t, m.ProbeAddress(), "/readyz")
		if code != http.StatusServiceUnavailable {
			t.Fatalf("/readyz answers %d: %s", code, text)
		}
		if strings.HasPrefix(text, "not ready: the API server at https://127.0.0.1:1 does not answer: ") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("/readyz only says %q", text)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("stopped on request with %v", err)
	}
	for _, address := range []string{m.GRPCAddress(), m.ProbeAddress(), m.MetricsAddress()} {
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			t.Errorf("%s was not let go: %v", address, err)
			continue
		}
		_ = listener.Close()
	}
}

func get(t *testing.T, address, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestATakenPortLetsTheOthersGo(t *testing.T) {
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	reach, c := nowhere()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c.ProbeAddress = taken.Addr().String()
	if _, err := New(reach, c, Options{GRPC: free}); err == nil || !strings.HasPrefix(err.Error(), "taking the address of --health-probe-bind-address: ") {
		t.Errorf("a taken port is %v", err)
	}
	if _, err := free.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the provider's port is still held: %v", err)
	}
}

func TestAPolicyThatCannotBeIsRefused(t *testing.T) {
	reach, c := nowhere()
	base := policy.Default()
	base.Margin = 0
	if _, err := New(reach, c, Options{Policy: &base}); err == nil || err.Error() != "reading the policy: Margin must be positive, is 0s" {
		t.Errorf("got %v", err)
	}
}

func TestTheImageOfThePowerJobsIsOfTheManagersRelease(t *testing.T) {
	for name, test := range map[string]struct{ release, base, want string }{
		"a release":                    {"0.2.3", policy.DefaultPowerImage, "homecluster.dev/power:0.2.3"},
		"no release":                   {"", policy.DefaultPowerImage, "homecluster.dev/power:latest"},
		"a policy with one of its own": {"0.2.3", "registry.lan/power:1", "registry.lan/power:1"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := powerImage(test.release, test.base); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
	defer func(of string) { version = of }(version)
	version = "0.2.3"
	reach, c := nowhere()
	for told, want := range map[string]string{"": "homecluster.dev/power:0.2.3", "registry.lan/power:2": "registry.lan/power:2"} {
		c.PowerImage = told
		m, err := New(reach, c, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.close(); err != nil {
			t.Error(err)
		}
		if m.policy.PowerImage != want {
			t.Errorf("told %q, the manager takes %s, want %s", told, m.policy.PowerImage, want)
		}
	}
}

func TestReadiness(t *testing.T) {
	var r readiness
	probe := func() (int, string) {
		w := httptest.NewRecorder()
		r.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
		return w.Code, w.Body.String()
	}
	expect := func(wantCode int, wantText string) {
		t.Helper()
		if code, text := probe(); code != wantCode || text != wantText {
			t.Errorf("answers %d %q, want %d %q", code, text, wantCode, wantText)
		}
	}
	r.not("no CRD")
	expect(http.StatusServiceUnavailable, "not ready: no CRD\n")
	var fault error
	r.when(func() error { return fault })
	expect(http.StatusOK, "ok\n")
	fault = errors.New("no snapshot")
	expect(http.StatusServiceUnavailable, "not ready: no snapshot\n")
}

func TestACachedPodKeepsWhatADrainAsks(t *testing.T) {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "u", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"kubernetes.io/config.mirror": "x"},
			OwnerReferences: []metav1.OwnerReference{{Kind: "DaemonSet"}}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}}},
		Spec:   corev1.PodSpec{NodeName: "pi", Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, Containers: []corev1.Container{{Name: "c", Env: []corev1.EnvVar{{Name: "SECRET"}}}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning, ContainerStatuses: []corev1.ContainerStatus{{Name: "c"}}},
	}
	want := pod.DeepCopy()
	want.ManagedFields, want.Spec = nil, corev1.PodSpec{NodeName: "pi"}
	got, err := slimPod(pod)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
