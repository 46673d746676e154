package provider

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func forPeople(g *v2.Group) { g.Spec.Engine = v2.EngineNone }

func broken(g *v2.Group) { g.Spec.ScaleDownUtilizationThreshold = "lots" }

// house is a pool with a machine in each state, a pool of people's and a broken one.
func house(t testing.TB) fixture {
	t.Helper()
	return start(t, given()...)
}

// given are the objects of the house.
func given() []client.Object {
	return []client.Object{
		group("g", func(g *v2.Group) { g.Spec.MinSize = 1 }), group("people", forPeople), group("broken", broken),
		slot("up", "g"), claim("up", "g", v2.ClaimReady), kubeNode("k-up", "k3s://k-up"),
		slot("boots", "g"), claim("boots", "g", v2.ClaimBooting), kubeNode("k-boots", "homelab://boots"),
		slot("down", "g"), claim("down", "g", v2.ClaimReady, func(c *v2.NodeClaim) {
			c.Spec.Request.Call = v2.CallDeleteNodes
		}), kubeNode("k-down", "homelab://down"),
		slot("free", "g"),
		slot("theirs", "people"), claim("theirs", "people", v2.ClaimReady), kubeNode("k-theirs", "homelab://theirs"),
		slot("odd", "broken"), claim("odd", "broken", v2.ClaimReady), kubeNode("k-odd", "homelab://odd"),
	}
}

func TestNodeGroups(t *testing.T) {
	answer, err := house(t).client.NodeGroups(t.Context(), &pb.NodeGroupsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if len(answer.GetNodeGroups()) != 1 {
		t.Fatalf("%d groups, want the one that is offered and sound", len(answer.GetNodeGroups()))
	}
	g := answer.GetNodeGroups()[0]
	if g.GetId() != "g" || g.GetMinSize() != 1 || g.GetMaxSize() != 3 || g.GetDebug() == "" {
		t.Errorf("got %v", g)
	}
}

func TestNodeGroupForNode(t *testing.T) {
	f := house(t)
	for name, test := range map[string]struct {
		node *pb.ExternalGrpcNode
		want string
		code codes.Code
	}{
		"a serving node":             {node: &pb.ExternalGrpcNode{Name: "k-up", ProviderID: "k3s://k-up"}, want: "g"},
		"by our id":                  {node: &pb.ExternalGrpcNode{Name: "k-up", ProviderID: "homelab://up"}, want: "g"},
		"by its name alone":          {node: &pb.ExternalGrpcNode{Name: "k-up"}, want: "g"},
		"a node that boots":          {node: &pb.ExternalGrpcNode{Name: "k-boots", ProviderID: "homelab://boots"}},
		"a node that goes down":      {node: &pb.ExternalGrpcNode{Name: "k-down", ProviderID: "homelab://down"}},
		"a node of no slot":          {node: &pb.ExternalGrpcNode{Name: "control-plane", ProviderID: "k3s://control-plane"}},
		"a node of people's group":   {node: &pb.ExternalGrpcNode{Name: "k-theirs", ProviderID: "homelab://theirs"}},
		"a node of a broken group":   {node: &pb.ExternalGrpcNode{Name: "k-odd", ProviderID: "homelab://odd"}},
		"invented for a boot":        {node: &pb.ExternalGrpcNode{Name: "homelab://boots", ProviderID: "homelab://boots"}, want: "g"},
		"invented for a going one":   {node: &pb.ExternalGrpcNode{Name: "homelab://down", ProviderID: "homelab://down"}, want: "g"},
		"invented for no instance":   {node: &pb.ExternalGrpcNode{Name: "homelab://free", ProviderID: "homelab://free"}},
		"an upcoming copy of a real": {node: &pb.ExternalGrpcNode{Name: "template-node-for-g-1-upcoming-0", ProviderID: "k3s://k-up", Annotations: map[string]string{"cluster-autoscaler.k8s.io/upcoming-node": "true"}}},
		"no node":                    {code: codes.InvalidArgument},
		"a node without a name":      {node: &pb.ExternalGrpcNode{}, code: codes.InvalidArgument},
		"a name beyond reason":       {node: &pb.ExternalGrpcNode{Name: strings.Repeat("x", 2000)}, code: codes.InvalidArgument},
	} {
		t.Run(name, func(t *testing.T) {
			answer, err := f.client.NodeGroupForNode(t.Context(), &pb.NodeGroupForNodeRequest{Node: test.node})
			if status.Code(err) != test.code {
				t.Fatalf("got %v, want %s", err, test.code)
			}
			g := answer.GetNodeGroup()
			if g.GetId() != test.want {
				t.Errorf("group %q, want %q", g.GetId(), test.want)
			}
			if test.want != "" && (g.GetMinSize() != 1 || g.GetMaxSize() != 3) {
				t.Errorf("bounds %d to %d", g.GetMinSize(), g.GetMaxSize())
			}
		})
	}
}

func TestCodesOfReads(t *testing.T) {
	f := house(t)
	c := f.client
	type call func(ctx context.Context, id string) error
	for rpc, ask := range map[string]call{
		"NodeGroupTargetSize": func(ctx context.Context, id string) error {
			_, err := c.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: id})
			return err
		},
		"NodeGroupNodes": func(ctx context.Context, id string) error {
			_, err := c.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: id})
			return err
		},
		"NodeGroupTemplateNodeInfo": func(ctx context.Context, id string) error {
			_, err := c.NodeGroupTemplateNodeInfo(ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: id})
			return err
		},
		"NodeGroupGetOptions": func(ctx context.Context, id string) error {
			_, err := c.NodeGroupGetOptions(ctx, &pb.NodeGroupAutoscalingOptionsRequest{Id: id})
			return err
		},
	} {
		for name, test := range map[string]struct {
			id   string
			code codes.Code
		}{
			"no id": {"", codes.InvalidArgument}, "an unknown group": {"nobody", codes.NotFound}, "a group of people's": {"people", codes.NotFound},
		} {
			t.Run(rpc+", "+name, func(t *testing.T) {
				err := ask(t.Context(), test.id)
				if status.Code(err) != test.code || !strings.Contains(err.Error(), test.id) {
					t.Errorf("got %v, want %s that names %q", err, test.code, test.id)
				}
			})
		}
	}
}

