package webhook

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/validate"
)

// slotValidator judges slots beside each other and beside their group.
type slotValidator struct{ Config }

// ValidateCreate refuses a second slot for one machine.
func (v *slotValidator) ValidateCreate(ctx context.Context, slot *v2.Node) (admission.Warnings, error) {
	if ours, warnings := v.serves(slot.Namespace); !ours {
		return warnings, nil
	}
	faults := validate.Slot(slot)
	ctx, done := bounded(ctx)
	defer done()
	around, err := v.around(ctx, slot)
	if err != nil {
		if len(faults) > 0 {
			return nil, refuse("Node", slot.Name, faults)
		}
		return v.unread(err)
	}
	faults = append(faults, validate.SlotPlace(slot, around.slots)...)
	return validate.SlotWarnings(slot, around.pool, around.kubeNode, v.Policy), refuse("Node", slot.Name, faults)
}

// ValidateUpdate refuses what a change breaks, and nothing that was broken before it: a slot that an older schema let in
// can still be held, relabelled and let go.
func (v *slotValidator) ValidateUpdate(ctx context.Context, before, after *v2.Node) (admission.Warnings, error) {
	ours, warnings := v.serves(after.Namespace)
	unchanged := equality.Semantic.DeepEqual(before.Spec, after.Spec) && before.Labels[v2.LabelGroup] == after.Labels[v2.LabelGroup]
	if !ours || unchanged || after.DeletionTimestamp != nil {
		return warnings, nil
	}
	faults := validate.Newly(validate.Slot(before), validate.Slot(after))
	ctx, done := bounded(ctx)
	defer done()
	around, err := v.around(ctx, after)
	if err != nil {
		if len(faults) > 0 {
			return nil, refuse("Node", after.Name, faults)
		}
		return v.unread(err)
	}
	if before.Spec.KubernetesNodeName != after.Spec.KubernetesNodeName {
		claims, err := v.Live.ClaimsOfSlot(ctx, after.Namespace, after.Name)
		if err != nil {
			return v.unread(err)
		}
		faults = append(faults, validate.SlotChange(before, after, claims)...)
		faults = append(faults, validate.SlotPlace(after, around.slots)...)
	}
	return validate.SlotWarnings(after, around.pool, around.kubeNode, v.Policy), refuse("Node", after.Name, faults)
}

// ValidateDelete is never asked.
func (v *slotValidator) ValidateDelete(context.Context, *v2.Node) (admission.Warnings, error) {
	return nil, nil
}

// surroundings are what a slot is judged beside.
type surroundings struct {
	slots    []*v2.Node
	pool     validate.Pool
	kubeNode *corev1.Node
}

func (v *slotValidator) around(ctx context.Context, slot *v2.Node) (surroundings, error) {
	var s surroundings
	var err error
	if s.slots, err = v.Live.Slots(ctx, slot.Namespace); err != nil {
		return s, err
	}
	if group := slot.Labels[v2.LabelGroup]; group != "" {
		s.pool.Slots = labelled(s.slots, group)
		if s.pool.Group, err = v.Live.Group(ctx, slot.Namespace, group); err != nil {
			return s, err
		}
	}
	s.kubeNode, err = v.Live.KubeNode(ctx, slot.Spec.KubernetesNodeName)
	return s, err
}

func labelled(slots []*v2.Node, group string) []*v2.Node {
	var found []*v2.Node
	for _, slot := range slots {
		if slot.Labels[v2.LabelGroup] == group {
			found = append(found, slot)
		}
	}
	return found
}
