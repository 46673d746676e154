package validate

import (
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Pool is what surrounds a group, or a slot of it.
type Pool struct {
	// Group is the group, or nil when there is none of that name.
	Group *v2.Group
	// Slots are the slots with the group's label.
	Slots []*v2.Node
}

// ClaimWarnings says what is legal about a claim and may surprise whoever makes it.
func ClaimWarnings(claim *v2.NodeClaim, place Place, group *v2.Group, now time.Time) []string {
	var warnings []string
	asked := claim.Spec.Request.Group
	if group == nil && asked != "" {
		warnings = append(warnings, fmt.Sprintf("spec.request.group: there is no Group %q in this namespace; the default times hold", asked))
	}
	slot := place.Slot
	if slot == nil {
		return warnings
	}
	if belongs := slot.Labels[v2.LabelGroup]; belongs != asked {
		warnings = append(warnings, fmt.Sprintf(
			"spec.request.group: slot %s belongs to group %q; %q governs it until this claim ends", slot.Name, belongs, asked))
	}
	if hold := facts.HoldOf(slot, now); hold.Held {
		warnings = append(warnings, fmt.Sprintf("slot %s is held (%s): nothing starts until the hold ends", slot.Name, hold.Why))
	}
	for _, other := range place.Claims {
		if facts.OwesReversal(other, slot) {
			warnings = append(warnings, fmt.Sprintf("the machine of slot %s is being switched off for claim %s; this claim waits for that", slot.Name, other.Name))
		}
	}
	return warnings
}

// SlotWarnings says what is legal about a slot and unwise. kubeNode is the one it names, or nil; base is the policy that
// the group overrides.
func SlotWarnings(slot *v2.Node, pool Pool, kubeNode *corev1.Node, base policy.Policy) []string {
	var warnings []string
	label := slot.Labels[v2.LabelGroup]
	switch {
	case label == "":
		warnings = append(warnings, `no label "group": the slot belongs to no pool, and only claims made by hand wake its machine`)
	case pool.Group == nil:
		warnings = append(warnings, fmt.Sprintf(`label "group": there is no Group %q in this namespace; the slot is not offered until there is`, label))
	}
	if len(slot.Spec.NodeCapacity) == 0 && !offersAny(pool.Slots) {
		warnings = append(warnings, "spec.nodeCapacity: no slot of this pool declares what it offers, so cluster-autoscaler cannot grow the pool from zero")
	}
	if facts.ControlPlane(kubeNode) {
		warnings = append(warnings, fmt.Sprintf(
			"spec.kubernetesNodeName: %s is a control-plane node; as unclaimed it is never switched off, but a claim that ends does that", kubeNode.Name))
	}
	if pool.Group != nil && allOrNothing(pool.Group) && len(others(slot, pool.Slots)) > 0 {
		warnings = append(warnings, allOrNothingWarning(pool.Group))
	}
	warnings = append(warnings, podWarnings("spec.startupPodSpec", slot.Spec.StartupPodSpec)...)
	warnings = append(warnings, podWarnings("spec.shutdownPodSpec", slot.Spec.ShutdownPodSpec)...)
	if packet(slot.Spec.StartupPodSpec) && !slot.Spec.StartupPodSpec.HostNetwork {
		warnings = append(warnings, "spec.startupPodSpec: a magic packet is a broadcast, which does not leave a pod's own network; set hostNetwork: true")
	}
	warnings = append(warnings, powerWarnings(slot, policy.For(base, pool.Group))...)
	switch {
	case absent(slot.Spec.ShutdownPodSpec):
		// The switch's own way down is none of these.
	case idle(slot.Spec.ShutdownPodSpec):
		warnings = append(warnings, "spec.shutdownPodSpec: its command does nothing, so the machine stays on and is only assumed to be off")
	case reflect.DeepEqual(switching(slot.Spec.StartupPodSpec), switching(slot.Spec.ShutdownPodSpec)):
		warnings = append(warnings, "spec.shutdownPodSpec: it does the same as startupPodSpec, which cannot switch the machine off")
	}
	return warnings
}

// GroupWarnings says what is legal about a group and unwise. base is the policy that the group overrides.
func GroupWarnings(group *v2.Group, slots []*v2.Node, base policy.Policy) []string {
	var warnings []string
	budget := policy.For(base, group).EffectiveBudget()
	if p95 := group.Status.BootSecondsP95; p95 != nil && budget < time.Duration(*p95)*time.Second {
		warnings = append(warnings, fmt.Sprintf(
			"one boot may take %s, but 5 of 100 boots of this pool took longer than %s; raise spec.maxNodeProvisionTime or spec.timeouts",
			budget, time.Duration(*p95)*time.Second))
	}
	if len(slots) > 0 && !offersAny(slots) {
		warnings = append(warnings, "no slot of this pool declares spec.nodeCapacity, so cluster-autoscaler cannot grow it from zero")
	}
	if allOrNothing(group) && len(slots) > 1 {
		warnings = append(warnings, allOrNothingWarning(group))
	}
	return warnings
}

func allOrNothing(group *v2.Group) bool {
	return group.Spec.ZeroOrMaxNodeScaling != nil && *group.Spec.ZeroOrMaxNodeScaling
}

func allOrNothingWarning(group *v2.Group) string {
	return fmt.Sprintf("zeroOrMaxNodeScaling of Group %s: cluster-autoscaler never scales such a pool down once it has more than one machine", group.Name)
}

func offersAny(slots []*v2.Node) bool {
	for _, slot := range slots {
		if len(slot.Spec.NodeCapacity) > 0 {
			return true
		}
	}
	return false
}

func others(slot *v2.Node, slots []*v2.Node) []*v2.Node {
	var rest []*v2.Node
	for _, other := range slots {
		if other.Name != slot.Name {
			rest = append(rest, other)
		}
	}
	return rest
}
