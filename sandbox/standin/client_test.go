package standin

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

func TestMain(m *testing.M) { controlplane.Main(m) }

// scripted is a provider that answers as a test tells it, and remembers what it was asked.
type scripted struct {
	externalgrpc.UnimplementedCloudProviderServer
	template []byte
	// onDelete is called inside DeleteNodes, and answers it.
	onDelete func(*externalgrpc.NodeGroupDeleteNodesRequest) error

	mu    sync.Mutex
	calls []string
	asked chan *externalgrpc.NodeGroupIncreaseSizeRequest
	agent string
}

func (s *scripted) Refresh(ctx context.Context, _ *externalgrpc.RefreshRequest) (*externalgrpc.RefreshResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		s.agent = md.Get("user-agent")[0]
	}
	return &externalgrpc.RefreshResponse{}, nil
}

func (s *scripted) NodeGroups(context.Context, *externalgrpc.NodeGroupsRequest) (*externalgrpc.NodeGroupsResponse, error) {
	return &externalgrpc.NodeGroupsResponse{NodeGroups: []*externalgrpc.NodeGroup{{Id: "workers", MaxSize: 4}}}, nil
}

func (s *scripted) NodeGroupForNode(context.Context, *externalgrpc.NodeGroupForNodeRequest) (*externalgrpc.NodeGroupForNodeResponse, error) {
	return &externalgrpc.NodeGroupForNodeResponse{NodeGroup: &externalgrpc.NodeGroup{}}, nil
}

func (s *scripted) NodeGroupTargetSize(context.Context, *externalgrpc.NodeGroupTargetSizeRequest) (*externalgrpc.NodeGroupTargetSizeResponse, error) {
	return &externalgrpc.NodeGroupTargetSizeResponse{}, nil
}

func (s *scripted) NodeGroupNodes(context.Context, *externalgrpc.NodeGroupNodesRequest) (*externalgrpc.NodeGroupNodesResponse, error) {
	return &externalgrpc.NodeGroupNodesResponse{}, nil
}

func (s *scripted) NodeGroupTemplateNodeInfo(context.Context, *externalgrpc.NodeGroupTemplateNodeInfoRequest) (*externalgrpc.NodeGroupTemplateNodeInfoResponse, error) {
	return &externalgrpc.NodeGroupTemplateNodeInfoResponse{NodeBytes: s.template}, nil
}

func (s *scripted) NodeGroupIncreaseSize(_ context.Context, r *externalgrpc.NodeGroupIncreaseSizeRequest) (*externalgrpc.NodeGroupIncreaseSizeResponse, error) {
	select {
	case s.asked <- r:
	default:
	}
	return &externalgrpc.NodeGroupIncreaseSizeResponse{}, nil
}

func (s *scripted) NodeGroupDeleteNodes(_ context.Context, r *externalgrpc.NodeGroupDeleteNodesRequest) (*externalgrpc.NodeGroupDeleteNodesResponse, error) {
	return &externalgrpc.NodeGroupDeleteNodesResponse{}, s.onDelete(r)
}

func (s *scripted) Cleanup(context.Context, *externalgrpc.CleanupRequest) (*externalgrpc.CleanupResponse, error) {
	return &externalgrpc.CleanupResponse{}, nil
}

// note is an interceptor that writes down the order of the calls.
func (s *scripted) note(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	s.mu.Lock()
	s.calls = append(s.calls, info.FullMethod[len("/clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider/"):])
	s.mu.Unlock()
	return next(ctx, request)
}

