package manager

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"homecluster.dev/autoscaler/internal/certs"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
	"homecluster.dev/autoscaler/internal/provider/security"
)

// Options are what a caller may replace. The zero value is the real thing.
type Options struct {
	// Clock is read for every decision and drives no request; nil: the real one.
	Clock clock.Clock
	// Policy is what a group's spec overrides; nil: policy.Default().
	Policy *policy.Policy
	// GRPC, Metrics, Probes and Webhook are listeners to use instead of the addresses in the Config.
	GRPC, Metrics, Probes, Webhook net.Listener
	// Log is where the manager logs; the zero value: nowhere.
	Log logr.Logger
}

// Manager is one process's worth of autoscaler for one namespace. It runs once.
type Manager struct {
	config config.Config
	rest   *rest.Config
	scheme *runtime.Scheme
	clock  clock.Clock
	policy policy.Policy
	log    logr.Logger

	grpc, metrics, probes, webhook net.Listener
	// security is nil when the provider's port is plaintext.
	security *security.Port
	// state is what a scrape is told beside what the process counts.
	state *prometheus.Registry
	// certificate is that of the webhook's and the metrics' ports: from files, or shown once it is made; nil: none is needed.
	certificate certs.Get
	files       *certs.Files
	shown       *certs.Shown
	// measured answers for the metrics.
	measured http.Handler
	ready    readiness
	// checks are nil once those answer who are asked from outside.
	checks []func() error
}

// Run runs the manager as a process does: it reaches the API server as the Config says, logs to standard error, and ends
// with the context.
func Run(ctx context.Context, c config.Config) error {
	log := c.Log.Logger()
	klog.SetLogger(log)
	reach, err := c.RestConfig()
	if err != nil {
		return err
	}
	m, err := New(reach, c, Options{Log: log})
	if err != nil {
		return err
	}
	return m.Run(ctx)
}

// New takes the addresses the manager serves on and reads its certificates, so that a taken port or an unreadable file is
// told before anything starts. It talks to nobody.
func New(reach *rest.Config, c config.Config, o Options) (*Manager, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	m := &Manager{config: c, rest: patient(reach), scheme: scheme, clock: o.Clock, policy: policy.Default(), log: o.Log,
		state: prometheus.NewRegistry()}
	if m.clock == nil {
		m.clock = kube.Clock{}
	}
	if m.log.GetSink() == nil {
		m.log = logr.New(ctrllog.NullLogSink{}) // logr.Discard has no sink, which controller-runtime takes for an oversight
	}
	// The libraries log to one place per process, the first that they are told.
	ctrl.SetLogger(m.log)
	if o.Policy != nil {
		m.policy = *o.Policy
	}
	m.policy.JobPriorityClass = c.JobPriorityClass
	m.policy.PowerImage = cmp.Or(c.PowerImage, powerImage(version, m.policy.PowerImage))
	if err := m.policy.Validate(); err != nil {
		return nil, fmt.Errorf("reading the policy: %w", err)
	}
	for _, prepare := range []func() error{m.secure, m.certify, m.meter} {
		if err := prepare(); err != nil {
			return nil, err
		}
	}
	if err := metrics.Of(m.config.Namespace, m.state).Register(metrics.BuildInfo(Version())); err != nil {
		return nil, fmt.Errorf("registering the version: %w", err)
	}
	m.ready.not("starting")
	return m, m.listen(context.Background(), o)
}

// Run waits for an API server that serves and permits what is needed, then decides until the context ends. Until then,
// and whenever our kinds are not served as we know them, the manager is not ready, says why, and powers nothing.
func (m *Manager) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	served := make(chan struct{})
	go func() { defer close(served); m.serveHTTP(ctx) }()
	err := m.run(ctx)
	m.ready.not("stopping")
	stop()
	<-served
	return errors.Join(err, m.close())
}

func (m *Manager) run(ctx context.Context) error {
	if err := m.await(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	m.ready.not("filling the caches")
	mgr, err := m.build(ctx)
	if err != nil {
		return err
	}
	m.log.Info("starting", "namespace", m.config.Namespace, "version", Version(), "provider", m.GRPCAddress(), "webhook", m.WebhookAddress())
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Beside the manager and not in it: a kind that goes away while the caches fill would keep it from ever looking.
	go func() { stop(m.stayServed(ctx)) }()
	err = mgr.Start(ctx)
	if cause := context.Cause(ctx); unfit(cause) {
		return cause
	}
	if err != nil {
		return fmt.Errorf("running: %w", err)
	}
	return nil
}

// patient is a copy with a client-side rate that never makes a decision wait; the API server has its own fairness.
func patient(reach *rest.Config) *rest.Config {
	reach = rest.CopyConfig(reach)
	if reach.QPS == 0 {
		reach.QPS, reach.Burst = 50, 100
	}
	return reach
}

// grace is how long a stop waits for what is under way.
const grace = 20 * time.Second
