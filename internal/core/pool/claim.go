package pool

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Ask is who asks for a machine, and how.
type Ask struct {
	// Call and Delta are recorded as they came.
	Call  v2.Call
	Delta int32
	// By is free text for people.
	By string
	// CallID is the id of the one call behind the claim: a create whose answer was lost is known by it.
	CallID string
}

// Episode is the number a new claim on the slot takes: one more than every number seen. Right only for a slot that was
// read no later than its claims; then two providers that race for the slot come to the same number.
func Episode(s Slot) int64 {
	last := s.Object.Status.Episode
	for _, claim := range s.Claims {
		last = max(last, claim.Spec.Episode)
	}
	return last + 1
}

// ClaimName is the name of a provider's claim: creating it is taking the slot, and only one create can win.
func ClaimName(slot *v2.Node, episode int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", slot.UID, episode))
	return slot.Name + "-" + hex.EncodeToString(sum[:3])
}

// NewClaim is the claim that takes the slot for the group, complete as it is to be created.
func NewClaim(v View, s Slot, ask Ask) *v2.NodeClaim {
	episode, now := Episode(s), metav1.NewTime(v.Now.Truncate(1e9))
	claim := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       s.Object.Namespace,
			Name:            ClaimName(s.Object, episode),
			Labels:          labels(v.Name, s.Name),
			OwnerReferences: []metav1.OwnerReference{owner(s.Object)},
		},
		Spec: v2.NodeClaimSpec{
			SlotRef:     corev1.ObjectReference{Name: s.Name},
			Request:     v2.ClaimRequest{Call: ask.Call, Group: v.Name, Delta: ask.Delta},
			RequestedAt: &now,
			RequestedBy: ask.By,
			DeadlineAt:  new(metav1.NewTime(now.Add(v.Policy.EffectiveBudget()))),
			Episode:     episode,
		},
	}
	if ask.CallID != "" {
		claim.Annotations = map[string]string{v2.AnnotationCallID: ask.CallID}
	}
	if v.Group != nil && v.Group.Spec.MaxNodeProvisionTime != nil {
		claim.Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: v.Policy.MaxNodeProvisionTime}
	}
	return claim
}

// labels are those of a claim; they are for people.
func labels(group, slot string) map[string]string {
	return map[string]string{v2.LabelGroup: group, v2.LabelNode: slot}
}

// owner is the slot as the owner of its claims: a deleted slot takes them with it. It is not made to wait for them: the
// slot's own finalizer does.
func owner(slot *v2.Node) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: v2.GroupVersion.String(), Kind: "Node", Name: slot.Name, UID: slot.UID, Controller: new(true),
	}
}
