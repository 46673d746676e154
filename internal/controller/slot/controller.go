// Package slot reconciles slots: it observes one machine, asks core/slot.Step, and commits the answer.
//
// The key is the slot's name, also for claims of a slot that is gone. No state outlives a pass but the brake's token.
package slot

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
)

const (
	// firstRetry and maxRetry bound the wait after a refused write or an error.
	firstRetry = 250 * time.Millisecond
	maxRetry   = time.Minute
	// worthTelling is how many refused writes in a row, over 16 seconds, are no ordinary fate any more.
	worthTelling = 6
	// leastWait keeps a wake that has passed already from spinning.
	leastWait = time.Second
)

// Reconciler decides about one machine at a time.
type Reconciler struct {
	Observer
	Committer
	// Again is the wait before deciding again after a refused write; nil gets the default.
	Again workqueue.TypedRateLimiter[reconcile.Request]
}

// Reconcile observes, steps and commits. A refused write is no error: the world was not as it was observed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	in, err := r.Observe(ctx, request.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision, err := slot.Step(in)
	if err != nil {
		return reconcile.Result{}, err
	}
	braked, err := r.Commit(ctx, in, decision)
	if kube.DecideAgain(err) {
		return r.again(ctx, request, err), nil
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	r.Again.Forget(request)
	return r.wake(earliest(decision.Wake, braked)), nil
}

// again is the result that brings the key back after a refused write. A stale cache or a paused leader is over in no time;
// what is refused for longer somebody has to see.
func (r *Reconciler) again(ctx context.Context, request reconcile.Request, refused error) reconcile.Result {
	r.Metrics.Refused(string(kube.Classify(refused)))
	log := log.FromContext(ctx)
	if r.Again.NumRequeues(request) < worthTelling {
		log = log.V(1)
	}
	log.Info("deciding again", "because", refused.Error())
	return reconcile.Result{RequeueAfter: r.Again.When(request)}
}

// wake is the result that brings the key back at t; zero: only a change does.
func (r *Reconciler) wake(t time.Time) reconcile.Result {
	if t.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(t.Sub(r.Clock.Now()), leastWait)}
}

// earliest is the sooner of two times, of which zero is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
