package metrics

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Pool is every object of the namespace, as a cache holds it. Nothing in it is changed.
type Pool struct {
	Now    time.Time
	Groups []v2.Group
	Slots  []v2.Node
	Claims []v2.NodeClaim
}

// State tells what the objects say at the moment of a scrape, so that a series appears with its object and goes with it.
// Only a replica that leads has a pool to tell of: with two replicas a sum over slots is still the sum of the slots.
type State struct {
	observe func(context.Context) (*Pool, error)
	uptime  *uptime
}

// NewState makes the collector. The function answers nil while another replica leads.
func NewState(observe func(context.Context) (*Pool, error)) *State {
	return &State{observe: observe, uptime: newUptime()}
}

// Describe sends every description: the series are made anew in each scrape, their names and labels never.
func (s *State) Describe(ch chan<- *prometheus.Desc) {
	describe(ch, groupFamilies)
	describe(ch, slotFamilies)
	describe(ch, claimFamilies)
	ch <- slotOnSeconds
	ch <- leader
}

// Collect reads the objects once and tells of each. A cache that cannot be read is an error of the scrape, not of the
// process.
func (s *State) Collect(ch chan<- prometheus.Metric) {
	pool, err := s.observe(context.Background())
	if err != nil {
		ch <- prometheus.NewInvalidMetric(leader, err)
		return
	}
	ch <- prometheus.MustNewConstMetric(leader, prometheus.GaugeValue, truth(pool != nil))
	if pool == nil {
		return
	}
	for i := range pool.Groups {
		tell(ch, groupFamilies, &pool.Groups[i])
	}
	claims := claimsBySlot(pool.Claims)
	for i := range pool.Slots {
		slot := &pool.Slots[i]
		tell(ch, slotFamilies, &machine{slot: slot, claims: claims[slot.Name], now: pool.Now})
		ch <- prometheus.MustNewConstMetric(slotOnSeconds, prometheus.CounterValue, s.uptime.seconds(slot, pool.Now),
			slot.Labels[v2.LabelGroup], slot.Name)
	}
	for i := range pool.Claims {
		tell(ch, claimFamilies, &pool.Claims[i])
	}
	s.uptime.keep(pool.Slots)
}

func claimsBySlot(claims []v2.NodeClaim) map[string][]*v2.NodeClaim {
	bySlot := map[string][]*v2.NodeClaim{}
	for i := range claims {
		slot := claims[i].Spec.SlotRef.Name
		bySlot[slot] = append(bySlot[slot], &claims[i])
	}
	return bySlot
}

// family is one gauge: how its series read off an object of type T.
type family[T any] struct {
	desc *prometheus.Desc
	read func(T) []sample
}

// sample is one series of a family. NaN-free: a value that is not known is no sample.
type sample struct {
	value  float64
	labels []string
}

func gauge[T any](name, help string, labels []string, read func(T) []sample) family[T] {
	return family[T]{prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil), read}
}

func tell[T any](ch chan<- prometheus.Metric, families []family[T], object T) {
	for _, f := range families {
		for _, s := range f.read(object) {
			ch <- prometheus.MustNewConstMetric(f.desc, prometheus.GaugeValue, s.value, s.labels...)
		}
	}
}

func describe[T any](ch chan<- *prometheus.Desc, families []family[T]) {
	for _, f := range families {
		ch <- f.desc
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// oneHot is a series for each of the values an enumeration can have, 1 for the one it has.
func oneHot[E ~string](is E, all []E, labels ...string) (samples []sample) {
	for _, value := range all {
		samples = append(samples, sample{truth(is == value), append(labels[:len(labels):len(labels)], string(value))})
	}
	return samples
}

var leader = prometheus.NewDesc(prometheus.BuildFQName(namespace, "", "leader"),
	"Whether this replica leads: it alone switches machines, and tells of the pool.", nil, nil)
