package slot

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestOneJobAtATime has the moments in which a second lifecycle Job was once made, each found by core/model.
func TestOneJobAtATime(t *testing.T) {
	tests := map[string]func(w *world){
		"a machine nobody claims waits for the Job of a claim whose finalizer was stripped": func(w *world) {
			w.newClaim("worker-01-a")
			w.settle()
			w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
			w.kubelet("True")
			w.settle()
			w.delete(w.claim("worker-01-a"))
			w.settle()
			w.claim("worker-01-a").Finalizers = nil
			w.collectGarbage()
			w.lastJobOf("shutdown").DeletionTimestamp = new(metav1.NewTime(w.now))
			w.commit(w.step())
			w.now = w.now.Add(3 * time.Minute)
		},
		"of two live claims none has its startup Job made again before the newer has settled": func(w *world) {
			c := w.newClaim("worker-01-b")
			w.commit(w.step())
			w.jobs = nil
			w.newClaim("worker-01-a") // in the same second: by its name it is the older one
			if c.Status.Jobs[0].UID != "" {
				w.t.Fatal("the Job was seen already")
			}
		},
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			prepare(w)
			for range 3 { // in that very second
				decision := w.step()
				for _, action := range decision.Actions {
					if create, ok := action.(CreateJob); ok {
						t.Fatalf("creates Job %s", create.Job.Name)
					}
				}
				w.commit(decision)
			}
		})
	}
}

// creates lists the Jobs that a decision creates.
func creates(d Decision) []string {
	var names []string
	for _, action := range d.Actions {
		if create, ok := action.(CreateJob); ok {
			names = append(names, create.Job.Name)
		}
	}
	return names
}

// TestRecordsOutliveCrashesAndNames has lives whose objects do not fit together any more, each found by core/model.
func TestRecordsOutliveCrashesAndNames(t *testing.T) {
	t.Run("a claim made again under its old name takes the next number for its Job", func(t *testing.T) {
		w := newWorld(t)
		w.newClaim("worker-01-a")
		w.settle()
		w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
		w.claims = nil
		w.newClaim("worker-01-a")
		if got := creates(w.step()); len(got) != 1 || got[0] != "worker-01-a-up-2" {
			t.Fatalf("creates %v, want worker-01-a-up-2", got)
		}
	})
	t.Run("an episode is counted though the manager died before the slot's status was saved", func(t *testing.T) {
		w := newWorld(t)
		w.newClaim("worker-01-a")
		decision := w.step()
		w.commit(Decision{Finalizers: decision.Finalizers, Claims: decision.Claims})
		w.settle()
		if got := w.slot.Status.Episode; got != 1 {
			t.Fatalf("episode %d, want 1", got)
		}
	})
	t.Run("an heir whose inherited boot ends with the hand-over is left without a finalizer", func(t *testing.T) {
		w := newWorld(t)
		w.newClaim("worker-01-a")
		w.settle()
		w.now = w.now.Add(time.Second)
		w.newClaim("worker-01-b")
		w.now = w.now.Add(10 * time.Second)
		w.jobEnds("startup", batchv1.JobFailed, "NeverStarted", 0, "")
		w.commit(w.step())
		if got := w.claim("worker-01-b").Finalizers; len(got) > 0 {
			t.Fatalf("finalizers %v on a claim that is %s", got, w.claim("worker-01-b").Status.Phase)
		}
	})
	for name, test := range map[string]struct {
		on   bool
		want []string
	}{
		"an heir makes the startup Job that was recorded and never made":     {false, []string{"worker-01-b-up-1"}},
		"an heir of such a boot makes none for a machine that is up by then": {true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.newClaim("worker-01-a")
			d := w.step()
			w.commit(Decision{Finalizers: d.Finalizers, Claims: d.Claims, Slot: d.Slot})
			w.newClaim("worker-01-b")
			w.now = w.now.Add(10 * time.Second)
			if test.on {
				w.kubelet("False")
			}
			var made []string
			for range 4 {
				d := w.step()
				made = append(made, creates(d)...)
				w.commit(d)
			}
			if diff := cmp.Diff(test.want, made); diff != "" {
				t.Errorf("Jobs made (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("a claim does not join a machine whose shutdown Job is still going away", func(t *testing.T) {
		w := newWorld(t)
		w.newClaim("worker-01-a")
		w.settle()
		w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
		w.kubelet("True")
		w.settle()
		w.delete(w.claim("worker-01-a"))
		w.settle()
		w.lastJobOf("shutdown").DeletionTimestamp = new(metav1.NewTime(w.now))
		w.claims = nil
		w.newClaim("worker-01-b")
		w.now = w.now.Add(90 * time.Second)
		for range 3 {
			w.commit(w.step())
		}
		if got := w.claim("worker-01-b").Status.Phase; got != "pending" {
			t.Fatalf("the claim is %s", got)
		}
	})
	t.Run("a Job that ends after its claim is gone gets its time to live", func(t *testing.T) {
		w := newWorld(t)
		w.newClaim("worker-01-a")
		w.settle()
		w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
		w.claims = nil
		w.settle()
		if w.lastJobOf("startup").Spec.TTLSecondsAfterFinished == nil {
			t.Fatal("it would stay for good")
		}
	})
}

// TestTheNextManagerMakesTheJobThatWasRecorded has the manager die after each status is saved and before the Job is made.
func TestTheNextManagerMakesTheJobThatWasRecorded(t *testing.T) {
	boot := func(w *world) { w.newClaim("worker-01-a") }
	serve := func(w *world) {
		boot(w)
		w.settle()
		w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
		w.kubelet("True")
		w.settle()
	}
	tests := map[string]struct {
		prepare func(w *world)
		// passes is how many decisions come before the one that makes the Job.
		passes int
		want   string
	}{
		"of a boot":     {boot, 0, "worker-01-a-up-1"},
		"of a shutdown": {func(w *world) { serve(w); w.delete(w.claim("worker-01-a")) }, 1, "worker-01-a-down-1"},
		"of a machine nobody claims": {func(w *world) {
			serve(w)
			w.claims = nil
			w.settle()
			w.now = w.now.Add(2 * time.Minute)
		}, 1, "worker-01-"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.prepare(w)
			for range test.passes {
				w.commit(w.step())
			}
			d := w.step()
			made := creates(d)
			if len(made) != 1 || !strings.HasPrefix(made[0], test.want) {
				t.Fatalf("creates %v, want %s", made, test.want)
			}
			w.commit(Decision{Finalizers: d.Finalizers, Claims: d.Claims, Slot: d.Slot})
			again := w.step()
			if diff := cmp.Diff(made, creates(again)); diff != "" {
				t.Errorf("the next manager creates (-want +got):\n%s", diff)
			}
			for _, c := range again.Claims {
				if was := w.claim(c.Claim.Name).Status; c.Status.Attempt != was.Attempt || len(c.Status.Jobs) != len(was.Jobs) {
					t.Errorf("it counts the attempt, or records the Job, once more: %+v", c.Status)
				}
			}
		})
	}
}
