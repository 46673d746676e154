package slot

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// TestAMachineThatComesBackGetsFreshAttemptsNotForEver since a kubelet that comes and goes would never let them be spent: a
// claim's once, those of a machine nobody claims within its first round.
func TestAMachineThatComesBackGetsFreshAttemptsNotForEver(t *testing.T) {
	tests := map[string]struct {
		begin func(*world)
		want  []int32
	}{
		"of a claim": {func(w *world) { w.serves(toldClaim); w.delete(w.claim(toldClaim)) }, []int32{0, 1, 2}},
		"of a machine nobody claims": {
			func(w *world) { w.kubelet("True"); w.settle(); w.now = w.now.Add(2 * time.Minute) }, []int32{0, 0, 0, 1, 2},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.begin(w)
			w.settle()
			var seen []int32
			for range test.want {
				w.jobEnds("shutdown", batchv1.JobFailed, "BackoffLimitExceeded", 1, "busy")
				w.settle()
				w.kubelet("Unknown")
				w.settle()
				w.now = w.now.Add(time.Minute)
				w.kubelet("True")
				w.settle()
				seen = append(seen, w.attempts())
				w.now = w.now.Add(2 * time.Minute)
				w.settle() // the next Job
			}
			if diff := cmp.Diff(test.want, seen); diff != "" {
				t.Errorf("attempts after each return (-want +got):\n%s", diff)
			}
		})
	}
}

// attempts are those of the shutdown that is under way.
func (w *world) attempts() int32 {
	if u := w.slot.Status.Unclaimed; u != nil {
		return u.ShutdownAttempts
	}
	return w.claim(toldClaim).Status.ShutdownAttempts
}

// TestAPauseSaysWhenItEnds each of them, though it is told as an event the first time only.
func TestAPauseSaysWhenItEnds(t *testing.T) {
	w := newWorld(t)
	w.serves(toldClaim)
	c := w.claim(toldClaim)
	w.delete(c)
	for pause := range 3 {
		told := 0
		for range 3 {
			w.settle()
			w.jobEnds("shutdown", batchv1.JobFailed, "BackoffLimitExceeded", 1, "busy")
			w.settle()
			w.now = w.now.Add(2 * time.Minute)
			d := w.step()
			told += len(d.Notes)
			w.commit(d)
		}
		shown := conditionMessage(c.Status.Conditions, v2.ConditionMachineObservedOff)
		if want := "the next comes " + instant(c.Status.LastShutdownAttemptAt.Add(30*time.Minute)); !strings.HasSuffix(shown, want) {
			t.Errorf("pause %d: it says %q, want %s", pause+1, shown, want)
		}
		if first := pause == 0; (told == 1) != first {
			t.Errorf("pause %d: %d events", pause+1, told)
		}
		w.now = w.now.Add(30 * time.Minute)
	}
}

// TestAMachineInItsFirmwareIsShutDownAtTheSecondTryToo of a commit that ended between the record of the Job and the Job, as it
// does when somebody writes a reading into the slot meanwhile.
func TestAMachineInItsFirmwareIsShutDownAtTheSecondTryToo(t *testing.T) {
	w := newWorld(t)
	c := w.newClaim(toldClaim)
	w.settle()
	w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
	w.switchSays([]string{"on"})
	w.settle()
	w.delete(c)
	d := w.step()
	d.Slot, d.Actions, d.Notes = nil, nil, nil
	w.commit(d)
	if facts.LastJob(c.Status.Jobs, v2.OperationShutdown) == nil {
		t.Fatal("no shutdown Job is on record")
	}
	w.settle()
	w.jobEnds("shutdown", batchv1.JobComplete, "", 0, "")
	w.settle()
	w.now = w.now.Add(2 * time.Minute)
	w.switchSays([]string{"on"})
	w.settle()
	n := 0
	for _, record := range c.Status.Jobs {
		if record.Operation == v2.OperationShutdown {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d shutdown Jobs within the window", n)
	}
}
