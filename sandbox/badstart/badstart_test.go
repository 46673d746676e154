package badstart_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/config/crd"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/manager"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/controlplane/pki"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
)

// binary is the manager's command, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build() (string, error) {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "homelab-autoscaler-badstart-")
	if err != nil {
		return "", fmt.Errorf("making a folder for the binary: %w", err)
	}
	binary = filepath.Join(dir, "homelab-autoscaler")
	command := exec.CommandContext(context.Background(), "go", "build", "-o", binary, "./cmd/homelab-autoscaler")
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("building the manager: %w: %s", err, out)
	}
	return dir, nil
}

// The control plane is this test's own: it begins without our kinds.
func TestABadStartOnARealAPIServerIsOneClearLine(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane; skipped with -short")
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Options{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cp.Stop(); err != nil {
			t.Error(err)
		}
	})
	w := world{t: t, cp: cp, admin: adminOf(t, cp)}
	if err := w.admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "home"}}); err != nil {
		t.Fatal(err)
	}

	const install = ": install the CustomResourceDefinitions: kubectl apply --server-side --force-conflicts -f config/crd/bases (or the Helm chart)"
	w.fails("none of our kinds is served", cp.Config(), "home", "the API server does not serve groups.infra.homecluster.dev, "+
		"nodeclaims.infra.homecluster.dev, nodes.infra.homecluster.dev in version v2alpha1"+install)

	if err := cp.InstallCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.fails("a namespace that does not exist", cp.Config(), "abroad",
		"namespace abroad does not exist: create it, or name another with --namespace")
	w.fails("a user without rights", w.user("nobody"), "home", "the API server at "+cp.URL()+" refuses us: reading Namespace home: "+
		`namespaces "home" is forbidden: User "nobody" cannot get resource "namespaces" in API group "" in the namespace "home"`)
	w.fails("a user the API server does not know", stranger(cp), "home", "the API server at "+cp.URL()+" refuses us: Unauthorized")
	w.fails("an API server whose certificate another authority signed", distrustful(t, cp), "home", "the API server at "+cp.URL()+
		" does not answer: tls: failed to verify certificate: x509: certificate signed by unknown authority")
	w.grant("reader", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"get"}},
		rbacv1.PolicyRule{APIGroups: []string{"infra.homecluster.dev", "batch", "events.k8s.io", "policy"}, Resources: []string{"*"}, Verbs: []string{"*"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes", "pods"}, Verbs: []string{"get", "list", "watch"}})
	w.fails("a user who may read and not act", w.user("reader"), "home", "missing rights, apply the Role and ClusterRole of config/rbac "+
		"(or the Helm chart): patch nodes, delete nodes, create pods/eviction, get secrets, patch secrets, create secrets, "+
		"get mutatingwebhookconfigurations.admissionregistration.k8s.io, patch mutatingwebhookconfigurations.admissionregistration.k8s.io, "+
		"get validatingwebhookconfigurations.admissionregistration.k8s.io, patch validatingwebhookconfigurations.admissionregistration.k8s.io, "+
		"create tokenreviews.authentication.k8s.io, create subjectaccessreviews.authorization.k8s.io")

	w.older("nodes", "spec.watts", "status.powerState")
	const outdated = "the API server's definition of nodes.infra.homecluster.dev lacks spec.watts, status.powerState: they are older than " +
		"this manager; replace the CustomResourceDefinitions by those of this release: kubectl apply --server-side --force-conflicts " +
		"-f config/crd/bases (or the Helm chart)"
	w.fails("our kinds are served as an older release had them", cp.Config(), "home", outdated)
	w.waits("a manager that waits for newer definitions writes nothing and says why", outdated)
	if err := cp.InstallCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.endsWith("a running manager's kinds become older", func() { w.older("nodes", "spec.watts", "status.powerState") }, outdated)
	if err := cp.InstallCRDs(t.Context()); err != nil {
		t.Fatal(err)
	}

	w.endsWith("a running manager's kind goes away", func() { w.uninstall("nodes") },
		"the API server does not serve nodes.infra.homecluster.dev in version v2alpha1"+install)
	w.fails("one of our kinds is not served", cp.Config(), "home",
		"the API server does not serve nodes.infra.homecluster.dev in version v2alpha1"+install)
}

// uninstall takes one of our kinds away and waits until the API server no longer names it.
func (w world) uninstall(plural string) {
	w.t.Helper()
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: plural + "." + v2.GroupVersion.Group}}
	if err := w.admin.Delete(w.t.Context(), definition); err != nil {
		w.t.Fatal(err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(w.cp.Config())
	if err != nil {
		w.t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(w.t.Context(), 100*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		list, err := kinds.ServerResourcesForGroupVersion(v2.GroupVersion.String())
		if err != nil {
			return false, err
		}
		return !slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == plural }), nil
	})
	if err != nil {
		w.t.Fatalf("%s are still served: %v", plural, err)
	}
}

