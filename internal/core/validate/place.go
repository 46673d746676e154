package validate

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Place is what a new claim meets in its namespace.
type Place struct {
	// Slot is the slot that the claim names, or nil.
	Slot *v2.Node
	// Slots are the slots there are; they are named where Slot is nil.
	Slots []*v2.Node
	// Claims are the claims that name the slot, this one left out.
	Claims []*v2.NodeClaim
}

// ClaimPlace lists why a new claim cannot stand where it would: its slot does not exist or is going away, or another
// claim has it. A claim whose machine is being switched off does not have the slot any more: the new one waits.
func ClaimPlace(claim *v2.NodeClaim, place Place) field.ErrorList {
	path := field.NewPath("spec", "slotRef", "name")
	name := claim.Spec.SlotRef.Name
	switch owner := facts.NewestLive(wanted(place)); {
	case name == "":
		return nil // said already
	case place.Slot == nil:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf("there is no slot of this name in namespace %s; %s",
			claim.Namespace, listing(place.Slots)))}
	case place.Slot.DeletionTimestamp != nil:
		return field.ErrorList{field.Invalid(path, name, "slot "+name+" is being deleted, and its machine switched off with it")}
	case owner != nil:
		return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
			"slot %s is taken by claim %s (%s, requested by %s): a slot has one live claim; delete that one first, or name another slot",
			name, owner.Name, facts.Phase(owner), by(owner)))}
	}
	return nil
}

func wanted(place Place) []*v2.NodeClaim {
	return slices.DeleteFunc(slices.Clone(place.Claims), func(c *v2.NodeClaim) bool { return !facts.Wanted(c, place.Slot) })
}

func by(claim *v2.NodeClaim) string {
	if claim.Spec.RequestedBy == "" {
		return "somebody"
	}
	return claim.Spec.RequestedBy
}

// mostNamed is how many slots a message names.
const mostNamed = 12

func listing(slots []*v2.Node) string {
	var names []string
	for _, slot := range slots {
		names = append(names, slot.Name)
	}
	slices.Sort(names)
	switch n := len(names); {
	case n == 0:
		return "there are no slots in it"
	case n > mostNamed:
		return fmt.Sprintf("the slots are %s and %d more", strings.Join(names[:mostNamed], ", "), n-mostNamed)
	}
	return "the slots are " + strings.Join(names, ", ")
}

// SlotPlace lists what is wrong with a slot beside the others of its namespace: a machine has one slot, else the one
// would switch off what the other wants.
func SlotPlace(slot *v2.Node, others []*v2.Node) field.ErrorList {
	for _, other := range others {
		if other.Name != slot.Name && other.Spec.KubernetesNodeName == slot.Spec.KubernetesNodeName {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "kubernetesNodeName"), slot.Spec.KubernetesNodeName,
				"slot "+other.Name+" has this name already: a machine has one slot")}
		}
	}
	return nil
}

// SlotChange lists what may not change about a slot now: its kubeNode, while a claim has its machine or owes its shutdown.
func SlotChange(before, after *v2.Node, claims []*v2.NodeClaim) field.ErrorList {
	if before.Spec.KubernetesNodeName == after.Spec.KubernetesNodeName {
		return nil
	}
	for _, claim := range claims {
		if facts.Live(claim) || facts.OwesReversal(claim, before) {
			return field.ErrorList{field.Invalid(field.NewPath("spec", "kubernetesNodeName"), after.Spec.KubernetesNodeName, fmt.Sprintf(
				"cannot change from %s while claim %s (%s) has the machine: delete the claim, and wait until it is gone",
				before.Spec.KubernetesNodeName, claim.Name, facts.Phase(claim)))}
		}
	}
	return nil
}

// Newly are the faults that a change brings: what was wrong before, and was let in then, keeps nobody from mending
// something else.
func Newly(before, after field.ErrorList) field.ErrorList {
	var fresh field.ErrorList
	for _, fault := range after {
		if !slices.ContainsFunc(before, func(old *field.Error) bool { return old.Error() == fault.Error() }) {
			fresh = append(fresh, fault)
		}
	}
	return fresh
}
