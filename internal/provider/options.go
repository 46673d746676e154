package provider

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	"homecluster.dev/autoscaler/internal/core/pool"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// NodeGroupGetOptions is the client's defaults with the group's wishes on top, or Unimplemented.
func (s *Server) NodeGroupGetOptions(_ context.Context, request *pb.NodeGroupAutoscalingOptionsRequest) (*pb.NodeGroupAutoscalingOptionsResponse, error) {
	answer, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	defaults, err := readOptions(request.GetDefaults())
	if err != nil {
		return nil, err
	}
	options, err := pool.OptionsFor(answer.View, defaults)
	if err != nil {
		return nil, err
	}
	return &pb.NodeGroupAutoscalingOptionsResponse{NodeGroupAutoscalingOptions: renderOptions(options)}, nil
}

// readOptions reads either generation's fields, the newer first.
func readOptions(from *pb.NodeGroupAutoscalingOptions) (*pool.Options, error) {
	if from == nil {
		return nil, nil
	}
	options := &pool.Options{
		ScaleDownUtilizationThreshold:    from.GetScaleDownUtilizationThreshold(),
		ScaleDownGpuUtilizationThreshold: from.GetScaleDownGpuUtilizationThreshold(),
		ZeroOrMaxNodeScaling:             from.GetZeroOrMaxNodeScaling(),
		IgnoreDaemonSetsUtilization:      from.GetIgnoreDaemonSetsUtilization(),
	}
	for _, field := range []struct {
		name  string
		to    **time.Duration
		newer *durationpb.Duration
		older *pb.KubernetesDuration
	}{
		{"scaleDownUnneededDuration", &options.ScaleDownUnneededTime, from.GetScaleDownUnneededDuration(), from.GetScaleDownUnneededTime()},
		{"scaleDownUnreadyDuration", &options.ScaleDownUnreadyTime, from.GetScaleDownUnreadyDuration(), from.GetScaleDownUnreadyTime()},
		{"MaxNodeProvisionDuration", &options.MaxNodeProvisionTime, from.GetMaxNodeProvisionDuration(), from.GetMaxNodeProvisionTime()},
	} {
		switch {
		case field.newer != nil:
			if err := field.newer.CheckValid(); err != nil {
				return nil, pool.Faultf(pool.Malformed, "defaults.%s: %v", field.name, err)
			}
			*field.to = new(field.newer.AsDuration())
		case field.older != nil:
			*field.to = new(time.Duration(field.older.GetDuration()))
		}
	}
	return options, nil
}

// renderOptions fills both generations' fields. No duration is ever nil: a client would panic on it, or take it for zero.
func renderOptions(options pool.Options) *pb.NodeGroupAutoscalingOptions {
	unneeded, unready := *options.ScaleDownUnneededTime, *options.ScaleDownUnreadyTime
	provision := *options.MaxNodeProvisionTime
	older := func(d time.Duration) *pb.KubernetesDuration { return &pb.KubernetesDuration{Duration: int64(d)} }
	return &pb.NodeGroupAutoscalingOptions{
		ScaleDownUtilizationThreshold:    options.ScaleDownUtilizationThreshold,
		ScaleDownGpuUtilizationThreshold: options.ScaleDownGpuUtilizationThreshold,
		ScaleDownUnneededTime:            older(unneeded),
		ScaleDownUnreadyTime:             older(unready),
		MaxNodeProvisionTime:             older(provision),
		ZeroOrMaxNodeScaling:             options.ZeroOrMaxNodeScaling,
		IgnoreDaemonSetsUtilization:      options.IgnoreDaemonSetsUtilization,
		ScaleDownUnneededDuration:        durationpb.New(unneeded),
		ScaleDownUnreadyDuration:         durationpb.New(unready),
		MaxNodeProvisionDuration:         durationpb.New(provision),
	}
}
