package kube

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Live reads the API server past every cache.
type Live struct{ reader client.Reader }

// NewLive reads through a reader that has no cache.
func NewLive(reader client.Reader) *Live { return &Live{reader: reader} }

// Claim is the claim as it is now, or nil when it is gone.
func (l *Live) Claim(ctx context.Context, namespace, name string) (*v2.NodeClaim, error) {
	return Get[v2.NodeClaim](ctx, l.reader, namespace, name)
}

// Slot is the slot as it is now, or nil when it is gone.
func (l *Live) Slot(ctx context.Context, namespace, name string) (*v2.Node, error) {
	return Get[v2.Node](ctx, l.reader, namespace, name)
}

// KubeNode is the kubeNode as it is now, or nil when it is gone.
func (l *Live) KubeNode(ctx context.Context, name string) (*corev1.Node, error) {
	return Get[corev1.Node](ctx, l.reader, "", name)
}

// Job is the Job as it is now, or nil when it is gone.
func (l *Live) Job(ctx context.Context, namespace, name string) (*batchv1.Job, error) {
	return Get[batchv1.Job](ctx, l.reader, namespace, name)
}

// ClaimsOfSlot are the claims that name the slot now. The API server has no index for it, so all claims of the
// namespace are read: a home has tens of them.
func (l *Live) ClaimsOfSlot(ctx context.Context, namespace, slot string) ([]*v2.NodeClaim, error) {
	var list v2.NodeClaimList
	if err := l.reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing claims of slot %s: %w", slot, err)
	}
	var claims []*v2.NodeClaim
	for i := range list.Items {
		if list.Items[i].Spec.SlotRef.Name == slot {
			claims = append(claims, &list.Items[i])
		}
	}
	return claims, nil
}

// NamespaceTerminating is whether the namespace is being deleted, or is gone.
func (l *Live) NamespaceTerminating(ctx context.Context, name string) (bool, error) {
	namespace, err := Get[corev1.Namespace](ctx, l.reader, "", name)
	if err != nil {
		return false, err
	}
	return namespace == nil || namespace.DeletionTimestamp != nil, nil
}

// UnlessLeaving is the error, or nil when it only says that the namespace is on its way out and took our rights with it:
// then nobody will read what was to be written.
func (l *Live) UnlessLeaving(ctx context.Context, namespace string, err error) error {
	if Classify(err) != Denied {
		return err
	}
	if leaving, readErr := l.NamespaceTerminating(ctx, namespace); readErr != nil || !leaving {
		return err
	}
	return nil
}

// Absent is ErrPresent when an object of that name exists now, with that UID if one is given.
func (l *Live) Absent(ctx context.Context, object client.Object, namespace, name string, uid types.UID) error {
	err := l.reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading %s %s again: %w", kindOf(object), name, err)
	case uid != "" && uid != object.GetUID():
		return nil
	}
	return fmt.Errorf("%s %s %w", kindOf(object), name, ErrPresent)
}

// kindOf is the kind of a typed object, for people.
func kindOf(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }

// Unchanged is a conflict when the object is not, now, the version that was read.
func (l *Live) Unchanged(ctx context.Context, read client.Object) error {
	now := read.DeepCopyObject().(client.Object)
	if err := l.reader.Get(ctx, client.ObjectKeyFromObject(read), now); err != nil {
		return fmt.Errorf("reading %T %s again: %w", read, read.GetName(), err)
	}
	if now.GetUID() != read.GetUID() || now.GetResourceVersion() != read.GetResourceVersion() {
		return fmt.Errorf("%T %s %w", read, read.GetName(), ErrChanged)
	}
	return nil
}

// NoOtherJob is ErrPresent when a lifecycle Job of the slot, of another name, has not ended or is still going away.
func (l *Live) NoOtherJob(ctx context.Context, namespace, slot, name string) error {
	var list batchv1.JobList
	if err := l.reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabels{v2.LabelNode: slot}); err != nil {
		return fmt.Errorf("listing the Jobs of slot %s: %w", slot, err)
	}
	for i := range list.Items {
		if job := &list.Items[i]; job.Name != name && facts.JobUnfinished(job) {
			return fmt.Errorf("lifecycle Job %s of slot %s %w", job.Name, slot, ErrPresent)
		}
	}
	return nil
}

// Reasons of the cluster's warnings that nothing on the object itself tells.
const (
	// ReasonFailedCreate is a Job that gets no pod: a quota, an admission, a missing ServiceAccount.
	ReasonFailedCreate = "FailedCreate"
	// ReasonFailedMount is a pod that gets no containers, because of a missing Secret or ConfigMap.
	ReasonFailedMount = "FailedMount"
)

// Complaint is what the cluster's newest warning of that reason says about an object. Empty: nobody complained.
func (l *Live) Complaint(ctx context.Context, about client.Object, reason string) (string, error) {
	var list corev1.EventList
	err := l.reader.List(ctx, &list, client.InNamespace(about.GetNamespace()),
		client.MatchingFields{"involvedObject.uid": string(about.GetUID()), "reason": reason})
	if err != nil {
		return "", fmt.Errorf("listing the events about %s: %w", about.GetName(), err)
	}
	if len(list.Items) == 0 {
		return "", nil
	}
	newest := slices.MaxFunc(list.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return newest.Reason + ": " + newest.Message, nil
}

// Get reads one object; one that does not exist is nil, not an error.
func Get[T any, PT interface {
	*T
	client.Object
}](ctx context.Context, reader client.Reader, namespace, name string) (PT, error) {
	object := PT(new(T))
	err := reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading %s %s: %w", kindOf(object), name, err)
	}
	return object, nil
}
