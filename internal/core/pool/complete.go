package pool

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Asked is what surrounds a claim that a person makes.
type Asked struct {
	// Slot and Group are what the claim names, or nil.
	Slot  *v2.Node
	Group *v2.Group
	// Policy is the one in force for the group.
	Policy policy.Policy
	// By is the name of the user who makes the claim.
	By string
	// Now is when.
	Now time.Time
}

// Complete fills in what a claim leaves out, as NewClaim would have said it, and leaves alone what it says. A claim that
// was made without it works just the same: whoever reads one computes these values.
func Complete(claim *v2.NodeClaim, asked Asked) {
	spec, now := &claim.Spec, metav1.NewTime(asked.Now.Truncate(time.Second))
	if spec.RequestedBy == "" {
		spec.RequestedBy = shortened(asked.By)
	}
	if spec.RequestedAt == nil {
		spec.RequestedAt = &now
	}
	if spec.MaxNodeProvisionTime == nil && asked.Group != nil {
		spec.MaxNodeProvisionTime = asked.Group.Spec.MaxNodeProvisionTime.DeepCopy()
	}
	if spec.DeadlineAt == nil {
		spec.DeadlineAt = deadline(*spec, asked.Policy, now)
	}
	for key, value := range labels(spec.Request.Group, spec.SlotRef.Name) {
		if _, said := claim.Labels[key]; !said {
			if claim.Labels == nil {
				claim.Labels = map[string]string{}
			}
			claim.Labels[key] = value
		}
	}
	if asked.Slot != nil && metav1.GetControllerOf(claim) == nil && !names(claim.OwnerReferences, asked.Slot) {
		claim.OwnerReferences = append(claim.OwnerReferences, owner(asked.Slot))
	}
}

// deadline is where the boot window ends: it begins with the request, or with the claim where that is earlier. A request
// of the future gets none, since a deadline must lie after it; whoever reads such a claim counts from its creation.
func deadline(spec v2.NodeClaimSpec, p policy.Policy, now metav1.Time) *metav1.Time {
	begins, budget := now, p.EffectiveBudget()
	if spec.RequestedAt.Before(&begins) {
		begins = *spec.RequestedAt
	}
	if own := spec.MaxNodeProvisionTime; own != nil {
		budget = max(p.Budget(), own.Duration)
	}
	at := metav1.NewTime(begins.Add(budget))
	if !spec.RequestedAt.Before(&at) {
		return nil
	}
	return &at
}

// maxBy is the most characters that requestedBy may have.
const maxBy = 256

// shortened cuts a name to what the field can hold.
func shortened(name string) string {
	if letters := []rune(name); len(letters) > maxBy {
		return string(letters[:maxBy])
	}
	return name
}

func names(owners []metav1.OwnerReference, slot *v2.Node) bool {
	for _, reference := range owners {
		if reference.UID == slot.UID {
			return true
		}
	}
	return false
}
