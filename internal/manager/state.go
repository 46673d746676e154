package manager

import (
	"context"
	"errors"
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/metrics"
)

// addState lets a scrape read the pool from the cache. Each manager has a registry of its own for it, since several may run
// in one process.
func (m *Manager) addState(mgr ctrl.Manager) error {
	state := metrics.NewState(func(ctx context.Context) (*metrics.Pool, error) {
		select {
		case <-mgr.Elected():
			return m.pool(ctx, mgr.GetCache())
		default:
			return nil, nil //nolint:nilnil // a replica that does not lead has no pool to tell of, and that is no error
		}
	})
	if err := metrics.Of(m.config.Namespace, m.state).Register(state); err != nil {
		return fmt.Errorf("registering the metrics of the pool: %w", err)
	}
	return nil
}

// pool lists what the cache holds; the objects are the cache's own.
func (m *Manager) pool(ctx context.Context, cache client.Reader) (*metrics.Pool, error) {
	pool := &metrics.Pool{Now: m.clock.Now()}
	var groups v2.GroupList
	var slots v2.NodeList
	var claims v2.NodeClaimList
	where := []client.ListOption{client.InNamespace(m.config.Namespace), client.UnsafeDisableDeepCopy}
	err := errors.Join(cache.List(ctx, &groups, where...), cache.List(ctx, &slots, where...), cache.List(ctx, &claims, where...))
	if err != nil {
		return nil, fmt.Errorf("listing the pool for the metrics: %w", err)
	}
	pool.Groups, pool.Slots, pool.Claims = groups.Items, slots.Items, claims.Items
	return pool, nil
}