// older takes fields out of a definition of ours, as an earlier release may not have had them.
func (w world) older(plural string, fields ...string) {
	w.t.Helper()
	name := v2.GroupVersion.Group + "_" + plural + ".yaml"
	text, err := crd.Bases.ReadFile("bases/" + name)
	if err != nil {
		w.t.Fatal(err)
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &definition.Object); err != nil {
		w.t.Fatal(err)
	}
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	version, _ := versions[0].(map[string]any)
	for _, field := range fields {
		path := []string{"schema", "openAPIV3Schema"}
		for step := range strings.SplitSeq(field, ".") {
			path = append(path, "properties", step)
		}
		if _, found, _ := unstructured.NestedMap(version, path...); !found {
			w.t.Fatalf("there is no field %s to take out", field)
		}
		unstructured.RemoveNestedField(version, path...)
	}
	_ = unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")
	if text, err = yaml.Marshal(definition.Object); err != nil {
		w.t.Fatal(err)
	}
	if err := w.cp.InstallCRDsFrom(w.t.Context(), fstest.MapFS{name: &fstest.MapFile{Data: text}}); err != nil {
		w.t.Fatal(err)
	}
}

// waits runs a manager that cannot start yet, and compares what its readiness probe says. It must not write anything.
func (w world) waits(name, want string) {
	w.t.Run(name, func(t *testing.T) {
		between, err := proxy.Start(w.cp.Config(), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(between.Close)
		m, err := manager.New(between.Config(), w.config(), manager.Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- m.Run(ctx) }()
		want, said := "not ready: "+want+"\n", ""
		err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			_, said = ask(ctx, m.ProbeAddress())
			return said == want, nil
		})
		if err != nil {
			t.Error(cmp.Diff(want, said))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, write := range between.Writes() {
			t.Errorf("it wrote: %s", write)
		}
	})
}

func (w world) config() config.Config {
	return config.Config{Namespace: "home", GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: config.Off, ProbeAddress: "127.0.0.1:0", StartTimeout: time.Minute}
}

type world struct {
	t     *testing.T
	cp    *controlplane.ControlPlane
	admin client.Client
}

func adminOf(t *testing.T, cp *controlplane.ControlPlane) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(cp.Config(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// fails starts the manager and compares what it says, and its exit code.
func (w world) fails(name string, as *rest.Config, namespace, want string) {
	w.t.Run(name, func(t *testing.T) {
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		if err := w.cp.WriteKubeconfig(kubeconfig, as); err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), binary, "--kubeconfig="+kubeconfig, "--namespace="+namespace,
			"--grpc-bind-address=127.0.0.1:0", "--grpc-insecure", "--metrics-bind-address=127.0.0.1:0", "--health-probe-bind-address=127.0.0.1:0", "--webhook-bind-address=127.0.0.1:0", "--start-timeout=6s", "--log-level=error")
		var out, complaints bytes.Buffer
		command.Stdout, command.Stderr = &out, &complaints
		var exit *exec.ExitError
		if err := command.Run(); err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		if code := command.ProcessState.ExitCode(); code != 1 {
			t.Errorf("exit code %d, want 1", code)
		}
		if diff := cmp.Diff("homelab-autoscaler: "+want+"\n", complaints.String()); diff != "" {
			t.Error(diff)
		}
		if strings.TrimSpace(out.String()) != "" {
			t.Errorf("on standard output: %s", out.String())
		}
	})
}

// endsWith runs a manager until it is ready, lets something happen, and compares what it ends with.
func (w world) endsWith(name string, happens func(), want string) {
	w.t.Run(name, func(t *testing.T) {
		steps := clock.NewFakeClock(time.Now())
		m, err := manager.New(w.cp.Config(), w.config(), manager.Options{Clock: steps})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- m.Run(t.Context()) }()
		err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			code, _ := ask(ctx, m.ProbeAddress())
			return code == http.StatusOK, nil
		})
		if err != nil {
			t.Fatalf("never ready: %v", err)
		}
		happens()
		deadline := time.After(time.Minute)
		for {
			select {
			case err := <-ended:
				if diff := cmp.Diff(want, fmt.Sprint(err)); diff != "" {
					t.Error(diff)
				}
				return
			case <-deadline:
				t.Fatal("the manager goes on")
			case <-time.After(50 * time.Millisecond):
				steps.Step(10 * time.Second)
			}
		}
	})
}

// ask reads a readiness probe.
func ask(ctx context.Context, address string) (code int, text string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return 0, err.Error()
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(body)
}

func (w world) user(name string) *rest.Config {
	w.t.Helper()
	config, err := w.cp.UserConfig(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return config
}

// stranger presents a token that nobody issued.
func stranger(cp *controlplane.ControlPlane) *rest.Config {
	config := cp.Config()
	return &rest.Config{Host: config.Host, BearerToken: "nobody-issued-this", TLSClientConfig: rest.TLSClientConfig{CAData: config.CAData}}
}

// distrustful trusts an authority that did not sign the API server's certificate.
func distrustful(t *testing.T, cp *controlplane.ControlPlane) *rest.Config {
	t.Helper()
	other, err := pki.NewAuthority("another")
	if err != nil {
		t.Fatal(err)
	}
	config := cp.Config()
	config.CAData = other.Cert
	return config
}

// grant gives a user rights in the whole cluster.
func (w world) grant(user string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	meta := metav1.ObjectMeta{Name: user}
	for _, object := range []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}},
	} {
		if err := w.admin.Create(w.t.Context(), object); err != nil {
			w.t.Fatal(err)
		}
	}
}
