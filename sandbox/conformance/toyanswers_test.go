package conformance

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func (t *toy) GPULabel(context.Context, *pb.GPULabelRequest) (*pb.GPULabelResponse, error) {
	return &pb.GPULabelResponse{Label: "toy/accelerator"}, nil
}

func (t *toy) GetAvailableGPUTypes(context.Context, *pb.GetAvailableGPUTypesRequest) (*pb.GetAvailableGPUTypesResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		if g.Accelerated {
			return &pb.GetAvailableGPUTypesResponse{GpuTypes: map[string]*anypb.Any{"toy": {}}}, nil
		}
	}
	return &pb.GetAvailableGPUTypesResponse{}, nil
}

func (t *toy) NodeGroupTemplateNodeInfo(
	_ context.Context, request *pb.NodeGroupTemplateNodeInfoRequest,
) (*pb.NodeGroupTemplateNodeInfoResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	switch {
	case err != nil:
		return nil, err
	case g.Unsized && t.emptyTemplate:
		return &pb.NodeGroupTemplateNodeInfoResponse{}, nil
	case g.Unsized:
		return nil, status.Errorf(codes.Unimplemented, "nobody knows what the machines of %s offer", g.id)
	}
	offers := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi")}
	if !t.templateTakesNoPods {
		offers[corev1.ResourcePods] = resource.MustParse("110")
	}
	labels := map[string]string{corev1.LabelHostname: "h", corev1.LabelArchStable: "arm64", corev1.LabelOSStable: "linux"}
	if g.Accelerated {
		offers[accelerator] = resource.MustParse("1")
	}
	if g.Accelerated || t.labelsEverything {
		labels["toy/accelerator"] = "toy"
	}
	raw, err := (&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: g.machines[0].name, Labels: labels},
		Status:     corev1.NodeStatus{Capacity: offers, Allocatable: offers},
	}).Marshal()
	if t.templateForNewerOnly {
		return &pb.NodeGroupTemplateNodeInfoResponse{NodeBytes: raw}, err
	}
	return &pb.NodeGroupTemplateNodeInfoResponse{NodeInfo: raw, NodeBytes: raw}, err
}

func (t *toy) NodeGroupGetOptions(
	_ context.Context, request *pb.NodeGroupAutoscalingOptionsRequest,
) (*pb.NodeGroupAutoscalingOptionsResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	if err != nil {
		return nil, err
	}
	sent := request.GetDefaults()
	options, durations := &pb.NodeGroupAutoscalingOptions{
		ScaleDownUtilizationThreshold: sent.GetScaleDownUtilizationThreshold(), ScaleDownGpuUtilizationThreshold: sent.GetScaleDownGpuUtilizationThreshold(),
		ZeroOrMaxNodeScaling: t.allOrNothing,
	}, [3]time.Duration{}
	for i, pair := range []struct {
		older *pb.KubernetesDuration
		newer *durationpb.Duration
	}{
		{sent.GetScaleDownUnneededTime(), sent.GetScaleDownUnneededDuration()},
		{sent.GetScaleDownUnreadyTime(), sent.GetScaleDownUnreadyDuration()},
		{sent.GetMaxNodeProvisionTime(), sent.GetMaxNodeProvisionDuration()},
	} {
		durations[i] = time.Duration(pair.older.GetDuration())
		if pair.newer != nil {
			durations[i] = pair.newer.AsDuration()
		}
		if (pair.newer == nil && pair.older == nil || pair.newer != nil && !pair.newer.IsValid()) && !t.takesAbsurdDefaults {
			return nil, status.Error(codes.InvalidArgument, "defaults that are none")
		}
	}
	switch {
	case g.Unneeded:
		durations[0] = overriddenUnneeded
	case !t.alwaysHasOptions && !t.allOrNothing:
		return nil, status.Errorf(codes.Unimplemented, "%s says nothing", g.id)
	}
	older := func(d time.Duration) *pb.KubernetesDuration { return &pb.KubernetesDuration{Duration: int64(d)} }
	options.ScaleDownUnneededDuration, options.ScaleDownUnreadyDuration = durationpb.New(durations[0]), durationpb.New(durations[1])
	options.MaxNodeProvisionDuration = durationpb.New(durations[2])
	if !t.optionsForNewerOnly {
		options.ScaleDownUnneededTime, options.ScaleDownUnreadyTime, options.MaxNodeProvisionTime = older(durations[0]), older(durations[1]), older(durations[2])
	}
	return &pb.NodeGroupAutoscalingOptionsResponse{NodeGroupAutoscalingOptions: options}, nil
}

func (t *toy) PricingNodePrice(_ context.Context, request *pb.PricingNodePriceRequest) (*pb.PricingNodePriceResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	hours, err := t.hours(request.GetStartTimestamp(), request.GetEndTimestamp(), request.GetStartTime(), request.GetEndTime())
	node := request.GetNode()
	if err == nil && node.GetName() == "" && node.GetProviderID() == "" {
		err = status.Error(codes.InvalidArgument, "no node")
	}
	if err != nil {
		return nil, err
	}
	g, m := t.find(node)
	switch {
	case m == nil:
		return nil, status.Errorf(codes.NotFound, "no machine %s", node.GetName())
	case g.Hourly == "":
		return nil, status.Errorf(codes.Unimplemented, "%s has no price", m.name)
	}
	hourly, err := strconv.ParseFloat(g.Hourly, 64)
	return &pb.PricingNodePriceResponse{Price: hourly * hours}, err
}

func (t *toy) PricingPodPrice(_ context.Context, request *pb.PricingPodPriceRequest) (*pb.PricingPodPriceResponse, error) {
	hours, err := t.hours(request.GetStartTimestamp(), request.GetEndTimestamp(), request.GetStartTime(), request.GetEndTime())
	raw := request.GetPodBytes()
	if len(raw) == 0 {
		raw = request.GetPod()
	}
	pod := &corev1.Pod{}
	if err == nil && (len(raw) == 0 || pod.Unmarshal(raw) != nil) {
		err = status.Error(codes.InvalidArgument, "no pod")
	}
	if err != nil {
		return nil, err
	}
	return &pb.PricingPodPriceResponse{Price: 0.05 * hours}, nil
}

// hours is how long a period is.
func (t *toy) hours(start, end *timestamppb.Timestamp, olderStart, olderEnd *pb.KubernetesTime) (float64, error) {
	if start == nil && olderStart != nil && !t.readsNewerTimesOnly {
		start, end = &timestamppb.Timestamp{Seconds: olderStart.GetSeconds()}, &timestamppb.Timestamp{Seconds: olderEnd.GetSeconds()}
	}
	hours := end.AsTime().Sub(start.AsTime()).Hours()
	if start == nil || end == nil || hours <= 0 {
		return 0, status.Error(codes.InvalidArgument, fmt.Sprintf("a period of %v hours", hours))
	}
	return hours, nil
}
