package provider

import (
	"context"

	"github.com/go-logr/logr"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// Refresh opens a round of the client. The snapshot is always current, and an error would end the round for every group.
func (s *Server) Refresh(context.Context, *pb.RefreshRequest) (*pb.RefreshResponse, error) {
	return &pb.RefreshResponse{}, nil
}

// Cleanup is the client's goodbye. Claims outlive it: another client takes over what it finds.
func (s *Server) Cleanup(ctx context.Context, _ *pb.CleanupRequest) (*pb.CleanupResponse, error) {
	logr.FromContextOrDiscard(ctx).Info("the client says goodbye")
	return &pb.CleanupResponse{}, nil
}
