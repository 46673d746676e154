package provider

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	decide "homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/observer"
	"homecluster.dev/autoscaler/internal/power/ipmi"
)

const (
	// hung is how many controllers take every packet and say nothing.
	hung = 50
	// rounds is how often the two sides take turns, each for so many calls.
	rounds, callsInRound = 2, 5000
	// unchanged is the ratio of 99th percentiles above which a call is said to suffer. Two halves of one side differ by
	// nearly as much on a machine that does other work.
	unchanged = 2.0
	// jitter is what the scheduler adds to one call in a hundred on any machine; less is not told apart.
	jitter = 20 * time.Microsecond
)

// BenchmarkBesideHungSwitches measures every call, and the decision that a reconcile takes, by turns alone and with an
// observer in this very process all of whose controllers hang. At home it is a process of its own.
func BenchmarkBesideHungSwitches(b *testing.B) {
	silent, err := (&net.ListenConfig{}).ListenPacket(b.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = silent.Close() })
	one := decision()
	measures := append(calls(b), measured{"Reconcile-decides", func(*testing.B, int) func() error {
		return func() error { return second(decide.Step(one)) }
	}})
	for _, call := range measures {
		b.Run(call.name, func(b *testing.B) {
			do := call.in(b, 100)
			var alone, beside []time.Duration
			for b.Loop() {
				alone, beside = nil, nil
				for range rounds {
					alone = append(alone, took(b, do)...)
					stop := hang(b, silent.LocalAddr().String())
					beside = append(beside, took(b, do)...)
					stop()
				}
			}
			ratio := float64(max(p99(beside), jitter)) / float64(max(p99(alone), jitter))
			b.ReportMetric(float64(p99(alone).Nanoseconds()), "alone-p99-ns")
			b.ReportMetric(float64(p99(beside).Nanoseconds()), "beside-p99-ns")
			b.ReportMetric(ratio, "ratio")
			if ratio > unchanged {
				b.Errorf("its 99th percentile is %.1f times what it is alone", ratio)
			}
		})
	}
}

// decision is what a reconcile decides on: a slot that rests.
func decision() decide.Input {
	one := &v2.Node{}
	one.Name, one.Namespace, one.UID, one.Spec.KubernetesNodeName = "s", "home", "u", "s"
	return decide.Input{Now: noon, Namespace: "home", Name: "s", Slot: one, Policy: policy.For(policy.Default(), nil), AlwaysOn: true}
}

func took(b *testing.B, call func() error) []time.Duration {
	b.Helper()
	all := make([]time.Duration, 0, callsInRound)
	for range callsInRound {
		began := time.Now()
		if err := call(); err != nil {
			b.Fatal(err)
		}
		all = append(all, time.Since(began))
	}
	return all
}

func p99(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)*99/100]
}

// hang starts an observer whose every controller is asked and does not answer, and returns once all are.
func hang(b *testing.B, address string) (stop func()) {
	b.Helper()
	asked := make(chan struct{}, hung)
	o := &observer.Observer{Clock: kube.Clock{}, Pace: observer.Pace{}, Chance: func() float64 { return 0 }, Log: logr.Discard(),
		Told: func(string, observer.Result, time.Duration) {},
		Open: func(context.Context, *v2.Node) (observer.Opened, error) {
			s, err := ipmi.New(ipmi.Options{Address: address, Username: "admin", Password: "secret", Timeout: 5 * time.Second})
			select {
			case asked <- struct{}{}:
			default: // all have been asked once
			}
			return observer.Opened{Switch: s}, err
		},
		Save: func(context.Context, *v2.Node, *v2.PowerReading) error { return nil },
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = o.Start(ctx)
	}()
	for i := range hung {
		one := &v2.Node{}
		one.Name, one.UID = "h"+string(rune('a'+i)), types.UID("h"+string(rune(97+i)))
		one.Spec.Power = &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: one.Name}}
		o.Tell(one, observer.Changed)
	}
	for range hung {
		<-asked
	}
	return func() {
		cancel()
		<-ended
	}
}
