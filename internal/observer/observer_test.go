package observer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/power"
)

// bench is an observer over switches that are functions, in a bubble in which time passes by itself.
type bench struct {
	*Observer
	t     *testing.T
	began time.Time
	stop  context.CancelFunc

	mu sync.Mutex
	// asked are when each slot's switch was asked, from the beginning; saved what was saved.
	asked map[string][]time.Duration
	saved map[string][]string
	// inFlight counts requests by address; most is the most there ever were.
	inFlight, most map[string]int
	state          func(slot string) (power.State, error)
	// open fails as a Secret does, or is nil.
	open    func() error
	version string
}

func newBench(t *testing.T, state func(slot string) (power.State, error)) *bench {
	b := &bench{t: t, began: time.Now(), asked: map[string][]time.Duration{}, saved: map[string][]string{}, inFlight: map[string]int{},
		most: map[string]int{}, state: state, version: "1"}
	b.Observer = &Observer{Clock: kube.Clock{}, Pace: Gentle(), Chance: func() float64 { return 0 }, Log: logr.Discard(),
		Told: func(string, Result, time.Duration) {},
		Open: func(_ context.Context, slot *v2.Node) (Opened, error) {
			if b.open != nil {
				if err := b.open(); err != nil {
					return Opened{}, err
				}
			}
			bmc := slot.Spec.Power.IPMI
			return Opened{Switch: &fake{b, slot.Name, bmc.Address}, Shown: b.version + bmc.CredentialsSecretRef.Name}, nil
		},
		Save: func(_ context.Context, slot *v2.Node, r *v2.PowerReading) error {
			b.mu.Lock()
			defer b.mu.Unlock()
			if r == nil {
				b.saved[slot.Name] = append(b.saved[slot.Name], "nothing")
				return nil
			}
			b.saved[slot.Name] = append(b.saved[slot.Name], fmt.Sprintf("%s at %s since %s %s", r.State,
				r.ObservedAt.Sub(b.began), r.Since.Sub(b.began), r.Message))
			return nil
		}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = b.Start(ctx)
	}()
	b.stop = func() {
		cancel()
		<-done
	}
	return b
}

// fake is a switch.
type fake struct {
	b             *bench
	slot, address string
}

func (f *fake) Press(context.Context, power.Action) error { panic("an observer presses nothing") }
func (f *fake) String() string                            { return f.address }

func (f *fake) State(context.Context) (power.State, error) {
	f.b.mu.Lock()
	f.b.asked[f.slot] = append(f.b.asked[f.slot], time.Since(f.b.began))
	f.b.inFlight[f.address]++
	f.b.most[f.address] = max(f.b.most[f.address], f.b.inFlight[f.address])
	f.b.mu.Unlock()
	state, err := f.b.state(f.slot)
	f.b.mu.Lock()
	f.b.inFlight[f.address]--
	f.b.mu.Unlock()
	return state, err
}

func slotAt(name, address string) *v2.Node {
	return &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Spec: v2.NodeSpec{Power: &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: address}}}}
}

func (b *bench) expect(got, want any) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if diff := cmp.Diff(want, got); diff != "" {
		b.t.Error(diff)
	}
}

func says(state power.State) func(string) (power.State, error) {
	return func(string) (power.State, error) { return state, nil }
}

func seconds(all ...int) []time.Duration {
	var d []time.Duration
	for _, n := range all {
		d = append(d, time.Duration(n)*time.Second)
	}
	return d
}

func TestASwitchIsAskedOnceAMinuteAndSavedWhenItTellsSomething(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(5*time.Minute + 30*time.Second)
		// What differs from before is asked for twice; the rest is as it was.
		b.expect(b.asked["a"], seconds(0, 2, 62, 122, 182, 242, 302))
		b.expect(b.saved["a"], []string{"on at 0s since 0s ", "on at 2m2s since 0s ", "on at 4m2s since 0s "})
	})
}

func TestAnUpdateThatMeansNothingToTheSwitchAsksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		for range 30 {
			b.Tell(slotAt("a", "bmc-a"), Nothing)
			time.Sleep(time.Second)
		}
		b.expect(b.asked["a"], seconds(0, 2))
	})
}

func TestTheEndOfAnOperationIsLookedAtTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := power.On
		b := newBench(t, func(string) (power.State, error) { return state, nil })
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(5 * time.Second)
		b.Tell(slotAt("a", "bmc-a"), Ended) // not within ten seconds of the last round
		time.Sleep(20 * time.Second)
		state = power.Off
		time.Sleep(20 * time.Second)
		b.expect(b.asked["a"], seconds(0, 2, 12, 27, 29))
		b.expect(b.saved["a"], []string{"on at 0s since 0s ", "on at 12s since 0s ", "off at 27s since 27s "})
	})
}

