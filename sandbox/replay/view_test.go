package replay

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/kube"
)

// view is what the API server kept at one moment: the informer caches of a manager.
type view struct {
	slots     []v2.Node
	claims    []v2.NodeClaim
	groups    []v2.Group
	jobs      []batchv1.Job
	pods      []corev1.Pod
	kubeNodes []corev1.Node
	indexes   indexes
}

// indexes are the cache's, as the manager registers them.
type indexes map[string]client.IndexerFunc

// IndexField keeps an index.
func (x indexes) IndexField(_ context.Context, _ client.Object, field string, values client.IndexerFunc) error {
	x[field] = values
	return nil
}

// stamp is when, by the model's clock, an object was created and its deletion began.
type stamp struct{ created, deleted time.Time }

// look reads everything, and translates the API server's clock: what is new was made in the move that ends now.
func (h *home) look(now time.Time) *view {
	h.t.Helper()
	v := &view{indexes: indexes{}}
	if err := kube.AddIndexes(h.t.Context(), v.indexes); err != nil {
		h.t.Fatal(err)
	}
	v.slots = list(h, &v2.NodeList{}, func(l *v2.NodeList) []v2.Node { return l.Items })
	v.claims = list(h, &v2.NodeClaimList{}, func(l *v2.NodeClaimList) []v2.NodeClaim { return l.Items })
	v.groups = list(h, &v2.GroupList{}, func(l *v2.GroupList) []v2.Group { return l.Items })
	v.jobs = list(h, &batchv1.JobList{}, func(l *batchv1.JobList) []batchv1.Job { return l.Items })
	v.pods = list(h, &corev1.PodList{}, func(l *corev1.PodList) []corev1.Pod { return l.Items })
	v.kubeNodes = list(h, &corev1.NodeList{}, func(l *corev1.NodeList) []corev1.Node { return l.Items })
	translate(h, v.slots, now)
	translate(h, v.claims, now)
	translate(h, v.jobs, now)
	translate(h, v.kubeNodes, now)
	return v
}

func list[L client.ObjectList, T any](h *home, into L, items func(L) []T) []T {
	h.t.Helper()
	if err := h.client.List(h.t.Context(), into, client.InNamespace(h.namespace)); err != nil {
		h.t.Fatal(err)
	}
	return items(into)
}

func translate[T any, PT interface {
	*T
	client.Object
}](h *home, items []T, now time.Time) {
	for i := range items {
		object := PT(&items[i])
		at, known := h.stamps[object.GetUID()]
		if !known {
			at.created = now
		}
		if object.GetDeletionTimestamp() != nil && at.deleted.IsZero() {
			at.deleted = now
		}
		h.stamps[object.GetUID()] = at
		object.SetCreationTimestamp(metav1.NewTime(at.created))
		if object.GetDeletionTimestamp() != nil {
			object.SetDeletionTimestamp(new(metav1.NewTime(at.deleted)))
		}
	}
}

// lagging is the view with what an older one held of a kind.
func (v *view) lagging(old *view, kind model.Cached) *view {
	mixed := *v
	switch kind {
	case model.CachedEverything:
		return old
	case model.CachedClaims:
		mixed.claims = old.claims
	case model.CachedSlots:
		mixed.slots = old.slots
	case model.CachedJobs:
		mixed.jobs, mixed.pods = old.jobs, old.pods
	case model.CachedKubeNodes:
		mixed.kubeNodes = old.kubeNodes
	}
	return &mixed
}

// Get answers from the view.
func (v *view) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *v2.Node:
		return find(v.slots, key.Name, into)
	case *v2.Group:
		return find(v.groups, key.Name, into)
	case *corev1.Node:
		return find(v.kubeNodes, key.Name, into)
	}
	return fmt.Errorf("the view holds no %T", into)
}

// copied is a kind of object that can be copied.
type copied[T any] interface {
	*T
	client.Object
	DeepCopyInto(into *T)
}

func find[T any, PT copied[T]](all []T, name string, into PT) error {
	for i := range all {
		if one := PT(&all[i]); one.GetName() == name {
			one.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, name)
}

// List answers from the view, by index where one is asked for.
func (v *view) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(options)
	switch into := into.(type) {
	case *v2.NodeList:
		into.Items = matching(v, v.slots, o)
	case *v2.NodeClaimList:
		into.Items = matching(v, v.claims, o)
	case *batchv1.JobList:
		into.Items = matching(v, v.jobs, o)
	case *corev1.PodList:
		into.Items = matching(v, v.pods, o)
	case *corev1.NodeList:
		into.Items = matching(v, v.kubeNodes, o)
	default:
		return fmt.Errorf("the view holds no %T", into)
	}
	return nil
}

func matching[T any, PT copied[T]](v *view, all []T, o client.ListOptions) []T {
	var found []T
	for i := range all {
		if v.indexed(PT(&all[i]), o) {
			var one T
			PT(&all[i]).DeepCopyInto(&one)
			found = append(found, one)
		}
	}
	return found
}

func (v *view) indexed(object client.Object, o client.ListOptions) bool {
	if o.FieldSelector == nil {
		return true
	}
	for _, want := range o.FieldSelector.Requirements() {
		for _, value := range v.indexes[want.Field](object) {
			if value == want.Value {
				return true
			}
		}
	}
	return false
}

// named is the object of that name, or nil.
func named[T any, PT copied[T]](all []T, name string) PT {
	for i := range all {
		if one := PT(&all[i]); one.GetName() == name {
			return one
		}
	}
	return nil
}
