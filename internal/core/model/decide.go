package model

import (
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// purityEvery is how rarely a decision is taken a second time and its Input compared with a copy, which costs more than
// all the rest.
const purityEvery = 61

// decideJudged is the decision of an up-to-date manager, held to the laws.
func (w *World) decideJudged(s *State) (slot.Input, slot.Decision, *Broken) {
	in := s.Input()
	decided, broken := w.judged(in)
	return in, decided, broken
}

func (w *World) judged(in slot.Input) (slot.Decision, *Broken) {
	w.Tally[lawLegal]++
	pure := w.Tally[lawLegal]%purityEvery == 0
	var before slot.Input
	if pure {
		before = copyInput(in)
	}
	decided, err := w.Step(in)
	if err != nil {
		return decided, &Broken{Law: lawLegal, How: err.Error()}
	}
	if pure {
		w.Tally[lawPure]++
		again, _ := w.Step(in)
		switch {
		case !reflect.DeepEqual(before, in):
			return decided, &Broken{Law: lawPure, How: "its Input has changed"}
		case !reflect.DeepEqual(decided, again):
			return decided, &Broken{Law: lawPure, How: "asked again, it answers otherwise"}
		}
	}
	return decided, w.judgeDecision(in, decided)
}

// copyInput copies all of an Input that Step could change.
func copyInput(in slot.Input) slot.Input {
	in.Slot, in.Group, in.KubeNode = in.Slot.DeepCopy(), in.Group.DeepCopy(), in.KubeNode.DeepCopy()
	in.Claims = copyAll(in.Claims, (*v2.NodeClaim).DeepCopy)
	in.Pods = copyAll(in.Pods, (*corev1.Pod).DeepCopy)
	in.Jobs = copyAll(in.Jobs, func(j slot.Job) slot.Job {
		return slot.Job{Job: j.Job.DeepCopy(), Pods: copyAll(j.Pods, (*corev1.Pod).DeepCopy)}
	})
	return in
}

func copyAll[T any](all []T, one func(T) T) []T {
	copies := slices.Clone(all)
	for i := range copies {
		copies[i] = one(copies[i])
	}
	return copies
}
