package provider

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// crowd is one group of n slots: a third run, a third boot, a third are free.
func crowd(b *testing.B, n int) *Server {
	b.Helper()
	f := start(b, group("g"))
	for i := range n {
		name := "s" + strconv.Itoa(i)
		f.store.Observe(slot(name, "g", priced))
		switch i % 3 {
		case 0:
			f.store.Observe(claim(name, "g", v2.ClaimReady))
			f.store.Observe(kubeNode("k-"+name, "homelab://"+name))
		case 1:
			f.store.Observe(claim(name, "g", v2.ClaimBooting))
		}
	}
	return f.Server
}

// BenchmarkReads measures each read call in process, and the first read after a change, by number of slots.
func BenchmarkReads(b *testing.B) {
	ctx := context.Background()
	defaults := &pb.NodeGroupAutoscalingOptions{
		ScaleDownUnneededTime: &pb.KubernetesDuration{}, ScaleDownUnreadyTime: &pb.KubernetesDuration{},
		MaxNodeProvisionTime: &pb.KubernetesDuration{Duration: 1},
	}
	for _, call := range []struct {
		name string
		do   func(*Server) error
	}{
		{"NodeGroups", func(s *Server) error { return second(s.NodeGroups(ctx, &pb.NodeGroupsRequest{})) }},
		{"NodeGroupForNode", func(s *Server) error {
			return second(s.NodeGroupForNode(ctx, &pb.NodeGroupForNodeRequest{Node: &pb.ExternalGrpcNode{Name: "k-s6", ProviderID: "homelab://s6"}}))
		}},
		{"NodeGroupTargetSize", func(s *Server) error {
			return second(s.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: "g"}))
		}},
		{"NodeGroupNodes", func(s *Server) error { return second(s.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: "g"})) }},
		{"NodeGroupTemplateNodeInfo", func(s *Server) error {
			return second(s.NodeGroupTemplateNodeInfo(ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: "g"}))
		}},
		{"NodeGroupGetOptions", func(s *Server) error {
			return second(s.NodeGroupGetOptions(ctx, &pb.NodeGroupAutoscalingOptionsRequest{Id: "g", Defaults: defaults}))
		}},
		{"GPULabel", func(s *Server) error { return second(s.GPULabel(ctx, &pb.GPULabelRequest{})) }},
		{"first read after a change", func(s *Server) error {
			s.store.Observe(claim("s1", "g", v2.ClaimBooting))
			return second(s.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: "g"}))
		}},
	} {
		for _, n := range []int{10, 100, 1000, 10000} {
			b.Run(fmt.Sprintf("%s/slots=%d", call.name, n), func(b *testing.B) {
				server := crowd(b, n)
				if err := call.do(server); err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				for b.Loop() {
					if err := call.do(server); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
