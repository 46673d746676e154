package observer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
)

func TestARefusedPasswordIsNotTriedAgainBeforeTheSecretChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) { return "", power.ErrCredentials })
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		for range 14 {
			time.Sleep(time.Minute)
			b.Tell(slotAt("a", "bmc-a"), Ended)
		}
		b.expect(b.asked["a"], seconds(0))
		b.version = "2"
		time.Sleep(time.Minute)
		b.expect(len(b.asked["a"]), 2)
		time.Sleep(20 * time.Minute)
		b.expect(len(b.asked["a"]), 3)
	})
}

func TestASecretThatIsMissingIsLookedForEveryMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		looked := 0
		b.open = func() error {
			looked++
			return fmt.Errorf("%w: Secret bmc has no key password", switches.ErrSecret)
		}
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(30*time.Minute + time.Second)
		b.expect(looked, 31)
		b.expect(b.saved["a"][0], "unknown at 0s since 0s no credentials: Secret bmc has no key password")
		b.open = nil
		time.Sleep(time.Minute + 2*time.Second)
		b.expect(b.saved["a"][len(b.saved["a"])-1], "on at 31m0s since 0s ")
	})
}

// A BMC counts how often a user fails, whichever of our slots it was for.
func TestARefusedPasswordIsNotTriedThereByAnotherSlotEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) { return "", power.ErrCredentials })
		defer b.stop()
		const why = "bad credentials; not tried again until the Secret changes, or 00:15:00 UTC"
		b.Tell(slotAt("a", "bmc"), Changed)
		time.Sleep(5 * time.Second)
		b.Tell(slotAt("b", "BMC."), Changed)
		b.Forget("a")
		again := slotAt("a", "bmc")
		again.UID = "made again"
		b.Tell(again, Changed)
		time.Sleep(14*time.Minute + 50*time.Second)
		b.expect(b.asked, map[string][]time.Duration{"a": seconds(0)})
		b.expect(b.saved["b"], []string{"unknown at 5s since 5s " + why})
		b.expect(b.saved["a"], []string{"unknown at 0s since 0s " + why, "unknown at 5s since 5s " + why})

		other := slotAt("c", "bmc")
		other.Spec.Power.IPMI.CredentialsSecretRef.Name = "other"
		b.Tell(other, Changed)
		b.Tell(slotAt("d", "another-bmc"), Changed)
		time.Sleep(time.Second)
		b.expect(b.asked["c"], seconds(895))
		b.expect(b.asked["d"], seconds(895))
		time.Sleep(time.Minute + 4*time.Second)
		b.expect(len(b.asked["a"])+len(b.asked["b"]), 2) // the quarter of an hour is over: one more
	})
}

func TestAPasswordThatIsRefusedForOneSlotIsGoodForAnotherThatItLetsIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(slot string) (power.State, error) {
			if slot == "forbidden" {
				return "", power.ErrCredentials
			}
			return power.On, nil
		})
		defer b.stop()
		b.Tell(slotAt("a", "hub"), Changed)
		time.Sleep(30 * time.Second)
		b.Tell(slotAt("forbidden", "hub"), Changed)
		time.Sleep(10 * time.Minute)
		b.expect(b.asked["forbidden"], seconds(30))
		b.expect(len(b.asked["a"]), 12)
	})
}

func TestAPasswordThatWasGoodOnceAndIsRefusedIsNotTriedAgainEither(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, says(power.On))
		defer b.stop()
		b.Tell(slotAt("a", "bmc"), Changed)
		time.Sleep(30 * time.Second)
		b.state = func(string) (power.State, error) { return "", power.ErrCredentials } // it was changed at the BMC
		time.Sleep(10 * time.Minute)
		b.expect(b.asked["a"], seconds(0, 2, 62))
		b.expect(b.saved["a"][1], "unknown at 2m2s since 0s bad credentials; not tried again until the Secret changes, or 00:16:02 UTC")
	})
}

// However long it was refused, the Secret is read every minute: somebody who mends it should not wait for ten.
func TestASecretThatIsMendedAfterHoursIsTriedWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) { return "", power.ErrCredentials })
		defer b.stop()
		b.Tell(slotAt("a", "bmc"), Changed)
		time.Sleep(3*time.Hour + time.Second)
		b.expect(len(b.asked["a"]), 13) // every quarter of an hour
		b.version, b.state = "2", says(power.On)
		time.Sleep(time.Minute + 2*time.Second)
		b.expect(b.saved["a"][len(b.saved["a"])-1], "on at 3h1m0s since 0s ")
	})
}

func TestAPersonWhoDeclaresTheSwitchAnewMayTryARefusedPasswordOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(string) (power.State, error) { return "", power.ErrCredentials })
		defer b.stop()
		b.Tell(slotAt("a", "bmc"), Changed)
		time.Sleep(2*time.Minute + 5*time.Second)
		b.Tell(slotAt("a", "bmc"), Changed)
		time.Sleep(10 * time.Minute)
		b.expect(b.asked["a"], seconds(0, 130))
	})
}

// No password was sent, so that nobody locks an account: it is an error as others are.
func TestACertificateThatIsNotTrustedIsNoRefusedPassword(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fault := fmt.Errorf("%w: x509: signed by nobody", power.ErrUntrusted)
		b := newBench(t, func(string) (power.State, error) { return power.On, fault })
		defer b.stop()
		b.Tell(slotAt("a", "bmc-a"), Changed)
		time.Sleep(8 * time.Minute)
		b.expect(b.asked["a"], seconds(0, 60, 180, 420))
		b.expect(b.saved["a"][0], "unknown at 0s since 0s its certificate is not trusted: x509: signed by nobody")
		b.expect(b.Counts()[0].Results, map[Result]float64{Untrusted: 4})
	})
}

func TestAPasswordThatAFormerSwitchRefusesIsTriedAtTheNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := true
		b := newBench(t, func(string) (power.State, error) {
			if !slow {
				return power.On, nil
			}
			time.Sleep(5 * time.Second)
			return "", power.ErrCredentials
		})
		defer b.stop()
		b.Tell(slotAt("a", "wrong-bmc"), Changed)
		time.Sleep(time.Second)
		slow = false
		b.Tell(slotAt("a", "bmc-a"), Changed) // while the wrong one is being asked
		time.Sleep(10 * time.Second)
		b.expect(b.asked["a"], seconds(0, 5, 7))
		b.expect(b.saved["a"], []string{"nothing", "on at 5s since 5s "})
	})
}
