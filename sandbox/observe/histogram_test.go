package observe_test

import (
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// histogram is a native histogram: how many observations are at most base^i seconds and more than base^(i-1), by i, where
// base^(2^schema) is two.
type histogram struct {
	schema int32
	counts map[int]int64
}

// reconciles is the histogram that the library keeps of how long the manager's reconciles took.
func reconciles(b *testing.B) histogram {
	b.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_time_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			if label := metric.GetLabel()[0]; label.GetName() == "controller" && label.GetValue() == "slot" {
				return decode(metric.GetHistogram())
			}
		}
	}
	b.Fatal("no reconcile was measured")
	return histogram{}
}

// decode makes one of what is gathered: runs of buckets, each with how far its count is from the former bucket's.
func decode(from *dto.Histogram) histogram {
	h := histogram{schema: from.GetSchema(), counts: map[int]int64{}}
	index, count, deltas := 0, int64(0), from.GetPositiveDelta()
	for _, span := range from.GetPositiveSpan() {
		index += int(span.GetOffset())
		for range span.GetLength() {
			count += deltas[0]
			deltas = deltas[1:]
			h.counts[index] = count
			index++
		}
	}
	return h
}

// since is what was observed since then. Buckets become twice as broad when there are too many.
func (h histogram) since(then histogram) histogram {
	d := histogram{schema: h.schema, counts: maps.Clone(h.counts)}
	for i, n := range then.counts {
		for range then.schema - h.schema {
			i = (i + 1) >> 1
		}
		d.counts[i] -= n
	}
	return d
}

// percentile is to within the breadth of a bucket, a tenth, in which all observations are taken to be evenly spread.
func (h histogram) percentile(percent int) time.Duration {
	var all, below int64
	for _, n := range h.counts {
		all += n
	}
	rank := (all*int64(percent) + 99) / 100
	for _, i := range slices.Sorted(maps.Keys(h.counts)) {
		if n := h.counts[i]; below+n >= rank {
			exponent := float64(i-1) + float64(rank-below)/float64(n)
			return time.Duration(math.Pow(2, exponent*math.Pow(2, -float64(h.schema))) * float64(time.Second))
		}
		below += h.counts[i]
	}
	return 0
}

func TestAHistogramTellsPercentiles(t *testing.T) {
	from := prometheus.NewHistogram(prometheus.HistogramOpts{NativeHistogramBucketFactor: 1.1})
	read := func() histogram {
		var metric dto.Metric
		if err := from.Write(&metric); err != nil {
			t.Fatal(err)
		}
		return decode(metric.GetHistogram())
	}
	from.Observe(70) // before
	then := read()
	for i := range 1000 {
		from.Observe(float64(i+1) / 1000)
	}
	observed := read().since(then)
	for percent, want := range map[int]time.Duration{1: 10 * time.Millisecond, 50: 500 * time.Millisecond, 99: 990 * time.Millisecond, 100: time.Second} {
		if got := observed.percentile(percent); got < want*9/10 || got > want*11/10 {
			t.Errorf("of a second's milliseconds the percentile %d is %s, want %s", percent, got, want)
		}
	}
	if d := (histogram{schema: 2, counts: map[int]int64{0: 3, 1: 5}}).since(histogram{schema: 3, counts: map[int]int64{-1: 1, 0: 1, 1: 2, 2: 2}}); d.counts[0] != 1 || d.counts[1] != 1 {
		t.Errorf("beside buckets that became broader there are %v", d.counts)
	}
}
