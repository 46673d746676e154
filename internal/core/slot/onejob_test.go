package slot

import (
	"testing"
	"time"

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
