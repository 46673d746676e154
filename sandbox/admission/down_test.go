package admission_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// What the webhook would refuse is stored while no manager answers; the schema still refuses, and everything may end.
func TestWhileNoManagerAnswers(t *testing.T) {
	h := newHome(t)
	_, stop := h.manage(h.address)
	h.create(h.group(), h.slot("a"))
	h.asked()
	stop()

	refused(t, h.client.Create(t.Context(), h.claim("nameless", "")), "spec.slotRef.name", "the slot's name is required")
	first, second, ended := h.claim("first", "a"), h.claim("second", "a"), h.claim("ended", "a")
	h.create(ended)
	ended.Status.Phase = v2.ClaimFailed
	if err := h.client.Status().Update(t.Context(), ended); err != nil {
		t.Errorf("a status that ends a claim is refused: %v", err)
	}
	if err := h.client.Delete(t.Context(), ended); err != nil {
		t.Errorf("a delete is refused: %v", err)
	}
	twin := h.slot("twin", func(s *v2.Node) { s.Spec.KubernetesNodeName, s.Finalizers = "a.lan", []string{"example.com/old"} })
	h.create(first, twin)
	// The newer of two is told by the second in which it was made.
	h.eventually("a second passes", func(ctx context.Context) error {
		probe := h.claim("probe", "a")
		if err := h.client.Create(ctx, probe, client.DryRunAll); err != nil {
			return err
		}
		if !probe.CreationTimestamp.After(first.CreationTimestamp.Time) {
			return fmt.Errorf("it is still %s", first.CreationTimestamp)
		}
		return nil
	})
	h.create(second)
	if second.Spec.RequestedBy != "" {
		t.Fatal("somebody has answered")
	}

	h.manage(h.address)
	h.asked()
	// What the webhook would have filled in is what the controller goes by.
	same := second.DeepCopy()
	pool.Complete(same, pool.Asked{Group: h.group(), Policy: policy.Default(), Now: second.CreationTimestamp.Time})
	h.told(second, "somebody asked", "deadline "+same.Spec.DeadlineAt.UTC().Format(time.RFC3339))
	h.eventually("the controller repairs a second live claim", func(ctx context.Context) error {
		if err := h.client.Get(ctx, client.ObjectKeyFromObject(first), first); err != nil {
			return err
		}
		if first.Status.Reason != v2.ReasonSuperseded {
			return fmt.Errorf("the first is %s %s", first.Status.Phase, first.Status.Reason)
		}
		return nil
	})
	keepsShared(t, h, twin)
	letGo(t, h, twin)
}

// keepsShared: a machine that two slots name comes up for a claim of the one, and the other does not take it for unclaimed.
func keepsShared(t *testing.T, h *home, twin *v2.Node) {
	t.Helper()
	kubeNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a.lan"}}
	h.create(kubeNode)
	h.eventually("the twin is protected", func(ctx context.Context) error {
		// A kubelet that reports, since the node lifecycle controller takes a quiet one for silent.
		now := metav1.Now()
		kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, LastHeartbeatTime: now, LastTransitionTime: now}}
		if err := h.client.Status().Update(ctx, kubeNode); err != nil {
			return errors.Join(err, h.client.Get(ctx, client.ObjectKeyFromObject(kubeNode), kubeNode))
		}
		if err := h.client.Get(ctx, client.ObjectKeyFromObject(twin), twin); err != nil {
			return err
		}
		protected := meta.FindStatusCondition(twin.Status.Conditions, v2.ConditionProtected)
		if protected == nil || protected.Status != metav1.ConditionTrue || protected.Message != "slot a names kubeNode a.lan as well: delete one of the two" {
			return fmt.Errorf("its condition is %v", protected)
		}
		return nil
	})
}

// letGo holds, relabels and ends a slot that the webhook would not let in any more.
func letGo(t *testing.T, h *home, twin *v2.Node) {
	t.Helper()
	refused(t, h.client.Create(t.Context(), h.slot("third", func(s *v2.Node) { s.Spec.KubernetesNodeName = "a.lan" })), "has this name already")
	for what, patch := range map[string]string{
		"hold":    `{"spec":{"suspend":true}}`,
		"relabel": `{"metadata":{"labels":{"group":"other"}}}`,
	} {
		if err := h.client.Patch(t.Context(), twin, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := h.client.Delete(t.Context(), twin); err != nil {
		t.Errorf("delete: %v", err)
	}
	if err := h.client.Patch(t.Context(), twin, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Errorf("drop the finalizer: %v", err)
	}
	h.eventually("the slot is gone", func(ctx context.Context) error { return h.gone(ctx, twin) })
}
