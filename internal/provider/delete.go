package provider

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/kube"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

const (
	// deletesAtOnce bounds the claims that one call writes at once.
	deletesAtOnce = 8
	// firstPause and maxPause are the waits between the tries of one write, which go on until the call's deadline.
	firstPause, maxPause = 20 * time.Millisecond, 500 * time.Millisecond
)

// NodeGroupDeleteNodes gives machines back: each claim is marked with the call and the nodes, then deleted, which its
// finalizer turns into a reversal. Nothing is written before the whole batch is found good, and a batch that was carried
// out in part is finished by the same call again.
func (s *Server) NodeGroupDeleteNodes(ctx context.Context, request *pb.NodeGroupDeleteNodesRequest) (*pb.NodeGroupDeleteNodesResponse, error) {
	refs, err := nodeRefs(request.GetNodes())
	if err != nil {
		return nil, err
	}
	view, release, err := s.begin(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	defer release()
	plan, err := pool.PlanDelete(view, refs)
	if err != nil {
		return nil, err
	}
	if err := s.giveBack(ctx, plan, spoken(refs)); err != nil {
		return nil, err
	}
	logr.FromContextOrDiscard(ctx).Info("machines given back", "group", view.Name, "nodes", spoken(refs), "claims", names(plan.Claims))
	return &pb.NodeGroupDeleteNodesResponse{}, nil
}

func (s *Server) giveBack(ctx context.Context, plan pool.Deletion, nodes []string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(deletesAtOnce)
	for _, claim := range plan.Errored {
		group.Go(func() error {
			return s.endErrored(ctx, claim, v2.ClaimEnd{Call: v2.CallDeleteNodes, Nodes: nodes, By: requester})
		})
	}
	for _, claim := range plan.Claims {
		group.Go(func() error { return s.endLive(ctx, claim, nodes) })
	}
	return group.Wait()
}

// endLive marks a claim and deletes it, unless it ended meanwhile.
func (s *Server) endLive(ctx context.Context, claim *v2.NodeClaim, nodes []string) error {
	return s.untilDone(ctx, claim, func(claim *v2.NodeClaim) error {
		if !facts.Live(claim) {
			return nil
		}
		if claim.Spec.Request.Call != v2.CallDeleteNodes && claim.DeletionTimestamp == nil {
			marked, err := s.writer.MarkDeleteNodes(ctx, claim, nodes)
			if err != nil {
				return err
			}
			s.store.Wrote(marked)
			claim = marked
		}
		if claim.DeletionTimestamp != nil {
			return nil
		}
		if err := s.writer.DeleteClaim(ctx, claim); err != nil {
			return err
		}
		s.store.Deleted(claim)
		return nil
	})
}

// endErrored takes a failed boot out of the target.
func (s *Server) endErrored(ctx context.Context, claim *v2.NodeClaim, end v2.ClaimEnd) error {
	return s.untilDone(ctx, claim, func(claim *v2.NodeClaim) error {
		if claim.Status.EndedBy != nil {
			return nil
		}
		ended, err := s.writer.EndErrored(ctx, claim, end)
		if err == nil {
			s.store.Wrote(ended)
		}
		return err
	})
}

// untilDone repeats what writes to a claim, each time on the claim as it is by then, until it is done, the claim is gone,
// nothing more helps, or the call's deadline has come.
func (s *Server) untilDone(ctx context.Context, claim *v2.NodeClaim, do func(*v2.NodeClaim) error) error {
	uid, name := claim.UID, claim.Name
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		err := do(claim)
		switch kube.Classify(err) {
		case kube.None, kube.Gone:
			return nil
		case kube.Conflict, kube.Transient:
		default:
			return err
		}
		if waitErr := s.wait(ctx, pause); waitErr != nil {
			return fmt.Errorf("ending claim %s: %w (last: %w)", name, waitErr, err)
		}
		now, readErr := s.live.Claim(ctx, s.namespace, name)
		if readErr == nil && (now == nil || now.UID != uid) {
			return nil
		}
		if readErr == nil {
			claim = now
		}
	}
}

// wait passes the time, or the context's end.
func (s *Server) wait(ctx context.Context, pause time.Duration) error {
	timer := s.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// spoken are the names of the nodes as the client used them.
func spoken(refs []pool.NodeRef) []string {
	list := make([]string, len(refs))
	for i, ref := range refs {
		if list[i] = ref.Name; ref.Name == "" {
			list[i] = ref.ProviderID
		}
	}
	return list
}
