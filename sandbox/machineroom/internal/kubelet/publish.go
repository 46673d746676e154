package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// publish writes the status in hand. A pod that is gone, or is another of the same name, needs nothing more.
func (r *podRun) publish(ctx context.Context) error {
	r.mu.Lock()
	derive(&r.status, r.pod, metav1.Now())
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": r.pod.UID}, "status": r.status})
	r.mu.Unlock()
	if err != nil {
		return fmt.Errorf("encoding status of pod %s: %w", r.pod.Name, err)
	}
	_, err = r.k.cfg.Client.CoreV1().Pods(r.pod.Namespace).
		Patch(ctx, r.pod.Name, types.StrategicMergePatchType, body, metav1.PatchOptions{}, "status")
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing status of pod %s: %w", r.pod.Name, err)
	}
	return nil
}

// publishOrRetry returns when to try again, nil if there is no need.
func (r *podRun) publishOrRetry(ctx context.Context) <-chan time.Time {
	if err := r.publish(ctx); err != nil {
		r.k.cfg.Log.Debug("telling a pod's status", "err", err)
		return time.After(retryEvery)
	}
	return nil
}

func (r *podRun) publishUntilTaken(ctx context.Context) {
	for r.publishOrRetry(ctx) != nil && pause(ctx, retryEvery) {
	}
}

// deleteObject is the kubelet's last act for a deleted pod: nothing of it runs here any more.
func (r *podRun) deleteObject(ctx context.Context) {
	now := metav1.DeleteOptions{
		GracePeriodSeconds: new(int64(0)),
		Preconditions:      &metav1.Preconditions{UID: &r.pod.UID},
	}
	for {
		err := r.k.cfg.Client.CoreV1().Pods(r.pod.Namespace).Delete(ctx, r.pod.Name, now)
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		r.k.cfg.Log.Debug("removing a deleted pod", "pod", r.pod.Name, "err", err)
		if !pause(ctx, retryEvery) {
			return
		}
	}
}

// terminal says whether a pod in this phase is over.
func terminal(phase corev1.PodPhase) bool {
	return phase == corev1.PodSucceeded || phase == corev1.PodFailed
}
