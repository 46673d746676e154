package provider

import (
	"context"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// FuzzReads sends any bytes as the request of each read call. No bytes may crash the server, and no answer may be one
// that crashes a client: a code is one the client knows how to take, durations and templates are whole or absent.
func FuzzReads(f *testing.F) {
	server := house(f).Server
	for _, seed := range []message{
		{}, message{}.text(1, "g"), message{}.text(1, "g").bytes(2, message{}.double(1, 0.5).bytes(3, nanoseconds(1)).bytes(4, nanoseconds(2))),
		message{}.bytes(1, message{}.text(1, "homelab://boots").text(2, "homelab://boots")),
		message{}.bytes(1, message{}.text(2, "k-up")).bytes(4, seconds(1)).bytes(5, seconds(3601)),
		message{}.bytes(4, []byte{0x0a, 0x03, 0x0a, 0x01, 'p'}).bytes(5, seconds(1)).bytes(6, seconds(3601)),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx := context.Background()
		read := func(request proto.Message, ask func() (proto.Message, error)) {
			if proto.Unmarshal(raw, request) != nil {
				return
			}
			answer, err := ask()
			switch code := status.Code(toStatus(err)); code {
			case codes.OK:
				if _, err := proto.Marshal(answer); err != nil {
					t.Errorf("%T cannot be sent: %v", answer, err)
				}
			case codes.InvalidArgument, codes.NotFound, codes.Unimplemented, codes.FailedPrecondition:
			default:
				t.Errorf("%T answers %s: %v", request, code, err)
			}
		}
		forNode := &pb.NodeGroupForNodeRequest{}
		read(forNode, func() (proto.Message, error) { return server.NodeGroupForNode(ctx, forNode) })
		nodePrice := &pb.PricingNodePriceRequest{}
		read(nodePrice, func() (proto.Message, error) { return server.PricingNodePrice(ctx, nodePrice) })
		podPrice := &pb.PricingPodPriceRequest{}
		read(podPrice, func() (proto.Message, error) { return server.PricingPodPrice(ctx, podPrice) })
		size := &pb.NodeGroupTargetSizeRequest{}
		read(size, func() (proto.Message, error) { return server.NodeGroupTargetSize(ctx, size) })
		nodes := &pb.NodeGroupNodesRequest{}
		read(nodes, func() (proto.Message, error) { return server.NodeGroupNodes(ctx, nodes) })
		template := &pb.NodeGroupTemplateNodeInfoRequest{}
		read(template, func() (proto.Message, error) {
			answer, err := server.NodeGroupTemplateNodeInfo(ctx, template)
			if err == nil && (len(answer.GetNodeBytes()) == 0 || len(answer.GetNodeInfo()) == 0) {
				t.Error("a template without bytes crashes the client")
			}
			return answer, err
		})
		options := &pb.NodeGroupAutoscalingOptionsRequest{}
		read(options, func() (proto.Message, error) {
			answer, err := server.NodeGroupGetOptions(ctx, options)
			if o := answer.GetNodeGroupAutoscalingOptions(); err == nil && (o.GetScaleDownUnneededTime() == nil ||
				o.GetScaleDownUnreadyDuration() == nil || o.GetMaxNodeProvisionDuration() == nil || o.GetMaxNodeProvisionTime() == nil) {
				t.Error("options without a duration crash the client")
			}
			return answer, err
		})
	})
}
