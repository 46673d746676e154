package provider

import (
	"context"
	"fmt"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/kube"
)

// cancelTries bounds how often a cancel meets a claim that changed since it was read.
const cancelTries = 5

// withdraw deletes a claim while it is pending and nobody else ended it, and says whether it is gone or going. The
// preconditions of the delete make sure that a boot that was committed in between is not touched.
func (s *Server) withdraw(ctx context.Context, claim *v2.NodeClaim) (gone bool, err error) {
	for range cancelTries {
		if facts.Phase(claim) != v2.ClaimPending {
			return facts.Terminal(claim), nil
		}
		if claim.DeletionTimestamp != nil {
			return true, nil
		}
		err = s.writer.DeleteClaim(ctx, claim)
		switch kube.Classify(err) {
		case kube.None, kube.Gone:
			s.store.Deleted(claim)
			return true, nil
		case kube.Conflict, kube.Transient:
		default:
			return false, err
		}
		now, readErr := s.live.Claim(ctx, claim.Namespace, claim.Name)
		switch {
		case readErr != nil:
			return false, readErr
		case now == nil || now.UID != claim.UID:
			s.store.Deleted(claim)
			return true, nil
		}
		claim = now
	}
	return false, fmt.Errorf("withdrawing claim %s: it kept changing: %w", claim.Name, err)
}
