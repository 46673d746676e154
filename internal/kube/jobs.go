package kube

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// evictPatience bounds one eviction. An API server that is busy with a budget asks its client to come back in ten
// seconds, and the client would wait for it; the next observation is soon enough.
const evictPatience = 5 * time.Second

// CreateJob creates a Job. A Job of the same name and the same controller owner is that Job: an earlier create whose
// answer was lost. One of another owner is ErrForeignJob.
func (w *Writer) CreateJob(ctx context.Context, job *batchv1.Job) error {
	err := w.client.Create(ctx, job.DeepCopy())
	if apierrors.IsAlreadyExists(err) {
		return w.sameJob(ctx, job)
	}
	if err != nil {
		return fmt.Errorf("creating Job %s: %w", job.Name, err)
	}
	return nil
}

func (w *Writer) sameJob(ctx context.Context, job *batchv1.Job) error {
	found, err := w.live.Job(ctx, job.Namespace, job.Name)
	if err != nil {
		return err
	}
	if found == nil || controllerUID(found) == "" || controllerUID(found) != controllerUID(job) {
		return fmt.Errorf("creating Job %s: %w", job.Name, ErrForeignJob)
	}
	return nil
}

func controllerUID(object client.Object) types.UID {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.UID
	}
	return ""
}

// DeleteJob deletes a Job by UID. The Job stays until its pods are gone, so that whoever sees no Job sees no pod at work.
func (w *Writer) DeleteJob(ctx context.Context, namespace, name string, uid types.UID) error {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	err := w.client.Delete(ctx, job, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationForeground))
	if err != nil {
		return fmt.Errorf("deleting Job %s: %w", name, err)
	}
	return nil
}

// SetJobTTL lets a Job be collected some time after its end.
func (w *Writer) SetJobTTL(ctx context.Context, namespace, name string, uid types.UID, seconds int32) error {
	job, err := w.live.Job(ctx, namespace, name)
	if err != nil {
		return err
	}
	if job == nil || job.UID != uid {
		return fmt.Errorf("setting the TTL of Job %s: %w", name, apierrors.NewNotFound(batchv1.Resource("jobs"), name))
	}
	after := job.DeepCopy()
	after.Spec.TTLSecondsAfterFinished = ptr.To(seconds)
	return w.patch(ctx, "setting the TTL of Job", job, after)
}

// Evict asks the API server to evict a pod, and answers why it would not; nil: it agreed. A refusal is no error, whoever's it
// is, for the other pods shall be asked to go all the same: that of a PodDisruptionBudget, of two of them at once (which the
// API server calls an internal error), of a webhook, of a namespace that is being deleted, or an answer that takes too long.
// The next observation asks again. A pod that is gone, or whose name another has taken, counts as evicted.
func (w *Writer) Evict(ctx context.Context, namespace, name string, uid types.UID) (refusal, err error) {
	bounded, cancel := context.WithTimeout(ctx, evictPatience)
	defer cancel()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	eviction := &policyv1.Eviction{
		ObjectMeta:    pod.ObjectMeta,
		DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}},
	}
	err = w.client.SubResource("eviction").Create(bounded, pod, eviction)
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return nil, nil
	case apierrors.IsTooManyRequests(err), apierrors.IsInternalError(err), apierrors.IsForbidden(err), ctx.Err() == nil && bounded.Err() != nil:
		return err, nil
	}
	return nil, fmt.Errorf("evicting pod %s/%s: %w", namespace, name, err)
}
