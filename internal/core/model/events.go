package model

import (
	"slices"
	"strings"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// event is one thing that can happen outside of the manager.
type event struct {
	name string
	kind Kind
	// does is what a temperament knows the event by.
	does deed
	// options are the arguments with which it can happen now; none: it cannot.
	options func(*State) []uint8
	// happen makes it happen.
	happen func(*State, uint8)
	// words tells the argument, for people; nil: there is none.
	words func(*State, uint8) string
}

// events is all that can happen, in a fixed order: a move is an index into it.
func events() []event {
	return slices.Concat(jobEvents(), metalEvents(), clientEvents(), handEvents(), clusterEvents(), clockEvents())
}

var once = []uint8{0}

// when makes options of a condition.
func when(condition func(*State) bool) func(*State) []uint8 {
	return func(s *State) []uint8 {
		if condition(s) {
			return once
		}
		return nil
	}
}

// claims are the indexes of the claims of which the condition holds.
func claims(condition func(*State, *v2.NodeClaim) bool) func(*State) []uint8 {
	return func(s *State) []uint8 {
		var found []uint8
		for i, c := range s.Claims {
			if condition(s, c) {
				found = append(found, uint8(i))
			}
		}
		return found
	}
}

func claimName(s *State, i uint8) string { return s.Claims[i].Name }

// label is the event with its argument, as people read it.
func (e event) label(s *State, arg uint8) string {
	if e.words == nil {
		return e.name
	}
	return strings.Replace(e.name, "*", e.words(s, arg), 1)
}

// clusterEvents are what Kubernetes itself does.
func clusterEvents() []event {
	return []event{
		{name: "the garbage collector runs", options: when((*State).garbage), happen: func(s *State, _ uint8) { s.collectGarbage() }},
		{name: "the node lifecycle controller marks the kubeNode Unknown",
			options: when(func(s *State) bool { return s.heard() && (!s.Metal.On || !s.Metal.Heard) }),
			happen:  func(s *State, _ uint8) { s.report("Unknown") }},
		{name: "another machine takes the MachineGone token", kind: Brakes,
			options: when(func(s *State) bool {
				owner := facts.NewestLive(s.Claims)
				return owner != nil && owner.Status.Phase == v2.ClaimReady && !s.heard()
			}),
			happen: func(s *State, _ uint8) { s.Braked = s.Now }},
		{name: "a pod is bound to the machine", kind: PodsBound,
			options: when(func(s *State) bool { return s.heard() && !s.KubeNode.Spec.Unschedulable && len(s.Pods) == 0 }),
			happen:  func(s *State, _ uint8) { s.bindPod(false) }},
		{name: "a pod that no budget lets go is bound to the machine", kind: PodsBound,
			options: when(func(s *State) bool { return s.heard() && !s.KubeNode.Spec.Unschedulable && len(s.Pods) == 0 }),
			happen:  func(s *State, _ uint8) { s.bindPod(true) }},
		{name: "the namespace begins to go", kind: Terminations,
			options: when(func(s *State) bool { return !s.Terminating }), happen: func(s *State, _ uint8) { s.terminate() }},
	}
}
