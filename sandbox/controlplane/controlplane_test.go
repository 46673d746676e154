package controlplane_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	watchtools "k8s.io/client-go/tools/watch"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/watch"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

func clientFor(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	must(t, err)
	return client
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestPodsOfADeploymentStayPending walks through all four components: the controller manager makes the pod, the
// scheduler says why it cannot run.
func TestPodsOfADeploymentStayPending(t *testing.T) {
	cp := controlplane.ForTest(t)
	namespace := cp.Namespace(t)
	client := clientFor(t, cp.Config())
	labels := map[string]string{"app": "web"}
	_, err := client.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	start, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	must(t, err)
	pods := &watcher{func(o metav1.ListOptions) (watch.Interface, error) {
		return client.CoreV1().Pods(namespace).Watch(ctx, o)
	}}
	for _, pod := range start.Items {
		if unschedulable(&pod) {
			return
		}
	}
	if _, err := watchtools.UntilWithoutRetry(ctx, pods.from(t, start.ResourceVersion), func(e watch.Event) (bool, error) {
		pod, ok := e.Object.(*corev1.Pod)
		return ok && unschedulable(pod), nil
	}); err != nil {
		t.Fatalf("waiting for a pod that cannot be scheduled: %v", err)
	}
}

type watcher struct {
	open func(metav1.ListOptions) (watch.Interface, error)
}

func (w *watcher) from(t *testing.T, version string) watch.Interface {
	t.Helper()
	events, err := w.open(metav1.ListOptions{ResourceVersion: version})
	must(t, err)
	return events
}

func unschedulable(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodPending && slices.ContainsFunc(pod.Status.Conditions,
		func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse &&
				c.Reason == corev1.PodReasonUnschedulable
		})
}

// TestASilentKubeNodeTurnsUnknown proves that the node lifecycle controller runs, with the short grace.
func TestASilentKubeNodeTurnsUnknown(t *testing.T) {
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	client := clientFor(t, cp.Config())
	kubeNode, err := client.CoreV1().Nodes().Create(t.Context(),
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "silent"}}, metav1.CreateOptions{})
	must(t, err)
	kubeNode.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}}
	kubeNode, err = client.CoreV1().Nodes().UpdateStatus(t.Context(), kubeNode, metav1.UpdateOptions{})
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := client.CoreV1().Nodes().Watch(ctx, metav1.ListOptions{
		ResourceVersion: kubeNode.ResourceVersion, FieldSelector: fields.OneTermEqualSelector("metadata.name", "silent").String(),
	})
	must(t, err)
	if _, err := watchtools.UntilWithoutRetry(ctx, events, func(e watch.Event) (bool, error) {
		kubeNode, ok := e.Object.(*corev1.Node)
		return ok && slices.ContainsFunc(kubeNode.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionUnknown
		}), nil
	}); err != nil {
		t.Fatalf("waiting for Ready=Unknown: %v", err)
	}
}

func TestUsersMayDoWhatRBACSays(t *testing.T) {
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	admin := clientFor(t, cp.Config())
	config, err := cp.UserConfig("guest", "visitors")
	must(t, err)
	guest := clientFor(t, config)
	if _, err := guest.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("a guest without rights got %v", err)
	}
	_, err = admin.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: "see-nodes"},
		Rules:      []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"list"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "see-nodes"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "see-nodes"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "visitors"}},
	}, metav1.CreateOptions{})
	must(t, err)
	deadline := time.Now().Add(10 * time.Second) // the authorizer learns of it by a watch
	for {
		if _, err = guest.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a guest with rights got %v", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestDefinitionsAreInstalledAndServed(t *testing.T) {
	cp := controlplane.ForTest(t)
	namespace := cp.Namespace(t)
	objects, err := dynamic.NewForConfig(cp.Config())
	must(t, err)
	for _, plural := range []string{"groups", "nodes", "nodeclaims"} {
		if _, err := objects.Resource(v2.GroupVersion.WithResource(plural)).Namespace(namespace).
			List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Errorf("listing %s: %v", plural, err)
		}
	}
	must(t, cp.InstallCRDs(t.Context())) // again is as good as once
	wrong := fstest.MapFS{"wrong.yaml": {Data: []byte("apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n" +
		"metadata: {name: wrong.example.com}\nspec: {group: example.com}\n")}}
	if err := cp.InstallCRDsFrom(t.Context(), wrong); !apierrors.IsInvalid(err) {
		t.Errorf("a wrong definition was answered with %v", err)
	}
	if err := cp.InstallCRDsFrom(t.Context(), fstest.MapFS{}); err == nil {
		t.Error("no definitions at all were installed without complaint")
	}
}

func TestResetTakesWhatCameSinceAndLeavesTheRest(t *testing.T) {
	cp := controlplane.ForTest(t)
	cp.ResetAfter(t)
	nodes := clientFor(t, cp.Config()).CoreV1().Nodes()
	make := func(name string, finalizers ...string) {
		_, err := nodes.Create(t.Context(), &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
		}, metav1.CreateOptions{})
		must(t, err)
	}
	make("before")
	reset, err := cp.Resetter(t.Context())
	must(t, err)
	make("since", "example.com/held")
	must(t, reset(t.Context()))
	list, err := nodes.List(t.Context(), metav1.ListOptions{})
	must(t, err)
	var left []string
	for _, kubeNode := range list.Items {
		left = append(left, kubeNode.Name)
	}
	if !slices.Contains(left, "before") || slices.Contains(left, "since") {
		t.Errorf("left are %v", left)
	}
}

func TestTwoRunSideBySide(t *testing.T) {
	first := controlplane.ForTest(t)
	namespace := first.Namespace(t)
	begun := time.Now()
	second, err := controlplane.Start(t.Context(), controlplane.Options{})
	must(t, err)
	t.Logf("the second start took %s", time.Since(begun).Round(100*time.Millisecond))
	t.Cleanup(func() { _ = second.Stop() })
	_, err = clientFor(t, second.Config()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the second knows a namespace of the first: %v", err)
	}
	pids := second.PIDs()
	if len(pids) != 4 {
		t.Errorf("%d processes run, want 4", len(pids))
	}
	must(t, second.Stop())
	must(t, second.Stop()) // twice is as good as once
	assertGone(t, pids, second.Dir)
	if _, err := clientFor(t, first.Config()).CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{}); err != nil {
		t.Errorf("the first, after the second stopped: %v", err)
	}
}

func TestAFolderThatIsKeptKeepsItsLogs(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane")
	}
	dir := filepath.Join(t.TempDir(), "kept")
	cp, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir, Keep: true})
	must(t, err)
	pids := cp.PIDs()
	must(t, cp.Stop())
	assertGone(t, pids, "")
	if _, err := os.Stat(filepath.Join(dir, "logs", controlplane.APIServer+".log")); err != nil {
		t.Error(err)
	}
	if _, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir}); err == nil ||
		!strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder in use was taken again: %v", err)
	}
}
