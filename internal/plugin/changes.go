package plugin

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// changes tells that something changed, once for any number of changes that nobody has looked at yet. The channel closes
// when the API server ends the watch.
func (s *session) changes(ctx context.Context) (<-chan struct{}, func(), error) {
	cluster, err := s.connect()
	if err != nil {
		return nil, nil, err
	}
	namespace, err := s.namespace()
	if err != nil {
		return nil, nil, err
	}
	slots, err := cluster.Watch(ctx, &v2.NodeList{}, client.InNamespace(namespace))
	if err != nil {
		return nil, nil, fmt.Errorf("watching the slots of namespace %s: %w", namespace, err)
	}
	claims, err := cluster.Watch(ctx, &v2.NodeClaimList{}, client.InNamespace(namespace))
	if err != nil {
		slots.Stop()
		return nil, nil, fmt.Errorf("watching the claims of namespace %s: %w", namespace, err)
	}
	changed := make(chan struct{}, 1)
	go func() {
		defer close(changed)
		for {
			var open bool
			select {
			case _, open = <-slots.ResultChan():
			case _, open = <-claims.ResultChan():
			}
			if !open {
				return
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
	}()
	return changed, func() { slots.Stop(); claims.Stop() }, nil
}