func TestReads(t *testing.T) {
	f, ctx := house(t), t.Context()
	c := f.client
	size, err := c.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: "g"})
	if err != nil || size.GetTargetSize() != 2 {
		t.Errorf("target %d, %v", size.GetTargetSize(), err)
	}
	list, err := c.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: "g"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]pb.InstanceStatus_InstanceState{}
	for _, instance := range list.GetInstances() {
		got[instance.GetId()] = instance.GetStatus().GetInstanceState()
	}
	want := map[string]pb.InstanceStatus_InstanceState{
		"k3s://k-up": pb.InstanceStatus_instanceRunning, "homelab://boots": pb.InstanceStatus_instanceCreating,
		"homelab://down": pb.InstanceStatus_instanceDeleting,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
	for name, err := range map[string]error{
		"Refresh": second(c.Refresh(ctx, &pb.RefreshRequest{})), "Cleanup": second(c.Cleanup(ctx, &pb.CleanupRequest{})),
		"GPULabel":             second(c.GPULabel(ctx, &pb.GPULabelRequest{})),
		"GetAvailableGPUTypes": second(c.GetAvailableGPUTypes(ctx, &pb.GetAvailableGPUTypesRequest{})),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.NodeGroupTemplateNodeInfo(ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: "broken"}); err != nil {
		t.Errorf("a broken group still has a template: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestOptionsAreTheClientsUnlessOverridden(t *testing.T) {
	f := house(t)
	_, err := f.client.NodeGroupGetOptions(t.Context(), &pb.NodeGroupAutoscalingOptionsRequest{Id: "g", Defaults: &pb.NodeGroupAutoscalingOptions{
		ScaleDownUnneededTime: &pb.KubernetesDuration{}, ScaleDownUnreadyTime: &pb.KubernetesDuration{},
		MaxNodeProvisionTime: &pb.KubernetesDuration{Duration: int64(15 * time.Minute)},
	}})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("got %v, want Unimplemented", err)
	}
}

// TestAGroupOfUnknownCapacityIsNotToldOf has a group with a slot that says nothing, a group without any, and a sound one.
func TestAGroupOfUnknownCapacityIsNotToldOf(t *testing.T) {
	silent := func(s *v2.Node) { s.Spec.NodeCapacity = nil }
	f := start(t, group("mute"), slot("a", "mute", silent), claim("a", "mute", v2.ClaimReady), kubeNode("k-a", "homelab://a"),
		group("empty"), group("sound"), slot("b", "sound"), slot("c", "sound", silent))
	for _, id := range []string{"mute", "empty"} {
		_, err := f.client.NodeGroupTemplateNodeInfo(t.Context(), &pb.NodeGroupTemplateNodeInfoRequest{Id: id})
		if status.Code(err) != codes.Unimplemented {
			t.Errorf("the template of %s: got %v, want Unimplemented: an empty answer crashes the client", id, err)
		}
	}
	groups, err := f.client.NodeGroups(t.Context(), &pb.NodeGroupsRequest{})
	if err != nil || len(groups.GetNodeGroups()) != 1 || groups.GetNodeGroups()[0].GetId() != "sound" {
		t.Errorf("told are %v, %v, want the sound one", groups, err)
	}
	of, err := f.client.NodeGroupForNode(t.Context(), &pb.NodeGroupForNodeRequest{
		Node: &pb.ExternalGrpcNode{Name: "k-a", ProviderID: "homelab://a"},
	})
	if err != nil || of.GetNodeGroup().GetId() != "" {
		t.Errorf("the machine is of group %q, %v: the client knows of no such group", of.GetNodeGroup().GetId(), err)
	}
}

func TestHealthAndReflectionAreServed(t *testing.T) {
	f := house(t)
	for _, service := range []string{"", "clusterautoscaler.cloudprovider.v1.externalgrpc.CloudProvider"} {
		answer, err := healthpb.NewHealthClient(f.conn).Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
		if err != nil || answer.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			t.Errorf("health of %q: %v, %v", service, answer.GetStatus(), err)
		}
	}
	server, _ := f.register()
	if _, ok := server.GetServiceInfo()["grpc.reflection.v1.ServerReflection"]; !ok {
		t.Error("no reflection")
	}
	if err := f.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
}

