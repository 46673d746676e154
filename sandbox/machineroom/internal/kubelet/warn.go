package kubelet

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// warn writes an event about the pod, as a kubelet does. One that is not taken is lost, as a kubelet's is.
func (r *podRun) warn(ctx context.Context, reason, message string) {
	now := metav1.NewTime(time.Now())
	_, err := r.k.cfg.Client.CoreV1().Events(r.pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: r.pod.Name + "-", Namespace: r.pod.Namespace},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: "v1", Kind: "Pod", Namespace: r.pod.Namespace, Name: r.pod.Name, UID: r.pod.UID,
		},
		Type: corev1.EventTypeWarning, Reason: reason, Message: message, Count: 1, FirstTimestamp: now, LastTimestamp: now,
		Source: corev1.EventSource{Component: "kubelet", Host: r.k.cfg.Spec.Name},
	}, metav1.CreateOptions{})
	if err != nil && ctx.Err() == nil {
		r.k.cfg.Log.Warn("writing an event", "pod", r.pod.Name, "err", err)
	}
}
