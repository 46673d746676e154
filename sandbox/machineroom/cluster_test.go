package machineroom_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// patience is how long a test waits for what must come; nothing that works takes nearly as long.
const patience = 90 * time.Second

// lab is a room in a real cluster, with a namespace for the test's own pods.
type lab struct {
	*machineroom.Room
	t         *testing.T
	config    *rest.Config
	client    kubernetes.Interface
	namespace string
}

func newLab(t *testing.T) *lab {
	t.Helper()
	cp := controlplane.ForTest(t)
	client, err := kubernetes.NewForConfig(cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, config: cp.Config(), client: client, namespace: cp.Namespace(t)}
	l.Room = l.openRoom(t.TempDir())
	t.Cleanup(l.clean)
	return l
}

// clean takes away what would be in the way of the next test.
func (l *lab) clean() {
	ctx := context.Background()
	if l.t.Failed() {
		for _, event := range l.Log() {
			l.t.Log(event)
		}
	}
	for _, m := range l.Machines() {
		l.removeNode(ctx, m.KubeNode())
	}
	l.removeNode(ctx, l.infra())
}

func (l *lab) removeNode(ctx context.Context, name string) {
	err := l.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		l.t.Error(err)
	}
}

// infra is the name of this lab's always-on node; labs share a cluster.
func (l *lab) infra() string { return "infra-" + l.namespace }

func (l *lab) openRoom(dir string) *machineroom.Room {
	l.t.Helper()
	room, err := machineroom.New(l.t.Context(), l.config, machineroom.Options{
		Dir: dir, BootTime: 300 * time.Millisecond, ShutdownTime: 200 * time.Millisecond,
		LeaseInterval: time.Second, StatusInterval: 500 * time.Millisecond,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		if err := room.Stop(); err != nil {
			l.t.Error(err)
		}
	})
	return room
}

// machine adds a machine whose kubeNode bears the lab's name.
func (l *lab) machine(spec machineroom.Machine) *machineroom.Metal {
	l.t.Helper()
	spec.KubernetesNodeName = spec.Name + "-" + l.namespace
	m, err := l.AddMachine(spec)
	if err != nil {
		l.t.Fatal(err)
	}
	return m
}

func (l *lab) press(m *machineroom.Metal, action machineroom.Action) {
	l.t.Helper()
	if err := m.Press(l.t.Context(), action, "test"); err != nil {
		l.t.Fatal(err)
	}
}

// happens waits for an event later than seq.
func (l *lab) happens(m *machineroom.Metal, seq int64, kind machineroom.Kind) machineroom.Event {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(l.t.Context(), patience)
	defer cancel()
	event, err := l.WaitFor(ctx, machineroom.Of(m.Name()), machineroom.Is(kind), machineroom.After(seq))
	if err != nil {
		l.t.Fatalf("%s of %s: %v", kind, m.Name(), err)
	}
	return event
}

// turnOn boots a machine and waits until it is Ready.
func (l *lab) turnOn(m *machineroom.Metal) {
	l.t.Helper()
	seq := l.LastSeq()
	l.press(m, machineroom.ActionOn)
	l.happens(m, seq, machineroom.Ready)
}

// until waits for what holds to hold; its string says what is missing.
func (l *lab) until(what string, holds func(context.Context) (string, bool)) {
	l.t.Helper()
	missing := "nothing was seen"
	err := wait.PollUntilContextTimeout(l.t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		var done bool
		missing, done = holds(ctx)
		return done, nil
	})
	if err != nil {
		l.t.Fatalf("waiting until %s: %s", what, missing)
	}
}

func (l *lab) node(ctx context.Context, name string) *corev1.Node {
	node, err := l.client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return node
}

func readyOf(kubeNode *corev1.Node) corev1.NodeCondition {
	if kubeNode != nil {
		for _, condition := range kubeNode.Status.Conditions {
			if condition.Type == corev1.NodeReady {
				return condition
			}
		}
	}
	return corev1.NodeCondition{}
}

func (l *lab) untilReadyIs(name string, status corev1.ConditionStatus) {
	l.t.Helper()
	l.until(fmt.Sprintf("node %s is Ready=%s", name, status), func(ctx context.Context) (string, bool) {
		ready := readyOf(l.node(ctx, name))
		return fmt.Sprintf("Ready=%s %s", ready.Status, ready.Reason), ready.Status == status
	})
}

// startPod makes a pod that is bound to a node from the start, as a DaemonSet's may be.
func (l *lab) startPod(name, kubeNode string, change func(*corev1.Pod)) {
	l.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: l.namespace},
		Spec: corev1.PodSpec{
			NodeName:                     kubeNode,
			AutomountServiceAccountToken: new(false),
			Tolerations:                  []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
			Containers:                   []corev1.Container{{Name: "main", Image: "registry.example/app"}},
		},
	}
	if change != nil {
		change(pod)
	}
	if _, err := l.client.CoreV1().Pods(l.namespace).Create(l.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) pod(ctx context.Context, name string) *corev1.Pod {
	pod, err := l.client.CoreV1().Pods(l.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return pod
}

func (l *lab) untilPod(name, what string, holds func(*corev1.Pod) bool) *corev1.Pod {
	l.t.Helper()
	var pod *corev1.Pod
	l.until("pod "+name+" "+what, func(ctx context.Context) (string, bool) {
		if pod = l.pod(ctx, name); pod == nil {
			return "there is no such pod", false
		}
		return fmt.Sprintf("phase %s, containers %+v", pod.Status.Phase, pod.Status.ContainerStatuses), holds(pod)
	})
	return pod
}

func (l *lab) untilPodIsGone(name string) {
	l.t.Helper()
	l.until("pod "+name+" is gone", func(ctx context.Context) (string, bool) {
		_, err := l.client.CoreV1().Pods(l.namespace).Get(ctx, name, metav1.GetOptions{})
		return "it is there", apierrors.IsNotFound(err)
	})
}

func running(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return pod.Status.Phase == corev1.PodRunning && condition.Status == corev1.ConditionTrue
		}
	}
	return false
}

// logs asks the API server, which asks the node.
func (l *lab) logs(pod string, opts *corev1.PodLogOptions) string {
	l.t.Helper()
	stream, err := l.client.CoreV1().Pods(l.namespace).GetLogs(pod, opts).Stream(l.t.Context())
	if err != nil {
		l.t.Fatalf("reading the log of %s: %v", pod, err)
	}
	defer func() { _ = stream.Close() }()
	text, err := io.ReadAll(stream)
	if err != nil {
		l.t.Fatalf("reading the log of %s: %v", pod, err)
	}
	return strings.TrimSpace(string(text))
}
