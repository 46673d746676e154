// Package quiesce takes homelab-autoscaler out of use without switching a machine: it stops who asks for machines, lets
// what is being switched off get there, stops the manager, and takes our finalizers off, which nobody else would. What
// becomes of each machine it says.
//
// Judge decides, and is pure; Quiescer reads and writes.
package quiesce

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Fate is what becomes of the machine of one slot.
type Fate struct {
	// Slot is the slot's name, which claims may name though there is none of it.
	Slot string
	// Says is what becomes of its machine, for people.
	Says string
	// Underway is whether the machine is being switched off, which a manager could still bring to its end.
	Underway bool
	// Uncordon is whether its kubeNode is cordoned by us for a shutdown that never began: nobody else would undo that.
	Uncordon bool
}

// Pool is what is judged: the slots and claims of a namespace, and the cluster's kubeNodes.
type Pool struct {
	Slots     []*v2.Node
	Claims    []*v2.NodeClaim
	KubeNodes []*corev1.Node
}

// Judge says what becomes of each machine when everybody lets go, by the name of its slot.
func Judge(pool Pool) []Fate {
	claims := map[string][]*v2.NodeClaim{}
	for _, claim := range pool.Claims {
		claims[claim.Spec.SlotRef.Name] = append(claims[claim.Spec.SlotRef.Name], claim)
	}
	var fates []Fate
	for _, slot := range pool.Slots {
		fates = append(fates, fateOf(slot, claims[slot.Name], kubeNodeOf(slot, pool.KubeNodes)))
		delete(claims, slot.Name)
	}
	for name := range claims {
		fates = append(fates, Fate{Slot: name, Says: "there is no such slot any more: its machine stays as it is"})
	}
	slices.SortFunc(fates, func(a, b Fate) int { return strings.Compare(a.Slot, b.Slot) })
	return fates
}

func kubeNodeOf(slot *v2.Node, kubeNodes []*corev1.Node) *corev1.Node {
	for _, kubeNode := range kubeNodes {
		if kubeNode.Name == slot.Spec.KubernetesNodeName {
			return kubeNode
		}
	}
	return nil
}

func fateOf(slot *v2.Node, claims []*v2.NodeClaim, kubeNode *corev1.Node) Fate {
	fate := Fate{Slot: slot.Name}
	on := facts.Power(kubeNode, facts.Reading{}) == facts.On
	down, begun := reversing(slot, claims)
	cordoned := kubeNode != nil && kubeNode.Annotations[v2.AnnotationCordoned] != ""
	// A machine that is nobody's is drained before its first Job, and owes no claim anything.
	down = down || slot.Status.Unclaimed != nil && cordoned
	live := facts.NewestLive(claims)
	switch {
	case down && begun:
		fate.Underway = true
		fate.Says = "it is being switched off, and its Job runs to its end by itself; if it stays on, kubectl uncordon " + slot.Spec.KubernetesNodeName
	case down:
		fate.Underway, fate.Uncordon = true, cordoned
		fate.Says = "it was to be switched off, and nothing has been sent to it: it is left as it is, and takes pods again"
	case live != nil && facts.Phase(live) == v2.ClaimBooting:
		fate.Says = "it is being switched on: it comes up, and stays on"
	case on:
		fate.Says = "it is on, and stays on with its pods"
	default:
		fate.Says = "it is off, or silent, and stays so"
	}
	return fate
}

// reversing is whether the machine is to be switched off, and whether a Job for that was ever made.
func reversing(slot *v2.Node, claims []*v2.NodeClaim) (down, begun bool) {
	for _, claim := range claims {
		if facts.OwesReversal(claim, slot) {
			down = true
			begun = begun || slices.ContainsFunc(claim.Status.Jobs, func(r v2.JobRecord) bool { return r.Operation == v2.OperationShutdown })
		}
	}
	if slot.Status.Unclaimed != nil && len(slot.Status.Unclaimed.Jobs) > 0 {
		return true, true
	}
	return down, begun
}
