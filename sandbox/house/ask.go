package house

import (
	"context"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Ask makes the claim of a person for the home's machine. deadline is that of its boot; 0 leaves it to whoever fills in
// what is missing, which is nobody after Unhook.
func (h *Home) Ask(name string, deadline time.Duration) {
	h.T.Helper()
	claim := h.wish(name)
	if deadline > 0 {
		now := time.Now()
		if h.Clock != nil {
			now = h.Clock.Now()
		}
		claim.Spec.DeadlineAt = new(metav1.NewTime(now.Add(deadline)))
	}
	h.Create(claim)
}

func (h *Home) wish(name string) *v2.NodeClaim {
	return &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: h.Namespace},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: h.Machine},
			Request: v2.ClaimRequest{Call: v2.CallCreate, Group: Pool},
			// Kept for the assertions.
			TTLSecondsAfterFinished: new(int32(3600)),
		},
	}
}

// Unhook takes the webhooks away for good: what they would refuse, a second live claim, or fill in, a deadline, is then
// the controller's affair, as it is where no manager answered them.
func (h *Home) Unhook() {
	h.T.Helper()
	meta := metav1.ObjectMeta{Name: h.Namespace}
	for _, hooks := range []client.Object{
		&admissionv1.MutatingWebhookConfiguration{ObjectMeta: meta}, &admissionv1.ValidatingWebhookConfiguration{ObjectMeta: meta},
	} {
		if err := h.Client.Delete(h.T.Context(), hooks); client.IgnoreNotFound(err) != nil {
			h.T.Fatal(err)
		}
	}
	h.Eventually("the API server asks nobody", func(ctx context.Context) string {
		probe := h.wish("probe")
		switch err := h.Client.Create(ctx, probe, client.DryRunAll); {
		case err != nil:
			return err.Error()
		case probe.Spec.RequestedAt != nil:
			return "somebody filled in " + probe.Spec.RequestedAt.String()
		}
		return ""
	})
}
