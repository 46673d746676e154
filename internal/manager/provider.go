package manager

import (
	"fmt"

	ctrl "sigs.k8s.io/controller-runtime"

	"homecluster.dev/autoscaler/internal/provider"
)

// addProvider adds the gRPC server. It answers on every replica once the caches are filled, and then the manager is ready.
func (m *Manager) addProvider(mgr ctrl.Manager, t tools) error {
	server := provider.New(provider.Config{
		Namespace: m.config.Namespace, Policy: m.policy, Informers: mgr.GetCache(), Live: t.live, Writer: t.writer,
		Clock: m.clock, Log: m.log.WithName("provider"),
	})
	if err := mgr.Add(server.Runnable(m.grpc)); err != nil {
		return fmt.Errorf("adding the provider: %w", err)
	}
	m.answers = server.Ready
	m.ready.when(m.answers)
	return nil
}