func TestHowOftenSomethingHappensDoesNotMatter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		for range 400 {
			time.Sleep(100 * time.Millisecond)
			b.Tell(slotAt("a", "bmc-a"), Heard)
		}
		b.expect(b.asked["a"], seconds(0, 2, 12, 22, 32))
	})
}

func TestASwitchThatFlapsIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		b := newBench(t, func(string) (power.State, error) {
			if n++; n%2 == 1 {
				return power.Off, nil
			}
			return power.On, nil
		})
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(3 * time.Minute)
		why := "it says now this and now that: first off, 2s later on"
		b.expect(b.saved["a"], []string{"unknown at 0s since 0s " + why, "unknown at 2m4s since 0s " + why})
	})
}

func TestSilenceIsToldAtTheSecondTimeAndAskedLessAndLess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var fault error
		b := newBench(t, func(string) (power.State, error) { return power.On, fault })
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(time.Minute)
		fault = fmt.Errorf("%w: no answer", power.ErrUnreachable)
		time.Sleep(time.Hour)
		b.expect(b.asked["a"], seconds(0, 2, 62, 122, 242, 482, 962, 1562, 2162, 2762, 3362))
		b.expect(b.saved["a"][:2], []string{"on at 0s since 0s ", "unknown at 2m2s since 0s unreachable: no answer"})
		fault = nil
		time.Sleep(5*time.Minute + 10*time.Second)
		b.expect(b.saved["a"][len(b.saved["a"])-1], "on at 1h6m2s since 0s ")
	})
}

func TestOneHungSwitchHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, func(slot string) (power.State, error) {
			if slot == "hung" {
				<-release
			}
			return power.On, nil
		})
		defer b.stop()
		defer close(release)
		b.Tell(slotAt("hung", "bmc-hung"), Changed)
		b.Tell(slotAt("a", "bmc-a"), Changed)
		for range 60 {
			time.Sleep(10 * time.Second)
			b.Tell(slotAt("hung", "bmc-hung"), Ended)
		}
		b.expect(len(b.asked["hung"]), 1)
		b.expect(len(b.asked["a"]), 11)
	})
}

func TestSlotsBehindOneAddressTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) {
			time.Sleep(3 * time.Second)
			return power.On, nil
		})
		defer b.stop()
		for _, name := range []string{"a", "b", "c", "d"} {
			b.Tell(slotAt(name, "one-bmc"), Changed)
			b.Tell(slotAt(name+name, "bmc-"+name), Changed)
		}
		time.Sleep(10 * time.Minute)
		b.expect(b.most, map[string]int{"one-bmc": 1, "bmc-a": 1, "bmc-b": 1, "bmc-c": 1, "bmc-d": 1})
		for _, name := range []string{"a", "b", "c", "d"} {
			if n := len(b.asked[name]); n < 8 {
				t.Errorf("%s was asked %d times", name, n)
			}
		}
		if n := len(b.places.queues); n != 0 {
			t.Errorf("%d queues are kept for nobody", n)
		}
	})
}

func TestAChangeIsDatedByWhenItWasHeardEvenIfItCouldNotBeSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := power.On
		b := newBench(t, func(string) (power.State, error) { return state, nil })
		defer b.stop()
		save, down := b.Save, false
		b.Save = func(ctx context.Context, slot *v2.Node, r *v2.PowerReading) error {
			if down {
				return errors.New("the API server is away")
			}
			return save(ctx, slot, r)
		}
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(30 * time.Second)
		state, down = power.Off, true
		time.Sleep(time.Minute)
		down = false
		time.Sleep(time.Minute)
		b.expect(b.saved["a"], []string{"on at 0s since 0s ", "off at 2m4s since 1m2s "})
	})
}

func TestAPanicInASwitchIsAnUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) { panic("malformed padding") })
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(5 * time.Second)
		b.expect(b.saved["a"], []string{"unknown at 0s since 0s the observer broke over it: malformed padding"})
	})
}

func TestAPanicInTheMakingOfASwitchIsAnUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		b.open = func() error { panic("a certificate\nof nothing") }
		b.Tell(slotAt("a", "bmc-a"), Changed)
		b.Tell(slotAt("b", "bmc-a"), Changed)
		time.Sleep(5 * time.Second)
		b.expect(b.saved["a"], []string{"unknown at 0s since 0s the observer broke over it: a certificate of nothing"})
		b.expect(b.saved["b"], b.saved["a"])
	})
}
