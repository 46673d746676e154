package observer

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/observer/switches"
)

// Watch tells the observer of slots, and why their switches should be asked now. It works one slot at a time.
type Watch struct {
	Cache    client.Reader
	Observer *Observer
	Readings *kube.Readings

	seen map[string]seen
}

// seen is what was last seen of a slot, as far as it is a reason to ask its switch.
type seen struct {
	uid    types.UID
	power  *v2.PowerSwitch
	kubeOn bool
	// ended is when the last of its lifecycle Jobs ended, on record.
	ended time.Time
}

// Setup watches slots and their claims, on which the ends of lifecycle Jobs are recorded.
func (w *Watch) Setup(mgr ctrl.Manager) error {
	w.seen = map[string]seen{}
	err := ctrl.NewControllerManagedBy(mgr).
		Named("power-observer").
		For(&v2.Node{}).
		Watches(&v2.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
			name := object.(*v2.NodeClaim).Spec.SlotRef.Name
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
		})).
		Complete(w)
	if err != nil {
		return fmt.Errorf("watching slots: %w", err)
	}
	return nil
}

// Reconcile looks at one slot. A reading of a switch that cannot be read any more is taken away.
func (w *Watch) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	slot, err := kube.Get[v2.Node](ctx, w.Cache, request.Namespace, request.Name)
	if err != nil {
		return reconcile.Result{}, err
	}
	if slot == nil || !switches.Readable(slot.Spec.Power) {
		w.Observer.Forget(request.Name)
		delete(w.seen, request.Name)
		if slot != nil && slot.Status.PowerReading != nil {
			return reconcile.Result{}, w.Readings.Save(ctx, slot, nil)
		}
		return reconcile.Result{}, nil
	}
	now, err := w.look(ctx, slot)
	if err != nil {
		return reconcile.Result{}, err
	}
	w.Observer.Tell(slot, w.seen[slot.Name].cause(now))
	w.seen[slot.Name] = now
	return reconcile.Result{}, nil
}

// look is what is a reason to ask. The claims are read through: a home has tens of them.
func (w *Watch) look(ctx context.Context, slot *v2.Node) (seen, error) {
	s := seen{uid: slot.UID, power: slot.Spec.Power,
		kubeOn: slot.Status.PowerState == v2.PowerOn && slot.Status.PowerSource == v2.PowerSourceKubelet}
	var claims v2.NodeClaimList
	if err := w.Cache.List(ctx, &claims, client.InNamespace(slot.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return s, fmt.Errorf("listing the claims of slot %s: %w", slot.Name, err)
	}
	for i := range claims.Items {
		if claims.Items[i].Spec.SlotRef.Name == slot.Name {
			s.end(claims.Items[i].Status.Jobs)
		}
	}
	if u := slot.Status.Unclaimed; u != nil {
		s.end(u.Jobs)
	}
	return s, nil
}

func (s *seen) end(records []v2.JobRecord) {
	for i := range records {
		if at := records[i].FinishedAt; at != nil && at.After(s.ended) {
			s.ended = at.Time
		}
	}
}

// cause is why the switch should be asked, now that this is seen. A Job's end that is not later than the last one seen is
// old: claims are collected.
func (s seen) cause(now seen) Cause {
	switch {
	case s.uid != now.uid || !equality.Semantic.DeepEqual(s.power, now.power):
		return Changed
	case now.ended.After(s.ended):
		return Ended
	case s.kubeOn != now.kubeOn:
		return Heard
	}
	return Nothing
}
