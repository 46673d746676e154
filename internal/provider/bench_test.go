package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// sizes are the numbers of slots that each call is measured at.
var sizes = []int{10, 100, 1000, 10000}

// crowd is one group of n slots: a third run, a third boot, a third are free.
func crowd(n int) (objects []client.Object) {
	objects = append(objects, group("g"))
	for i := range n {
		name := "s" + strconv.Itoa(i)
		objects = append(objects, slot(name, "g", priced))
		switch i % 3 {
		case 0:
			objects = append(objects, claim(name, "g", v2.ClaimReady), kubeNode("k-"+name, "homelab://"+name))
		case 1:
			objects = append(objects, claim(name, "g", v2.ClaimBooting))
		}
	}
	return objects
}

// measured is one call as the benchmark makes it, in a crowd of n slots.
type measured struct {
	name string
	in   func(b *testing.B, n int) func() error
}

// read is a call that the snapshot answers.
func read(name string, do func(context.Context, *Server) error) measured {
	return measured{name, func(b *testing.B, n int) func() error {
		b.Helper()
		server := start(b, crowd(n)...).Server
		return func() error { return do(b.Context(), server) }
	}}
}

// plan is what a call that writes decides, from all objects as it reads them. The rest of its time is the API server's.
func plan(name string, decide func(pool.View) error) measured {
	return measured{name, func(b *testing.B, n int) func() error {
		b.Helper()
		from := pool.Objects{KubeNodes: map[string]*corev1.Node{}}
		for _, object := range crowd(n) {
			switch o := object.(type) {
			case *v2.Group:
				from.Group = o
			case *v2.Node:
				from.Slots = append(from.Slots, o)
			case *v2.NodeClaim:
				from.Claims = append(from.Claims, o)
			case *corev1.Node:
				from.KubeNodes[o.Name] = o
			}
		}
		return func() error { return decide(pool.Assemble(noon, "home", "g", policy.Default(), from)) }
	}}
}

// targetSize is the shortest call that depends on the group's slots.
func targetSize(ctx context.Context, s *Server) error {
	return second(s.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: "g"}))
}

func instances(ctx context.Context, s *Server) error {
	return second(s.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: "g"}))
}

func templateOf(ctx context.Context, s *Server) error {
	return second(s.NodeGroupTemplateNodeInfo(ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: "g"}))
}

// afterAChange makes the call the first one after a claim of one slot changed.
func afterAChange(do func(context.Context, *Server) error) func(context.Context, *Server) error {
	return func(ctx context.Context, s *Server) error {
		s.store.Observe(claim("s1", "g", v2.ClaimBooting))
		return do(ctx, s)
	}
}

func calls(b *testing.B) []measured {
	b.Helper()
	node := &pb.ExternalGrpcNode{Name: "k-s6", ProviderID: "homelab://s6"}
	from, to := timestamppb.New(noon), timestamppb.New(noon.Add(time.Hour))
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
	}}}}}
	podBytes, err := pod.Marshal()
	if err != nil {
		b.Fatal(err)
	}
	defaults := &pb.NodeGroupAutoscalingOptions{
		ScaleDownUnneededTime: &pb.KubernetesDuration{}, ScaleDownUnreadyTime: &pb.KubernetesDuration{},
		MaxNodeProvisionTime: &pb.KubernetesDuration{Duration: 1},
	}
	return []measured{
		read("Refresh", func(ctx context.Context, s *Server) error { return second(s.Refresh(ctx, &pb.RefreshRequest{})) }),
		read("NodeGroups", func(ctx context.Context, s *Server) error { return second(s.NodeGroups(ctx, &pb.NodeGroupsRequest{})) }),
		read("NodeGroupForNode", func(ctx context.Context, s *Server) error {
			return second(s.NodeGroupForNode(ctx, &pb.NodeGroupForNodeRequest{Node: node}))
		}),
		read("NodeGroupTargetSize", targetSize),
		read("NodeGroupNodes", instances),
		read("NodeGroupTemplateNodeInfo", templateOf),
		read("NodeGroupGetOptions", func(ctx context.Context, s *Server) error {
			return second(s.NodeGroupGetOptions(ctx, &pb.NodeGroupAutoscalingOptionsRequest{Id: "g", Defaults: defaults}))
		}),
		read("GPULabel", func(ctx context.Context, s *Server) error { return second(s.GPULabel(ctx, &pb.GPULabelRequest{})) }),
		read("GetAvailableGPUTypes", func(ctx context.Context, s *Server) error {
			return second(s.GetAvailableGPUTypes(ctx, &pb.GetAvailableGPUTypesRequest{}))
		}),
		read("PricingNodePrice", func(ctx context.Context, s *Server) error {
			return second(s.PricingNodePrice(ctx, &pb.PricingNodePriceRequest{Node: node, StartTimestamp: from, EndTimestamp: to}))
		}),
		read("PricingPodPrice", func(ctx context.Context, s *Server) error {
			return second(s.PricingPodPrice(ctx, &pb.PricingPodPriceRequest{PodBytes: podBytes, StartTimestamp: from, EndTimestamp: to}))
		}),
		read("Cleanup", func(ctx context.Context, s *Server) error { return second(s.Cleanup(ctx, &pb.CleanupRequest{})) }),
		read("NodeGroupTargetSize-after-a-change", afterAChange(targetSize)),
		read("NodeGroupNodes-after-a-change", afterAChange(instances)),
		read("NodeGroupTemplateNodeInfo-after-a-change", afterAChange(templateOf)),
		plan("NodeGroupIncreaseSize-decides", func(v pool.View) error { return second(pool.PlanIncrease(v, 1)) }),
		plan("NodeGroupDecreaseTargetSize-decides", func(v pool.View) error {
			// Nothing is pending, and that is found out by reading all of it.
			if _, err := pool.PlanDecrease(v, -1); err == nil {
				return errors.New("a booting claim was given up")
			}
			return nil
		}),
		plan("NodeGroupDeleteNodes-decides", func(v pool.View) error {
			return second(pool.PlanDelete(v, []pool.NodeRef{{ProviderID: "homelab://s6", Name: "k-s6"}}))
		}),
	}
}

// BenchmarkCalls measures each call in process, by number of slots; make bench shows it as a table.
func BenchmarkCalls(b *testing.B) {
	for _, call := range calls(b) {
		for _, n := range sizes {
			b.Run(fmt.Sprintf("%s/slots=%d", call.name, n), func(b *testing.B) { measure(b, call.in(b, n)) })
		}
	}
}

// sample bounds how many calls the 99th percentile is taken from: the list must not become what is measured.
const sample = 1 << 16

func measure(b *testing.B, call func() error) {
	b.Helper()
	// Once ahead, so that what is kept between calls is there.
	if err := call(); err != nil {
		b.Fatal(err)
	}
	took := make([]time.Duration, 0, sample)
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		if len(took) < sample {
			took = append(took, time.Since(began))
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Nanoseconds()), "p50-ns/op")
	b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds()), "p99-ns/op")
}
