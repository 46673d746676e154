package slot

import (
	"context"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/kube"
)

// workers is how many machines are decided about at once. They are independent, and a home has tens of them.
const workers = 4

// Setup registers the reconciler and what it watches: everything an Input is made of that can change by itself.
func (r *Reconciler) Setup(mgr ctrl.Manager, namespace string) error {
	if r.Again == nil {
		r.Again = retries()
	}
	w := watches{cache: r.Cache, namespace: namespace}
	err := builder.ControllerManagedBy(mgr).
		Named("slot").
		For(&v2.Node{}).
		Watches(&v2.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(w.claim)).
		Watches(&batchv1.Job{}, handler.EnqueueRequestsFromMapFunc(w.labelled)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(w.pod), builder.WithPredicates(podChanges())).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(w.kubeNode)).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(w.everySlot), builder.WithPredicates(neighbourChanges())).
		Watches(&v2.Group{}, handler.EnqueueRequestsFromMapFunc(w.group)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, RateLimiter: retries()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("setting up the slot controller: %w", err)
	}
	return nil
}

func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, maxRetry)
}

// watches maps a change to the slots it concerns.
type watches struct {
	cache     client.Reader
	namespace string
}

func (w watches) request(slot string) []reconcile.Request {
	if slot == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: slot}}}
}

func (w watches) claim(_ context.Context, object client.Object) []reconcile.Request {
	return w.request(object.(*v2.NodeClaim).Spec.SlotRef.Name)
}

// labelled is the slot that a lifecycle Job, or a pod of one, names by label.
func (w watches) labelled(_ context.Context, object client.Object) []reconcile.Request {
	if object.GetNamespace() != w.namespace {
		return nil
	}
	return w.request(object.GetLabels()[v2.LabelNode])
}

// pod is the slot whose lifecycle Job runs the pod, and those whose machine it runs on: a drain waits for it.
func (w watches) pod(ctx context.Context, object client.Object) []reconcile.Request {
	requests := w.labelled(ctx, object)
	if name := object.(*corev1.Pod).Spec.NodeName; name != "" {
		requests = append(requests, w.slots(ctx, client.MatchingFields{kube.IndexSlotsByKubeNodeName: name})...)
	}
	return requests
}

func (w watches) kubeNode(ctx context.Context, object client.Object) []reconcile.Request {
	return w.slots(ctx, client.MatchingFields{kube.IndexSlotsByKubeNodeName: object.GetName()})
}

// everySlot is all of them: where power Jobs can run concerns each.
func (w watches) everySlot(ctx context.Context, _ client.Object) []reconcile.Request {
	return w.slots(ctx)
}

// group is the group's slots and those of its claims.
func (w watches) group(ctx context.Context, object client.Object) []reconcile.Request {
	requests := w.slots(ctx, client.MatchingFields{kube.IndexSlotsByGroup: object.GetName()})
	var claims v2.NodeClaimList
	err := w.cache.List(ctx, &claims, client.InNamespace(w.namespace), client.MatchingFields{kube.IndexClaimsByGroup: object.GetName()})
	if err != nil {
		log.FromContext(ctx).Error(err, "listing the claims of a group", "group", object.GetName())
	}
	for i := range claims.Items {
		requests = append(requests, w.claim(ctx, &claims.Items[i])...)
	}
	return requests
}

func (w watches) slots(ctx context.Context, which ...client.ListOption) []reconcile.Request {
	var list v2.NodeList
	if err := w.cache.List(ctx, &list, append(which, client.InNamespace(w.namespace))...); err != nil {
		// The cache refuses only what is not indexed, which no wait would mend.
		log.FromContext(ctx).Error(err, "listing the slots a change concerns")
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, w.request(list.Items[i].Name)...)
	}
	return requests
}

// podChanges lets through what a decision can depend on: any change of a lifecycle Job's pod; of others, that they are
// bound, begin to go, end or are gone.
func podChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*corev1.Pod), e.ObjectNew.(*corev1.Pod)
			return after.Labels[v2.LabelNode] != "" || podMatters(before, after)
		},
	}
}

func podMatters(before, after *corev1.Pod) bool {
	return before.Spec.NodeName != after.Spec.NodeName || before.Status.Phase != after.Status.Phase ||
		deleting(before) != deleting(after)
}

func deleting(object metav1.Object) bool { return object.GetDeletionTimestamp() != nil }

// neighbourChanges lets through what makes a kubeNode a place for power Jobs, or no longer one.
func neighbourChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return neighbourMatters(e.ObjectOld.(*corev1.Node), e.ObjectNew.(*corev1.Node))
		},
	}
}

func neighbourMatters(before, after *corev1.Node) bool {
	return facts.KubeNodeReady(before) != facts.KubeNodeReady(after) ||
		before.Spec.Unschedulable != after.Spec.Unschedulable || deleting(before) != deleting(after) ||
		!slices.EqualFunc(before.Spec.Taints, after.Spec.Taints, func(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }) ||
		!equality.Semantic.DeepEqual(before.Labels, after.Labels)
}
