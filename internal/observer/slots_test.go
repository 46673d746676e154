package observer

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/power"
)

func TestAnotherSwitchBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) { return "", power.ErrUnreachable })
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(30 * time.Minute)
		before := len(b.asked["a"])
		b.state = says(power.On)
		b.Tell(slotAt("a", "bmc-b"), Changed)
		time.Sleep(3 * time.Second)
		b.expect(len(b.asked["a"]), before+2)
		b.expect(b.saved["a"][len(b.saved["a"])-1], "on at 30m0s since 30m0s ")
	})
}

func TestWhatAFormerSwitchSaidIsTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		b := newBench(t, says(power.On))
		defer b.stop()
		save := b.Save
		b.Save = func(ctx context.Context, slot *v2.Node, r *v2.PowerReading) error {
			if r != nil && r.Source == "ipmi former-bmc:623" {
				<-release
			}
			return save(ctx, slot, r)
		}
		b.Tell(slotAt("a", "former-bmc"), Changed)
		time.Sleep(3 * time.Second)
		b.Tell(slotAt("a", "bmc-a"), Changed) // while what the former one said is being saved
		b.state = func(string) (power.State, error) { return "", power.ErrUnreachable }
		close(release)
		time.Sleep(time.Second)
		b.expect(b.saved["a"], []string{"on at 0s since 0s ", "nothing", "unknown at 3s since 3s unreachable"})

		b.Forget("a")
		held := slotAt("a", "bmc-a")
		held.Status.PowerReading = &v2.PowerReading{State: v2.PowerOff, Source: "ipmi former-bmc:623"}
		b.Tell(held, Changed) // the observer begins anew, and the slot was changed meanwhile
		time.Sleep(time.Second)
		b.expect(b.saved["a"][3:], []string{"nothing", "unknown at 4s since 4s unreachable"})
	})
}

func TestWhatAFormerSwitchSaidIsTakenAwayOnceTheAPIServerIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		save, down := b.Save, false
		b.Save = func(ctx context.Context, slot *v2.Node, r *v2.PowerReading) error {
			if down {
				<-ctx.Done() // it takes the request and never answers
				return ctx.Err()
			}
			return save(ctx, slot, r)
		}
		b.Tell(slotAt("a", "former-bmc"), Changed)
		time.Sleep(3 * time.Second)
		down = true
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(time.Minute)
		down = false
		time.Sleep(2 * time.Minute)
		b.expect(b.saved["a"], []string{"on at 0s since 0s ", "nothing", "on at 1m35s since 33s "})
	})
}

func TestWhatTheNewSwitchSaysStaysWhereTheFormerOnesWordCouldNotBeTakenAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		save := b.Save
		b.Save = func(ctx context.Context, slot *v2.Node, r *v2.PowerReading) error {
			if r == nil && time.Since(b.began) < time.Minute {
				return errors.New("the API server is away")
			}
			return save(ctx, slot, r)
		}
		b.Tell(slotAt("a", "former-bmc"), Changed)
		time.Sleep(3 * time.Second)
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(2 * time.Minute)
		b.expect(b.saved["a"], []string{"on at 0s since 0s ", "on at 3s since 3s "})
	})
}

// Somebody who edits a slot again and again does not make us ask its BMC as often.
func TestASwitchDeclaredAnewAtTheSamePlaceIsNotAskedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		for i := range 35 {
			b.Tell(slotAt("a", []string{"bmc-a", "BMC-A."}[i%2]), Changed)
			time.Sleep(time.Second)
		}
		// The first is asked again for another state than none, and so are those after.
		for i := 1; i < len(b.asked["a"]); i++ {
			if gap := b.asked["a"][i] - b.asked["a"][i-1]; gap < 2*time.Second || i%2 == 0 && gap < Gentle().LeastGap {
				t.Errorf("asked at %v", b.asked["a"])
				break
			}
		}
		b.expect(len(b.asked["a"]) > 3, true)
	})
}

func TestASlotThatIsGoneIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(5 * time.Second)
		b.expect(len(b.Counts()), 1)
		b.Forget("a")
		time.Sleep(time.Hour)
		b.expect(b.asked["a"], seconds(0, 2))
		b.expect(len(b.Counts()), 0)
	})
}
