package controlplane

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// One control plane serves a whole test binary. It starts when the first test asks for it and ends with Main.
//
//	func TestMain(m *testing.M) { controlplane.Main(m) }
//
//	func TestSomething(t *testing.T) {
//		cp := controlplane.ForTest(t)
//		namespace := cp.Namespace(t)
//		…
//	}
var shared struct {
	options Options
	once    sync.Once
	cp      *ControlPlane
	err     error
}

// Main runs a test binary and stops its control plane, if one was started, before it exits. The options, at most one,
// shape that control plane; its progress goes to standard error if not set.
func Main(m *testing.M, options ...Options) {
	if len(options) > 0 {
		shared.options = options[0]
	}
	code := m.Run()
	if shared.cp != nil {
		if err := shared.cp.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping the control plane:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// ForTest returns the test binary's control plane, with the project's CustomResourceDefinitions and admission
// policies installed unless Main was told to leave them out. Tests that want it are skipped with -short.
//
// The first use on a machine builds it, which takes longer than go test's default time-out: run `make test`, or raise
// -timeout once. An interrupted build goes on where it was.
func ForTest(t testing.TB) *ControlPlane {
	t.Helper()
	if testing.Short() {
		t.Skip("wants a control plane; skipped with -short")
	}
	shared.once.Do(startShared)
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	select {
	case err := <-shared.cp.Failed():
		shared.cp.failed <- err // the next test shall hear it too
		t.Fatal(err)
	default:
	}
	return shared.cp
}

func startShared() {
	o := shared.options
	if o.Progress == nil {
		o.Progress = os.Stderr
	}
	ctx := context.Background() // it outlives the test that happens to be the first
	cp, err := Start(ctx, o)
	if err != nil {
		shared.err = fmt.Errorf("starting the control plane: %w", err)
		return
	}
	shared.cp = cp
	if o.WithoutKinds {
		return
	}
	if shared.err = cp.InstallCRDs(ctx); shared.err == nil {
		shared.err = cp.InstallPolicies(ctx)
	}
}

// testTimeout bounds each wait of the helpers below.
const testTimeout = time.Minute

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// Namespace makes a namespace for one test, ready to have pods. It is deleted at the end of the test, together with what
// is in it: the finalizers of our own objects are taken off first, since no manager may be left to do it.
func (cp *ControlPlane) Namespace(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	client := cp.kubernetes(t)
	name := strings.Trim(notInName.ReplaceAllString(strings.ToLower(t.Name()), "-"), "-")
	name = strings.Trim(name[:min(len(name), 40)], "-")
	namespace, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: name + "-"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("making a namespace: %v", err)
	}
	t.Cleanup(func() { cp.dropNamespace(t, client, namespace.Name) })
	if err := waitForServiceAccount(ctx, client, namespace.Name); err != nil {
		t.Fatal(err)
	}
	return namespace.Name
}

// dropNamespace asks for the end of a namespace and does not wait for it: no later test uses the same one.
func (cp *ControlPlane) dropNamespace(t testing.TB, client kubernetes.Interface, namespace string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
	defer cancel()
	err := client.CoreV1().Namespaces().Delete(ctx, namespace, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) { // a test may have deleted it
		t.Errorf("deleting namespace %s: %v", namespace, err)
	}
	if err := cp.release(ctx, namespace); err != nil {
		t.Errorf("releasing what is left in namespace %s: %v", namespace, err)
	}
}

func (cp *ControlPlane) kubernetes(t testing.TB) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cp.admin)
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	return client
}

// ResetAfter removes, at the end of a test, what it leaves outside namespaces: kubeNodes, webhook configurations,
// admission policies, cluster roles and their bindings, priority classes. What was there when ResetAfter was called
// stays. Two tests that use it must not run in parallel.
func (cp *ControlPlane) ResetAfter(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	before, err := cp.clusterScoped(ctx)
	if err != nil {
		t.Fatalf("listing objects outside namespaces: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), testTimeout)
		defer cancel()
		if err := cp.resetTo(ctx, before); err != nil {
			t.Errorf("removing what the test left outside namespaces: %v", err)
		}
	})
}
