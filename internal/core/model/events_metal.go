package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// ahead is by how much the power observer's clock may be before the manager's, unnoticed.
const ahead = 8 * time.Second

func opposite(state v2.PowerState) v2.PowerState {
	if state == v2.PowerOn {
		return v2.PowerOff
	}
	return v2.PowerOn
}

// metalEvents are what the machine and its kubelet do by themselves.
func metalEvents() []event {
	booting := when(func(s *State) bool { return s.Metal.On && !s.Metal.Registered })
	return []event{
		{name: "the kubelet registers", does: doesJoin, options: booting, happen: func(s *State, _ uint8) { s.register() }},
		{name: "the kubelet registers with a readiness taint", kind: Taints, does: doesJoinTainted, options: booting,
			happen: func(s *State, _ uint8) { s.register(gateTaint()) }},
		{name: "the agent takes its readiness taint away",
			options: when(func(s *State) bool {
				return s.Metal.Heard && s.KubeNode != nil && slices.Contains(s.KubeNode.Spec.Taints, gateTaint())
			}),
			happen: func(s *State, _ uint8) { s.untaint(gateTaint()) }},
		{name: "the kubelet goes silent, the machine stays on", kind: Silences,
			options: when(func(s *State) bool { return s.Metal.Heard }), happen: func(s *State, _ uint8) { s.Metal.Heard = false }},
		{name: "the kubelet returns", kind: Returns,
			options: when(func(s *State) bool { return s.Metal.On && s.Metal.Registered && !s.Metal.Heard }),
			happen: func(s *State, _ uint8) {
				s.Metal.Heard = true
				if s.KubeNode != nil {
					s.report(corev1.ConditionTrue)
				}
			}},
		{name: "the machine loses power", kind: Deaths,
			options: when(func(s *State) bool { return s.Metal.On }), happen: func(s *State, _ uint8) { s.Metal = s.Metal.stopped(Works) }},
		{name: "somebody presses the power button", kind: Rises,
			options: when(func(s *State) bool { return !s.Metal.On }), happen: func(s *State, _ uint8) { s.Metal = s.Metal.started(Works) }},
		{name: "the machine's switch is read", kind: Polls, options: when((*State).readable),
			happen: func(s *State, _ uint8) { s.read(s.Metal.power(), 0) }},
		{name: "the machine's switch is read by a clock that is ahead", kind: Polls, options: when((*State).readable),
			happen: func(s *State, _ uint8) { s.read(s.Metal.power(), ahead) }},
		{name: "the machine's switch says again what is not true any more", kind: Stuck,
			options: when(func(s *State) bool { return s.readable() && s.Said != "" && s.Said != s.Metal.power() }),
			happen:  func(s *State, _ uint8) { s.read(s.Said, 0) }},
		{name: "the machine's switch tells the opposite of what is true", kind: Falsehoods,
			options: when((*State).readable),
			happen:  func(s *State, _ uint8) { s.read(opposite(s.Metal.power()), 0) }},
		{name: "the machine's switch does not answer", kind: Stuck,
			options: when(func(s *State) bool { return s.readable() && s.said() != "" && s.said() != v2.PowerUnknown }),
			happen:  func(s *State, _ uint8) { s.read(v2.PowerUnknown, 0) }},
	}
}

func (s *State) untaint(taint corev1.Taint) {
	s.kubeNode(func(n *corev1.Node) {
		n.Spec.Taints = slices.DeleteFunc(slices.Clone(n.Spec.Taints), func(t corev1.Taint) bool { return t == taint })
	})
}

// jumps are how far the clock can jump: past a settle time, past a whole boot, past every clock there is but the longest
// cool-off.
var jumps = []time.Duration{3 * time.Minute, 13 * time.Minute, 65 * time.Minute}

// clockEvents let time pass without regard to what anybody waits for.
func clockEvents() []event {
	return []event{{
		name: "* pass", kind: Jumps,
		options: func(*State) []uint8 { return []uint8{0, 1, 2} },
		happen:  func(s *State, i uint8) { s.Now = s.Now.Add(jumps[i]) },
		words:   func(_ *State, i uint8) string { return jumps[i].String() },
	}}
}

// caTaint is what cluster-autoscaler leaves on a kubeNode it is about to delete.
func caTaint() corev1.Taint {
	return corev1.Taint{Key: facts.TaintToBeDeleted, Effect: corev1.TaintEffectNoSchedule}
}
