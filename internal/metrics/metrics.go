// Package metrics declares what the process counts.
package metrics

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

const namespace = "homelab_autoscaler"

// Metrics are the counters of one process.
type Metrics struct {
	finished   *prometheus.CounterVec
	boot       *prometheus.HistogramVec
	budget     *prometheus.HistogramVec
	jobs       *prometheus.CounterVec
	assumedOff *prometheus.CounterVec
	vanished   *prometheus.CounterVec
	refused    *prometheus.CounterVec
	rpc        *prometheus.HistogramVec
	expiry     *prometheus.GaugeVec
}

// New registers the metrics. Managers that share a process and a registry share the metrics.
func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		finished: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "claims_finished_total",
			Help: "Claims that ended, by group, phase and reason."}, []string{"group", "phase", "reason"}),
		boot: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "boot_seconds",
			Help:    "Time from the request for a machine to its readiness, or to the failure of the boot, by group and outcome.",
			Buckets: []float64{5, 15, 30, 60, 90, 120, 180, 240, 300, 420, 600, 900, 1200, 1800}}, []string{"group", "outcome"}),
		budget: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "boot_budget_ratio",
			Help:    "Time from the request for a machine to its readiness as a part of the time it had, by group.",
			Buckets: []float64{.1, .2, .3, .4, .5, .6, .7, .8, .9, 1}}, []string{"group"}),
		jobs: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "lifecycle_jobs_finished_total",
			Help: "Lifecycle Jobs that ended, by group, operation and outcome."}, []string{"group", "operation", "outcome"}),
		assumedOff: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "machines_assumed_off_total",
			Help: "Machines that are taken to be off because every shutdown Job was spent without a sign of life, by group."}, []string{"group"}),
		vanished: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "claims_vanished_total",
			Help: "Claims that went while a machine was theirs, since somebody took their finalizer off, by group."}, []string{"group"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: "writes_refused_total",
			Help: "Writes that the API server refused because the decision behind them was outdated, by class."}, []string{"class"}),
		rpc: prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: "provider_rpc_seconds",
			Help:    "Time to answer a call of cluster-autoscaler, by method and gRPC code.",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .05, .25, 1, 2.5, 5, 10}}, []string{"method", "code"}),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "certificate_expiry_timestamp_seconds",
			Help: "When the certificate of a port ends."}, []string{"port"}),
	}
	err := errors.Join(register(registry, &m.finished), register(registry, &m.boot), register(registry, &m.budget),
		register(registry, &m.jobs), register(registry, &m.assumedOff), register(registry, &m.vanished), register(registry, &m.refused), register(registry, &m.rpc),
		register(registry, &m.expiry))
	if err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return m, nil
}

// Of makes every series that is registered through it say which namespace it tells of, since one Prometheus may scrape the
// managers of several. The label is "namespace", as kube-state-metrics has it: where Prometheus puts the scraped pod's
// namespace under that name, honor_labels keeps ours.
func Of(served string, registry prometheus.Registerer) prometheus.Registerer {
	return prometheus.WrapRegistererWith(prometheus.Labels{"namespace": served}, registry)
}

// BuildInfo tells which version runs, as a series whose value is always 1.
func BuildInfo(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "What this process was built from.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()}}, func() float64 { return 1 })
}

// register registers a collector, or takes the one that is registered under its name already.
func register[C prometheus.Collector](registry prometheus.Registerer, collector *C) error {
	err := registry.Register(*collector)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		existing, ok := already.ExistingCollector.(C)
		if !ok {
			return err
		}
		*collector = existing
		return nil
	}
	return err
}

// Refused counts a write that was refused because the decision behind it was outdated.
func (m *Metrics) Refused(class string) { m.refused.WithLabelValues(class).Inc() }

// Answered counts a call of the provider. Methods and codes are those of the protocol, never a client's own words.
func (m *Metrics) Answered(method, code string, took time.Duration) {
	m.rpc.WithLabelValues(method, code).Observe(took.Seconds())
}

// Certificate tells when the certificate that a port serves ends.
func (m *Metrics) Certificate(port string, end time.Time) {
	m.expiry.WithLabelValues(port).Set(seconds(end))
}

// ClaimSaved counts what a saved claim status tells for the first time.
func (m *Metrics) ClaimSaved(before *v2.NodeClaim, after v2.NodeClaimStatus) {
	group, was := before.Spec.Request.Group, facts.Phase(before)
	switch {
	case after.Phase == was:
	case after.Phase == v2.ClaimFailed, after.Phase == v2.ClaimCompleted:
		m.finished.WithLabelValues(group, string(after.Phase), string(after.Reason)).Inc()
		if after.Phase == v2.ClaimFailed && was == v2.ClaimBooting && after.FinishedAt != nil {
			m.boot.WithLabelValues(group, "failed").Observe(after.FinishedAt.Sub(facts.RequestedAt(before)).Seconds())
		}
	case after.Phase == v2.ClaimReady && was == v2.ClaimBooting && after.ReadyAt != nil:
		m.ready(before, after.ReadyAt.Sub(facts.RequestedAt(before)))
	}
	if assumedOff(after.Conditions) && !assumedOff(before.Status.Conditions) {
		m.assumedOff.WithLabelValues(group).Inc()
	}
	for _, record := range after.Jobs {
		if record.Outcome != "" && !ended(before.Status.Jobs, record) {
			m.jobs.WithLabelValues(group, string(record.Operation), string(record.Outcome)).Inc()
		}
	}
}

// SlotSaved counts a claim that went while a machine was its own, when a saved slot status first tells of it.
func (m *Metrics) SlotSaved(before *v2.Node, after v2.NodeStatus) {
	was, is := before.Status.LastClaim, after.LastClaim
	if was == nil || is == nil || was.Name != is.Name || was.Phase == is.Phase || was.Phase == v2.ClaimCompleted {
		return
	}
	// A claim that a person deletes is completed; only one that is gone without an end is closed as failed.
	if is.Phase == v2.ClaimFailed && is.Reason == v2.ReasonDeletedByHand {
		m.vanished.WithLabelValues(is.Request.Group).Inc()
	}
}

// ready counts a boot that reached ready. A claim without a deadline had no budget to measure it by.
func (m *Metrics) ready(claim *v2.NodeClaim, took time.Duration) {
	group := claim.Spec.Request.Group
	m.boot.WithLabelValues(group, "ready").Observe(took.Seconds())
	if deadline := claim.Spec.DeadlineAt; deadline != nil && deadline.After(facts.RequestedAt(claim)) {
		m.budget.WithLabelValues(group).Observe(took.Seconds() / deadline.Sub(facts.RequestedAt(claim)).Seconds())
	}
}

// assumedOff is whether the machine's power-off was never seen.
func assumedOff(conditions []metav1.Condition) bool {
	off := meta.FindStatusCondition(conditions, v2.ConditionMachineObservedOff)
	return off != nil && off.Status == metav1.ConditionUnknown && off.Reason == "AssumedOff"
}

func ended(records []v2.JobRecord, record v2.JobRecord) bool {
	for _, r := range records {
		if r.Operation == record.Operation && r.N == record.N {
			return r.Outcome != ""
		}
	}
	return false
}
