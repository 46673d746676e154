package provider

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// The tests of this package drive the read calls over a real gRPC connection, from a snapshot that is fed as informers
// would feed it. Calls that write need an API server, and have their tests in the sandbox.

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

type fixture struct {
	*Server
	client pb.CloudProviderClient
	clock  *clocktesting.FakeClock
	conn   *grpc.ClientConn
}

// start serves a snapshot of the objects.
func start(t testing.TB, objects ...client.Object) fixture {
	t.Helper()
	clock := clocktesting.NewFakeClock(noon)
	server := New(Config{Namespace: "home", Policy: policy.Default(), Clock: clock, Log: logr.Discard()})
	for _, object := range objects {
		server.store.Observe(object)
	}
	listener := bufconn.Listen(1 << 20)
	grpcServer, healthy := server.register()
	server.serving(healthy, true)
	go func() { _ = grpcServer.Serve(listener) }()
	t.Cleanup(grpcServer.Stop)
	conn, err := grpc.NewClient("passthrough:///provider", grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return listener.DialContext(ctx) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return fixture{Server: server, client: pb.NewCloudProviderClient(conn), clock: clock, conn: conn}
}

func group(name string, edits ...func(*v2.Group)) *v2.Group {
	g := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "home"}}
	for _, edit := range edits {
		edit(g)
	}
	return g
}

func slot(name, group string, edits ...func(*v2.Node)) *v2.Node {
	s := &v2.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "home", UID: types.UID("slot-" + name), Labels: map[string]string{v2.LabelGroup: group},
	}}
	s.Spec.KubernetesNodeName = "k-" + name
	s.Spec.NodeCapacity = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func claim(slot, group string, phase v2.ClaimPhase, edits ...func(*v2.NodeClaim)) *v2.NodeClaim {
	c := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: slot + "-1", Namespace: "home", UID: types.UID("claim-" + slot), ResourceVersion: "10",
		CreationTimestamp: metav1.NewTime(noon.Add(-time.Minute)), Finalizers: []string{v2.FinalizerNodeClaim},
	}}
	c.Spec.SlotRef.Name, c.Spec.Request = slot, v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: group, Delta: 1}
	c.Status.Phase = phase
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func kubeNode(name, providerID string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.NodeSpec{ProviderID: providerID},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func priced(s *v2.Node) { s.Spec.Pricing = &v2.Pricing{HourlyRate: "0.40", PodRate: "0.01"} }