func TestAPanicFailsOneCall(t *testing.T) {
	f := house(t)
	f.store = nil
	var header metadata.MD
	ctx := metadata.AppendToOutgoingContext(t.Context(), requestIDKey, "call-7")
	_, err := f.client.NodeGroups(ctx, &pb.NodeGroupsRequest{}, grpc.Header(&header))
	if status.Code(err) != codes.Internal || !strings.Contains(err.Error(), "call-7") {
		t.Errorf("got %v, want Internal with the request's id", err)
	}
	if diff := cmp.Diff([]string{"call-7"}, header.Get(requestIDKey)); diff != "" {
		t.Errorf("the id did not come back:\n%s", diff)
	}
	if _, err := f.client.Refresh(t.Context(), &pb.RefreshRequest{}); err != nil {
		t.Errorf("the server did not live on: %v", err)
	}
}

func TestDeletedGroupBetweenTwoCalls(t *testing.T) {
	f := house(t)
	f.store.Forget(group("g"))
	answer, err := f.client.NodeGroupForNode(t.Context(), &pb.NodeGroupForNodeRequest{Node: &pb.ExternalGrpcNode{Name: "k-up"}})
	if err != nil || answer.GetNodeGroup() == nil || answer.GetNodeGroup().GetId() != "" {
		t.Errorf("got %v, %v, want an empty id", answer, err)
	}
}
