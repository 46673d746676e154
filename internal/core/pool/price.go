package pool

import (
	"math"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxPeriod bounds the period a price is asked for; the client asks for an hour.
const maxPeriod = 100 * 365 * 24 * time.Hour

// Price is what a machine and the pods on it cost.
type Price struct {
	// Hourly is the machine's price for an hour.
	Hourly float64
	// Pod is what a pod costs for an hour on top of its share of the machine.
	Pod float64
	// Capacity is what the machine offers, for the share.
	Capacity corev1.ResourceList
}

// PriceOf is the slot's price. It is false when the slot declares none that can be read.
func PriceOf(v View, s Slot) (Price, bool) {
	hourly, ok := hourlyRate(s)
	if !ok {
		return Price{}, false
	}
	pod, ok := parseRate(s.Object.Spec.Pricing.PodRate)
	if !ok {
		return Price{}, false
	}
	shape, _ := ShapeOf(v, s)
	return Price{Hourly: hourly, Pod: pod, Capacity: shape.Capacity}, true
}

// ForMachine is what the machine costs over the period.
func (p Price) ForMachine(period time.Duration) float64 { return p.Hourly * period.Hours() }

// ForPod is what a pod with these requests costs over the period: the rate per pod, and the share of the machine that
// its largest request takes. It is false when the pod does not fit the machine or the machine's size is unknown.
func (p Price) ForPod(requests corev1.ResourceList, period time.Duration) (float64, bool) {
	share := 0.0
	for name, quantity := range requests {
		if quantity.Sign() <= 0 {
			continue
		}
		capacity, ok := p.Capacity[name]
		if !ok || capacity.Sign() <= 0 || quantity.Cmp(capacity) > 0 {
			return 0, false
		}
		share = max(share, quantity.AsApproximateFloat64()/capacity.AsApproximateFloat64())
	}
	return (p.Pod + p.Hourly*share) * period.Hours(), true
}

// PodRequests is what the scheduler reserves for a pod: its containers together, or its largest init container, and its
// overhead. Sidecars count with the containers.
func PodRequests(pod *corev1.Pod) corev1.ResourceList {
	sum := corev1.ResourceList{}
	for _, container := range pod.Spec.Containers {
		addTo(sum, container.Resources.Requests)
	}
	sidecars, peak := corev1.ResourceList{}, corev1.ResourceList{}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			addTo(sum, container.Resources.Requests)
			addTo(sidecars, container.Resources.Requests)
			raiseTo(peak, sidecars)
			continue
		}
		during := sidecars.DeepCopy()
		addTo(during, container.Resources.Requests)
		raiseTo(peak, during)
	}
	raiseTo(sum, peak)
	addTo(sum, pod.Spec.Overhead)
	return sum
}

func addTo(sum, more corev1.ResourceList) {
	for name, quantity := range more {
		total := sum[name].DeepCopy()
		total.Add(quantity)
		sum[name] = total
	}
}

func raiseTo(sum, least corev1.ResourceList) {
	for name, quantity := range least {
		if mine, ok := sum[name]; !ok || quantity.Cmp(mine) > 0 {
			sum[name] = quantity.DeepCopy()
		}
	}
}

// Period is the time from start to end, or a Malformed fault when the two make no period.
func Period(start, end time.Time) (time.Duration, error) {
	if start.IsZero() || end.IsZero() {
		return 0, Faultf(Malformed, "the period lacks a start or an end")
	}
	period := end.Sub(start)
	if period < 0 || period > maxPeriod {
		return 0, Faultf(Malformed, "the period from %s to %s is not one", start.UTC(), end.UTC())
	}
	return period, nil
}

func hourlyRate(s Slot) (float64, bool) {
	if s.Object == nil || s.Object.Spec.Pricing == nil {
		return 0, false
	}
	return parseRate(s.Object.Spec.Pricing.HourlyRate)
}

// parseRate reads a decimal that is a price: finite and not negative.
func parseRate(text string) (float64, bool) {
	rate, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(rate) || math.IsInf(rate, 0) || rate < 0 {
		return 0, false
	}
	return rate, true
}
