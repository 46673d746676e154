package provider

import (
	"context"

	"github.com/go-logr/logr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// NodeGroupDecreaseTargetSize takes pending claims back, oldest first, and never more than there are.
func (s *Server) NodeGroupDecreaseTargetSize(
	ctx context.Context, request *pb.NodeGroupDecreaseTargetSizeRequest,
) (*pb.NodeGroupDecreaseTargetSizeResponse, error) {
	view, release, err := s.begin(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	defer release()
	plan, err := pool.PlanDecrease(view, request.GetDelta())
	if err != nil {
		return nil, err
	}
	if err := s.cancel(ctx, view, plan); err != nil {
		return nil, err
	}
	return &pb.NodeGroupDecreaseTargetSizeResponse{}, nil
}

// cancel carries the plan out. A claim that was committed meanwhile stays; if that leaves nothing cancelled, the call has
// done nothing and says so.
func (s *Server) cancel(ctx context.Context, view pool.View, plan pool.Cancellation) error {
	var last error
	cancelled := 0
	for _, claim := range plan.Errored {
		end := v2.ClaimEnd{Call: v2.CallDecreaseTargetSize, By: requester}
		if err := s.endErrored(ctx, claim, end); err != nil {
			last = err
			continue
		}
		cancelled++
	}
	for _, claims := range plan.Pending {
		all := true
		for _, claim := range claims {
			gone, err := s.withdraw(ctx, claim)
			if err != nil {
				last = err
			}
			all = all && gone
		}
		if all {
			cancelled++
		}
	}
	logr.FromContextOrDiscard(ctx).Info("requests taken back", "group", view.Name, "planned", plan.Size(), "done", cancelled)
	switch {
	case cancelled > 0 || plan.Size() == 0:
		return nil
	case last != nil:
		return last
	}
	return pool.Faultf(pool.Busy, "group %s has nothing to cancel any more: its pending claims were committed meanwhile", view.Name)
}
