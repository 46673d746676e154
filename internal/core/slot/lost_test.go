package slot

import (
	"fmt"
	"testing"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// TestAMachineThatNeverLastsCoolsOff as one whose boots fail does; one that served for a while is none.
func TestAMachineThatNeverLastsCoolsOff(t *testing.T) {
	tests := map[string]struct {
		serves time.Duration
		want   v2.ClaimReason
	}{
		"it dies after each ready":                 {time.Minute, v2.ReasonAttemptLimitExceeded},
		"it lasts as long as its boot may take":    {730 * time.Second, ""},
		"it dies a moment before it has lasted so": {729 * time.Second, v2.ReasonAttemptLimitExceeded},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for n := range 3 {
				claim := fmt.Sprint(toldClaim, n)
				w.serves(claim)
				w.now = w.now.Add(test.serves)
				w.kubelet("Unknown")
				w.settle()
				w.now = w.now.Add(730 * time.Second)
				w.settle()
				if reason := w.claim(claim).Status.Reason; reason != v2.ReasonMachineGone {
					t.Fatalf("claim %s ended with %q", claim, reason)
				}
			}
			c := w.newClaim(toldClaim)
			w.settle()
			if c.Status.Reason != test.want {
				t.Errorf("the next claim is %s (%s), want %q", c.Status.Phase, c.Status.Message, test.want)
			}
		})
	}
}
