package observer

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
)

// port serves metrics and probes, in plaintext: they hold neither addresses nor credentials.
type port struct{ ready atomic.Bool }

// server takes the address now; it serves as soon as the manager starts, API server or not.
func (p *port) server(ctx context.Context, address string, metrics prometheus.Gatherer) (manager.Runnable, error) {
	if address == config.Off {
		return manager.RunnableFunc(func(ctx context.Context) error { <-ctx.Done(); return nil }), nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("taking the address of --bind-address: %w", err)
	}
	return &manager.Server{Name: "metrics and probes", Listener: listener, ShutdownTimeout: ptr.To(time.Second), Server: &http.Server{
		Handler: p.handler(metrics), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
	}}, nil
}

func (p *port) handler(metrics prometheus.Gatherer) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(metrics, promhttp.HandlerOpts{}))
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !p.ready.Load() {
			http.Error(w, "not ready: no slots and claims are seen yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	return mux
}

// watch is ready once slots and claims are watched.
func (p *port) watch(ctx context.Context, informers cache.Informers) error {
	if watched(ctx, informers, &v2.Node{}) && watched(ctx, informers, &v2.NodeClaim{}) {
		p.ready.Store(true)
		<-ctx.Done()
	}
	return nil
}

// watched waits until a kind is; false: the context ended. What is in the way, the controller says.
func watched(ctx context.Context, informers cache.Informers, kind client.Object) bool {
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		_, err := informers.GetInformer(ctx, kind)
		return err == nil, nil
	}) == nil
}
