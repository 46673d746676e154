package observe_test

import (
	"context"
	"path"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/house"
)

// calls makes every call of the contract, and keeps how long each took, by name.
type calls struct {
	provider pb.CloudProviderClient
	took     map[string][]time.Duration
}

// dial reaches the provider.
func dial(b *testing.B, address string) *calls {
	b.Helper()
	c := &calls{took: map[string][]time.Duration{}}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithUnaryInterceptor(c.intercept))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	c.provider = pb.NewCloudProviderClient(conn)
	return c
}

func (c *calls) intercept(ctx context.Context, method string, in, out any, conn *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	began := time.Now()
	err := invoke(ctx, method, in, out, conn, options...)
	name := path.Base(method)
	c.took[name] = append(c.took[name], time.Since(began))
	return err
}

// often is how many times the calls that read are made for one of each that writes.
const often = 10

// turn makes all calls. What is asked for is taken back at once.
func (c *calls) turn(ctx context.Context) error {
	for range often {
		if err := c.read(ctx); err != nil {
			return err
		}
	}
	// The machines that are on are committed: there is nothing to cancel, which takes reading all of it anew.
	_, err := c.provider.NodeGroupDecreaseTargetSize(ctx, &pb.NodeGroupDecreaseTargetSizeRequest{Id: house.Pool, Delta: -1})
	if status.Code(err) != codes.Unavailable {
		return err
	}
	if _, err := c.provider.NodeGroupIncreaseSize(ctx, &pb.NodeGroupIncreaseSizeRequest{Id: house.Pool, Delta: 1}); err != nil {
		return err
	}
	instances, err := c.provider.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: house.Pool})
	if err != nil {
		return err
	}
	var asked []*pb.ExternalGrpcNode
	for _, instance := range instances.Instances {
		if instance.Status.InstanceState == pb.InstanceStatus_instanceCreating {
			asked = append(asked, &pb.ExternalGrpcNode{ProviderID: instance.Id, Name: strings.TrimPrefix(instance.Id, "homelab://")})
		}
	}
	_, err = c.provider.NodeGroupDeleteNodes(ctx, &pb.NodeGroupDeleteNodesRequest{Id: house.Pool, Nodes: asked})
	return err
}

// read makes the calls that only read.
func (c *calls) read(ctx context.Context) error {
	node := &pb.ExternalGrpcNode{Name: "bmc-0", ProviderID: "homelab://bmc-0"}
	from, to := timestamppb.New(time.Now()), timestamppb.New(time.Now().Add(time.Hour))
	pod, err := (&corev1.Pod{}).Marshal()
	if err != nil {
		return err
	}
	p := c.provider
	for _, call := range []func() error{
		func() error { return second(p.Refresh(ctx, &pb.RefreshRequest{})) },
		func() error { return second(p.NodeGroups(ctx, &pb.NodeGroupsRequest{})) },
		func() error { return second(p.NodeGroupForNode(ctx, &pb.NodeGroupForNodeRequest{Node: node})) },
		func() error {
			return second(p.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: house.Pool}))
		},
		func() error { return second(p.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: house.Pool})) },
		func() error {
			return second(p.NodeGroupTemplateNodeInfo(ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: house.Pool}))
		},
		func() error {
			return second(p.NodeGroupGetOptions(ctx, &pb.NodeGroupAutoscalingOptionsRequest{Id: house.Pool, Defaults: defaults()}))
		},
		func() error { return second(p.GPULabel(ctx, &pb.GPULabelRequest{})) },
		func() error { return second(p.GetAvailableGPUTypes(ctx, &pb.GetAvailableGPUTypesRequest{})) },
		func() error {
			return second(p.PricingNodePrice(ctx, &pb.PricingNodePriceRequest{Node: node, StartTimestamp: from, EndTimestamp: to}))
		},
		func() error {
			return second(p.PricingPodPrice(ctx, &pb.PricingPodPriceRequest{PodBytes: pod, StartTimestamp: from, EndTimestamp: to}))
		},
		func() error { return second(p.Cleanup(ctx, &pb.CleanupRequest{})) },
	} {
		if err := call(); err != nil {
			return err
		}
	}
	return nil
}

func defaults() *pb.NodeGroupAutoscalingOptions {
	return &pb.NodeGroupAutoscalingOptions{ScaleDownUnneededTime: &pb.KubernetesDuration{}, ScaleDownUnreadyTime: &pb.KubernetesDuration{},
		MaxNodeProvisionTime: &pb.KubernetesDuration{Duration: 1}}
}

func second[T any](_ T, err error) error { return err }

// sample is how long the calls took since the last sample.
func (c *calls) sample() sample {
	s := sample{}
	for name, all := range c.took {
		s[name] = map[int]time.Duration{50: percentile(all, 50), 99: percentile(all, 99)}
	}
	c.took = map[string][]time.Duration{}
	return s
}
