package slot

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// TestOfThreeClaimsTheNewestHasTheMachine whichever of the others carried it.
func TestOfThreeClaimsTheNewestHasTheMachine(t *testing.T) {
	names := []string{"worker-01-a", "worker-01-b", "worker-01-c"}
	for _, serves := range names[:2] {
		t.Run(serves, func(t *testing.T) {
			w := newWorld(t)
			w.serves(serves)
			for i, name := range names {
				if name != serves {
					w.newClaim(name)
				}
				w.claim(name).CreationTimestamp = metav1.NewTime(w.now.Add(time.Duration(i) * time.Second))
			}
			w.now = w.now.Add(12 * time.Second)
			w.settle()
			heir := w.claim(names[2]).Status
			if heir.Phase != v2.ClaimReady || heir.Attempt != 1 || len(heir.Jobs) != 1 || len(w.jobs) != 1 {
				t.Errorf("the newest claim is %+v, of %d Jobs", heir, len(w.jobs))
			}
			for _, name := range names[:2] {
				if c := w.claim(name); c.Status.Reason != v2.ReasonSuperseded || len(c.Finalizers) > 0 {
					t.Errorf("claim %s is %s (%s), finalizers %v", name, c.Status.Phase, c.Status.Reason, c.Finalizers)
				}
			}
		})
	}
}

// TestAHandOverThatWasCutInTwoIsFinished whatever was marked between the winner's write and the loser's: the machine is the
// winner's, to serve or to switch off, and goes off once.
func TestAHandOverThatWasCutInTwoIsFinished(t *testing.T) {
	const older, newer = "worker-01-a", "worker-01-b"
	tests := map[string]struct {
		marked []string
		downs  int
	}{
		"nothing":    {nil, 0},
		"the loser":  {[]string{older}, 0},
		"the winner": {[]string{newer}, 1},
		"both":       {[]string{older, newer}, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.serves(older)
			w.now = w.now.Add(time.Second)
			w.newClaim(newer)
			w.now = w.now.Add(10 * time.Second)
			d := w.step()
			if d.Claims[0].Claim.Name != newer {
				t.Fatalf("claim %s is written first", d.Claims[0].Claim.Name)
			}
			w.commit(Decision{Finalizers: d.Finalizers, Claims: d.Claims[:1]})
			for _, marked := range test.marked {
				w.delete(w.claim(marked))
			}
			w.settle()
			if got := w.claim(newer).Status.Phase; got != v2.ClaimReady {
				t.Errorf("the winner is %s", got)
			}
			for _, c := range w.claims {
				if c.Name == older && (c.Status.Reason != v2.ReasonSuperseded || len(c.Finalizers) > 0) {
					t.Errorf("the loser is %s (%s), finalizers %v", c.Status.Phase, c.Status.Reason, c.Finalizers)
				}
			}
			downs := 0
			for _, j := range w.jobs {
				if operationOf(&j) == v2.OperationShutdown {
					downs++
				}
			}
			if downs != test.downs {
				t.Errorf("%d shutdown Jobs, want %d", downs, test.downs)
			}
		})
	}
}
