// Package group reconciles groups: it reads a pool and saves what core/pool.Status makes of it. It decides nothing about
// a machine.
package group

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
)

const (
	// firstRetry and maxRetry bound the wait after a refused write or an error.
	firstRetry = time.Second
	maxRetry   = time.Minute
	// leastWait keeps a status that is outdated already from spinning.
	leastWait = time.Second
)

// Reconciler keeps the status of groups.
type Reconciler struct {
	// Cache is read by index.
	Cache client.Reader
	// Live tells whether the namespace still is one to write to.
	Live    *kube.Live
	Writer  *kube.Writer
	Metrics *metrics.Metrics
	Clock   clock.PassiveClock
	// Base is the policy that a group's spec overrides.
	Base policy.Policy
}

// Reconcile reads the pool and saves its status if that changed.
func (r *Reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	view, err := r.observe(ctx, request.NamespacedName)
	if err != nil || view.Group == nil || view.Group.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	status := pool.Status(view, view.Group.Status)
	if !equality.Semantic.DeepEqual(status, view.Group.Status) {
		_, err := r.Writer.GroupStatus(ctx, view.Group, status)
		if kube.DecideAgain(err) {
			r.Metrics.Refused(string(kube.Classify(err)))
			log.FromContext(ctx).V(1).Info("observing again", "because", err.Error())
			return reconcile.Result{RequeueAfter: firstRetry}, nil
		}
		if err != nil {
			return reconcile.Result{}, r.Live.UnlessLeaving(ctx, request.Namespace, err)
		}
	}
	return r.until(pool.Summarize(view).ValidUntil), nil
}

// until brings the group back when what was saved stops being true by itself; zero: only a change does.
func (r *Reconciler) until(t time.Time) reconcile.Result {
	if t.IsZero() {
		return reconcile.Result{}
	}
	return reconcile.Result{RequeueAfter: max(t.Sub(r.Clock.Now()), leastWait)}
}

// Setup registers the reconciler and what it watches: everything a view is made of.
func (r *Reconciler) Setup(mgr ctrl.Manager, namespace string) error {
	w := watches{cache: r.Cache, namespace: namespace}
	err := builder.ControllerManagedBy(mgr).
		Named("group").
		For(&v2.Group{}).
		Watches(&v2.Node{}, handler.EnqueueRequestsFromMapFunc(w.slot)).
		Watches(&v2.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(w.claim)).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(w.job)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(w.kubeNode)).
		WithOptions(controller.Options{
			RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, maxRetry),
		}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the group controller: %w", err)
	}
	return nil
}
