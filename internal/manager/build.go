package manager

import (
	"context"
	"fmt"

	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/config"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"homecluster.dev/autoscaler/internal/controller/group"
	"homecluster.dev/autoscaler/internal/controller/slot"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
)

// leaseName is the Lease by which replicas elect their leader.
const leaseName = "homelab-autoscaler"

// build makes the controllers and the provider on top of a cache that is not filled yet.
func (m *Manager) build(ctx context.Context) (ctrl.Manager, error) {
	mgr, err := ctrl.NewManager(m.rest, m.options())
	if err != nil {
		return nil, fmt.Errorf("building the manager: %w", err)
	}
	if err := kube.AddIndexes(ctx, mgr.GetFieldIndexer()); err != nil {
		return nil, err
	}
	if err := fill(ctx, mgr.GetCache()); err != nil {
		return nil, err
	}
	live := kube.NewLive(mgr.GetAPIReader())
	shared := tools{live: live, writer: kube.NewWriter(mgr.GetClient(), live)}
	if shared.metrics, err = metrics.New(metrics.Of(m.config.Namespace, ctrlmetrics.Registry)); err != nil {
		return nil, err
	}
	if err := m.addState(mgr); err != nil {
		return nil, err
	}
	if err := m.addEvents(mgr, &shared); err != nil {
		return nil, err
	}
	for _, add := range []func(ctrl.Manager, tools) error{m.addControllers, m.addProvider, m.addCertificate, m.addWebhook} {
		if err := add(mgr, shared); err != nil {
			return nil, err
		}
	}
	m.ready.when(m.answers)
	return mgr, nil
}

// tools are what controllers and provider share.
type tools struct {
	live    *kube.Live
	writer  *kube.Writer
	events  *kube.Events
	metrics *metrics.Metrics
}

func (m *Manager) options() ctrl.Options {
	lease := m.config.LeaderElection
	return ctrl.Options{
		Scheme: m.scheme,
		Logger: m.log,
		Cache:  cacheOptions(m.config.Namespace),
		// Probes and metrics are served by the manager itself: they have something to say before this is built.
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		LeaderElection:          lease.Enabled,
		LeaderElectionID:        leaseName,
		LeaderElectionNamespace: m.config.Namespace,
		// The lease is let go when the controllers have stopped, so that a successor need not wait for it to run out.
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 &lease.LeaseDuration,
		RenewDeadline:                 &lease.RenewDeadline,
		RetryPeriod:                   &lease.RetryPeriod,
		GracefulShutdownTimeout:       ptr.To(grace),
		// Several managers may run in one process, in tests and in the sandbox.
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	}
}

func (m *Manager) addEvents(mgr ctrl.Manager, t *tools) error {
	clients, err := kubernetes.NewForConfigAndClient(m.rest, mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("building the event client: %w", err)
	}
	if t.events, err = kube.NewEvents(clients.EventsV1()); err != nil {
		return err
	}
	if err := mgr.Add(t.events); err != nil {
		return fmt.Errorf("adding the event recorder: %w", err)
	}
	return nil
}

func (m *Manager) addControllers(mgr ctrl.Manager, t tools) error {
	slots := &slot.Reconciler{
		Observer:  slot.Observer{Cache: mgr.GetCache(), Live: t.live, Clock: m.clock, Base: m.policy},
		Committer: slot.Committer{Live: t.live, Writer: t.writer, Brake: &slot.Brake{}, Publish: t.events.Publish, Metrics: t.metrics},
	}
	if err := slots.Setup(mgr, m.config.Namespace); err != nil {
		return err
	}
	groups := &group.Reconciler{Cache: mgr.GetCache(), Live: t.live, Writer: t.writer, Metrics: t.metrics, Clock: m.clock, Base: m.policy}
	return groups.Setup(mgr, m.config.Namespace)
}
