package provider

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// requester is whom claims name as their author.
const requester = "cluster-autoscaler"

// view reads the group from the API server: first the slots and then their claims, so that the episode a new claim gets
// is no older than any claim seen. KubeNodes and Jobs are the snapshot's. What a stale one can do is let a slot be taken
// whose machine is on, which joins, or whose Job still runs, which makes the claim wait.
func (s *Server) view(ctx context.Context, id string) (pool.View, error) {
	if id == "" {
		return pool.View{}, pool.Faultf(pool.Malformed, "the group's id is empty")
	}
	if len(validation.IsDNS1123Subdomain(id)) > 0 {
		return pool.View{}, pool.Faultf(pool.Unknown, "group %s does not exist: no group can have this name", quoted(id))
	}
	group, err := s.live.Group(ctx, s.namespace, id)
	if err != nil {
		return pool.View{}, fmt.Errorf("reading group %s: %w", quoted(id), err)
	}
	if group == nil {
		return pool.View{}, pool.Faultf(pool.Unknown, "group %s does not exist", quoted(id))
	}
	if pool.Engine(group) != v2.EngineClusterAutoscaler {
		return pool.View{}, otherEngine(id)
	}
	objects := pool.Objects{Group: group}
	if objects.Slots, err = s.live.Slots(ctx, s.namespace); err != nil {
		return pool.View{}, err
	}
	if objects.Claims, err = s.live.Claims(ctx, s.namespace); err != nil {
		return pool.View{}, err
	}
	objects.KubeNodes, objects.Jobs = s.store.Machines()
	view := pool.Assemble(s.clock.Now(), s.namespace, id, s.policy, objects)
	if broken := pool.Broken(view); broken != nil {
		return pool.View{}, pool.Faultf(pool.Refused, "group %s is broken: %v", quoted(id), broken)
	}
	return view, nil
}

// begin waits for the group's turn and reads the group as it is then. Without an error the turn must be released.
func (s *Server) begin(ctx context.Context, id string) (view pool.View, release func(), err error) {
	if release, err = s.turns.take(ctx, id); err != nil {
		return pool.View{}, nil, err
	}
	if view, err = s.view(ctx, id); err != nil {
		release()
		return pool.View{}, nil, err
	}
	return view, release, nil
}
