package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Polls tell what became of asking power switches. What is told of a slot comes and goes with its line, so that no series
// outlives the slot.
type Polls struct {
	took    *prometheus.HistogramVec
	results []string
	observe func() []Polled
}

// Polled is what there is to tell of one slot's switch.
type Polled struct {
	Group, Slot string
	// Rounds counts by result.
	Rounds map[string]float64
	// Failed counts the rounds in a row that came to nothing.
	Failed int
}

var (
	powerPolls = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "power_polls_total"),
		"Rounds of asking the slot's power switch, by what came of them.", append(slotLabels, "result"), nil)
	powerPollsFailed = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "power_polls_failed_in_a_row"),
		"Rounds in a row in which the slot's power switch could not be read.", slotLabels, nil)
)

// NewPolls registers the metrics. The results are all that there can be; each has its series from the beginning.
func NewPolls(registry prometheus.Registerer, results []string, observe func() []Polled) (*Polls, error) {
	p := &Polls{results: results, observe: observe, took: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Namespace: namespace, Name: "power_poll_seconds", Help: "Time that a round of asking a power switch took, by protocol and result.",
		Buckets: []float64{.01, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
	}, []string{"protocol", "result"})}
	for _, collector := range []prometheus.Collector{p.took, p} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of switches: %w", err)
		}
	}
	return p, nil
}

// Took counts one round.
func (p *Polls) Took(protocol, result string, took time.Duration) {
	p.took.WithLabelValues(protocol, result).Observe(took.Seconds())
}

// Describe sends every description.
func (p *Polls) Describe(ch chan<- *prometheus.Desc) {
	ch <- powerPolls
	ch <- powerPollsFailed
}

// Collect tells of each slot.
func (p *Polls) Collect(ch chan<- prometheus.Metric) {
	for _, polled := range p.observe() {
		for _, result := range p.results {
			ch <- prometheus.MustNewConstMetric(powerPolls, prometheus.CounterValue, polled.Rounds[result], polled.Group, polled.Slot, result)
		}
		ch <- prometheus.MustNewConstMetric(powerPollsFailed, prometheus.GaugeValue, float64(polled.Failed), polled.Group, polled.Slot)
	}
}