// serve runs the provider on loopback and is a client of it against the test's API server.
func serve(t *testing.T, s *scripted) *Client {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer(grpc.UnaryInterceptor(s.note))
	externalgrpc.RegisterCloudProviderServer(server, s)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	client, err := New(Options{Config: controlplane.ForTest(t).Config(), Address: listener.Addr().String(),
		Scan: 100 * time.Millisecond, Patience: Defaults(), EvictTimeout: 30 * time.Second,
		Clock: clock.RealClock{}, Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	client.actor.Events = &events.FakeRecorder{}
	return client
}

// register puts a kubeNode and a pod bound to it into the cluster. No kubelet runs either.
func register(t *testing.T, kube kubernetes.Interface, namespace string) (*corev1.Node, *corev1.Pod) {
	t.Helper()
	kubeNode, err := kube.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "worker-1", Labels: map[string]string{"pool": "workers"}, Annotations: map[string]string{"a": "b"}},
		Spec:       corev1.NodeSpec{ProviderID: "homelab://worker-1"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod, err := kube.CoreV1().Pods(namespace).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "latecomer"},
		Spec: corev1.PodSpec{NodeName: kubeNode.Name, TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{Name: "c", Image: "example/c:1"}}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return kubeNode, pod
}

func TestRemoval(t *testing.T) {
	tests := map[string]struct {
		answer   error
		inPlace  bool // whether the kubeNode is back in service in the end
		wantCode codes.Code
	}{
		"a machine given back leaves its kubeNode tainted and cordoned": {},
		"a refusal puts the kubeNode back into service": {
			answer: status.Error(codes.FailedPrecondition, "held"), inPlace: true, wantCode: codes.FailedPrecondition,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			plane := controlplane.ForTest(t)
			plane.ResetAfter(t)
			provider := &scripted{}
			client := serve(t, provider)
			kube := client.actor.Kube
			kubeNode, pod := register(t, kube, plane.Namespace(t))
			var request *externalgrpc.NodeGroupDeleteNodesRequest
			provider.onDelete = func(r *externalgrpc.NodeGroupDeleteNodesRequest) error {
				request = r
				if !outOfService(t, kube) {
					t.Error("DeleteNodes came before the kubeNode was tainted and cordoned")
				}
				if left, err := client.actor.evictable(t.Context(), kubeNode.Name); err != nil || len(left) > 0 {
					t.Errorf("DeleteNodes came with %d pods on the kubeNode (%v); %s should be gone", len(left), err, pod.Name)
				}
				return test.answer
			}
			err := client.actor.Remove(t.Context(), RemoveKubeNode{Group: "workers", KubeNode: kubeNode})
			if got := status.Code(err); test.answer != nil && got != test.wantCode || test.answer == nil && err != nil {
				t.Errorf("error %v, want code %s", err, test.wantCode)
			}
			if got := outOfService(t, kube); got == test.inPlace {
				t.Errorf("the kubeNode is out of service: %t", got)
			}
			want := map[string]string{"name": "worker-1", "id": "homelab://worker-1", "label": "workers", "annotation": "b", "group": "workers"}
			node := request.GetNodes()[0]
			got := map[string]string{"name": node.GetName(), "id": node.GetProviderID(), "label": node.GetLabels()["pool"],
				"annotation": node.GetAnnotations()["a"], "group": request.GetId()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the kubeNode as the provider was told (-want +got):\n%s", diff)
			}
		})
	}
}

func outOfService(t *testing.T, kube kubernetes.Interface) bool {
	t.Helper()
	kubeNode, err := kube.CoreV1().Nodes().Get(t.Context(), "worker-1", metav1.GetOptions{})
	if err != nil {
		t.Error(err)
		return false
	}
	return kubeNode.Spec.Unschedulable && leavingTaint(kubeNode)
}

func TestAPodWithoutAPlaceAsksForAMachine(t *testing.T) {
	plane := controlplane.ForTest(t)
	template, err := node("template", "2").Marshal()
	if err != nil {
		t.Fatal(err)
	}
	provider := &scripted{template: template, asked: make(chan *externalgrpc.NodeGroupIncreaseSizeRequest, 1)}
	client := serve(t, provider)
	waiting := pod("waiting", "1")
	waiting.Namespace, waiting.Status, waiting.CreationTimestamp = plane.Namespace(t), corev1.PodStatus{}, metav1.Time{}
	waiting.Spec.Containers[0].Name, waiting.Spec.Containers[0].Image = "c", "example/c:1"
	if _, err := client.actor.Kube.CoreV1().Pods(waiting.Namespace).Create(t.Context(), waiting, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- client.Run(ctx) }()
	select {
	case request := <-provider.asked:
		if request.GetId() != "workers" || request.GetDelta() != 1 {
			t.Errorf("asked %s for %d, want workers for 1", request.GetId(), request.GetDelta())
		}
	case <-ctx.Done():
		t.Fatal("nothing was asked for in a minute")
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	provider.checkManners(t)
}

// checkManners is the order of a pass on the wire, the goodbye, and that the client says who it is.
func (s *scripted) checkManners(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	want := []string{"Refresh", "NodeGroups", "NodeGroupTemplateNodeInfo", "NodeGroupTargetSize", "NodeGroupNodes", "NodeGroupGetOptions"}
	if diff := cmp.Diff(want, s.calls[:len(want)]); diff != "" {
		t.Errorf("calls of the first pass (-want +got):\n%s", diff)
	}
	if last := s.calls[len(s.calls)-1]; last != "Cleanup" {
		t.Errorf("the last call is %s, want Cleanup", last)
	}
	if asked := slices.Index(s.calls, "NodeGroupIncreaseSize"); s.calls[asked-1] != "NodeGroupGetOptions" {
		t.Errorf("machines were asked for in the middle of a pass: %v", s.calls)
	}
	if want := UserAgent + " "; len(s.agent) < len(want) || s.agent[:len(want)] != want {
		t.Errorf("the client calls itself %q, want %q", s.agent, UserAgent)
	}
}
