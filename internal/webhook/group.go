package webhook

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/validate"
)

// groupValidator judges groups beside their slots.
type groupValidator struct{ Config }

// ValidateCreate refuses what the schema cannot see.
func (v *groupValidator) ValidateCreate(ctx context.Context, group *v2.Group) (admission.Warnings, error) {
	return v.judge(ctx, nil, group)
}

// ValidateUpdate refuses what a change breaks, and nothing that was broken before it.
func (v *groupValidator) ValidateUpdate(ctx context.Context, before, after *v2.Group) (admission.Warnings, error) {
	if after.DeletionTimestamp != nil || equality.Semantic.DeepEqual(before.Spec, after.Spec) {
		return nil, nil
	}
	return v.judge(ctx, before, after)
}

// ValidateDelete is never asked.
func (v *groupValidator) ValidateDelete(context.Context, *v2.Group) (admission.Warnings, error) {
	return nil, nil
}

func (v *groupValidator) judge(ctx context.Context, before, group *v2.Group) (admission.Warnings, error) {
	if ours, warnings := v.serves(group.Namespace); !ours {
		return warnings, nil
	}
	faults := validate.Group(group)
	if before != nil {
		faults = validate.Newly(validate.Group(before), faults)
	}
	if len(faults) > 0 {
		return nil, refuse("Group", group.Name, faults)
	}
	ctx, done := bounded(ctx)
	defer done()
	slots, err := v.Live.Slots(ctx, group.Namespace)
	if err != nil {
		return v.unread(err)
	}
	return validate.GroupWarnings(group, labelled(slots, group.Name), v.Policy), nil
}
