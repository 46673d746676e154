package observer

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
)

// Run runs the power observer as a process does, until the context ends.
func Run(ctx context.Context, c config.Observer) error {
	log := c.Log.Logger()
	klog.SetLogger(log)
	ctrllog.SetLogger(log)
	reach, err := config.Config{Kubeconfig: c.Kubeconfig}.RestConfig()
	if err != nil {
		return err
	}
	reach.UserAgent = "homelab-autoscaler-power-observer"
	return Serve(ctx, reach, c, Gentle(), log)
}

// Serve runs it against an API server, at that pace.
func Serve(ctx context.Context, reach *rest.Config, c config.Observer, pace Pace, log logr.Logger) error {
	scheme, err := kube.NewScheme()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(patient(reach), ctrl.Options{
		Scheme: scheme, Logger: log,
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{c.Namespace: {}}, DefaultTransform: cache.TransformStripManagedFields(),
		},
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "0",
		Controller:             ctrlconfig.Controller{SkipNameValidation: ptr.To(true)}, // several may run in one process, in tests
	})
	if err != nil {
		return fmt.Errorf("building the power observer: %w", err)
	}
	readings := kube.NewReadings(mgr.GetClient())
	observer := &Observer{
		Clock: kube.Clock{}, Pace: pace, Open: Opener(kube.NewLive(mgr.GetAPIReader())), Save: readings.Save, Chance: rand.Float64, Log: log,
	}
	registry := prometheus.NewRegistry()
	if err := observer.measure(metrics.Of(c.Namespace, registry)); err != nil {
		return err
	}
	if err := (&Watch{Cache: mgr.GetCache(), Observer: observer, Readings: readings}).Setup(mgr); err != nil {
		return err
	}
	port := &port{}
	server, err := port.server(ctx, c.Address, registry)
	if err != nil {
		return err
	}
	watched := manager.RunnableFunc(func(ctx context.Context) error { return port.watch(ctx, mgr.GetCache()) })
	for _, part := range []manager.Runnable{server, watched, observer} {
		if err := mgr.Add(part); err != nil {
			return fmt.Errorf("building the power observer: %w", err)
		}
	}
	log.Info("starting", "namespace", c.Namespace)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}

// patient is a copy with a client-side rate at which no round waits. Each reads a Secret or two and may save what it heard: of
// the library's own rate, five a second, fifty switches that stop to answer at once use up the next half minute.
func patient(reach *rest.Config) *rest.Config {
	reach = rest.CopyConfig(reach)
	if reach.QPS == 0 {
		reach.QPS, reach.Burst = 50, 100
	}
	return reach
}

// measure registers what is counted.
func (o *Observer) measure(registry prometheus.Registerer) error {
	var results []string
	for _, result := range Results {
		results = append(results, string(result))
	}
	polls, err := metrics.NewPolls(registry, results, func() []metrics.Polled {
		var all []metrics.Polled
		for _, count := range o.Counts() {
			polled := metrics.Polled{Group: count.Slot.Labels[v2.LabelGroup], Slot: count.Slot.Name, Rounds: map[string]float64{}, Failed: count.Failed}
			for result, n := range count.Results {
				polled.Rounds[string(result)] = n
			}
			all = append(all, polled)
		}
		return all
	})
	if err != nil {
		return err
	}
	o.Told = func(protocol string, result Result, took time.Duration) { polls.Took(protocol, string(result), took) }
	return nil
}
