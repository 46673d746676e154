package provider

import (
	"context"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// NodeGroupTemplateNodeInfo is the node that one more machine would become, in both generations' fields.
func (s *Server) NodeGroupTemplateNodeInfo(_ context.Context, request *pb.NodeGroupTemplateNodeInfoRequest) (*pb.NodeGroupTemplateNodeInfoResponse, error) {
	answer, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	template, err := answer.Template()
	if err != nil {
		return nil, err
	}
	return &pb.NodeGroupTemplateNodeInfoResponse{NodeInfo: template, NodeBytes: template}, nil
}
