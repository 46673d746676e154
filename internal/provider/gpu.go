package provider

import (
	"context"

	"google.golang.org/protobuf/types/known/anypb"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// GPULabel is the key that marks a node with an accelerator.
func (s *Server) GPULabel(context.Context, *pb.GPULabelRequest) (*pb.GPULabelResponse, error) {
	return &pb.GPULabelResponse{Label: s.store.World().GPULabel}, nil
}

// GetAvailableGPUTypes lists the accelerators that slots declare. Nobody reads the values, which still must not be nil.
func (s *Server) GetAvailableGPUTypes(context.Context, *pb.GetAvailableGPUTypesRequest) (*pb.GetAvailableGPUTypesResponse, error) {
	types := map[string]*anypb.Any{}
	for _, name := range s.store.World().GPUTypes {
		types[name] = &anypb.Any{}
	}
	return &pb.GetAvailableGPUTypesResponse{GpuTypes: types}, nil
}
