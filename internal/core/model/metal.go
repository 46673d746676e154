package model

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Metal is the machine itself: the truth that nobody in the cluster sees.
type Metal struct {
	// On is whether the machine draws power.
	On bool
	// Registered is whether its kubelet has registered in this boot. It does so once: a kubeNode object that is deleted
	// afterwards does not come back before the next boot.
	Registered bool
	// Heard is whether its kubelet reaches the API server.
	Heard bool
	// Boots counts power-ons, for the power log.
	Boots uint8
}

// Effect is what a lifecycle Job did to the machine, whatever it reported.
type Effect uint8

// The effects. A startup Job works or is swallowed; a shutdown Job works, is swallowed, or leaves the machine hanging:
// silent, and on.
const (
	Works Effect = iota
	Swallowed
	Hangs
)

func (e Effect) String() string { return [...]string{"works", "is swallowed", "hangs the machine"}[e] }

func (m Metal) started(e Effect) Metal {
	if e == Works && !m.On {
		return Metal{On: true, Boots: m.Boots + 1}
	}
	return m
}

func (m Metal) stopped(e Effect) Metal {
	switch {
	case !m.On || e == Swallowed:
		return m
	case e == Hangs:
		m.Heard = false
		return m
	}
	return Metal{Boots: m.Boots}
}

// register is the kubelet's first report of a boot. It finds the object that a former boot left, or makes one.
func (s *State) register(taints ...corev1.Taint) {
	s.Metal.Registered, s.Metal.Heard = true, true
	if s.KubeNode != nil {
		s.report(corev1.ConditionTrue)
	} else {
		created := &corev1.Node{ObjectMeta: s.meta(machine)}
		created.Namespace = ""
		created.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}
		s.KubeNode = created
		s.report(corev1.ConditionTrue)
	}
	if len(taints) > 0 {
		s.kubeNode(func(n *corev1.Node) { n.Spec.Taints = append(slices.Clone(n.Spec.Taints), taints...) })
	}
}

// report writes the kubeNode's Ready condition: the kubelet does, or the node lifecycle controller for a silent one.
func (s *State) report(status corev1.ConditionStatus) {
	s.kubeNode(func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(s.Now),
		}}
	})
}

// kubeNode writes the kubeNode.
func (s *State) kubeNode(change func(*corev1.Node)) {
	after := *s.KubeNode
	after.ResourceVersion = s.next()
	change(&after)
	s.KubeNode = &after
}

// gateTaint is what keeps a booted machine out of ready until its agent has started.
func gateTaint() corev1.Taint {
	return corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}
}

// heard is whether the cluster has evidence that the machine is on.
func (s *State) heard() bool { return facts.KubeletOn(s.KubeNode) }

// power is what the machine's switch would say if it were right.
func (m Metal) power() v2.PowerState {
	if m.On {
		return v2.PowerOn
	}
	return v2.PowerOff
}

// read saves what the switch says as the power observer does: into the slot as it is now, whoever else writes it. A
// reading that fails is not taken for a change. Its clock may be ahead of the manager's.
func (s *State) read(says v2.PowerState, ahead time.Duration) {
	at := metav1.NewTime(s.Now.Add(ahead))
	reading := &v2.PowerReading{State: says, Since: at, ObservedAt: at}
	former := s.Slot.Status.PowerReading
	switch {
	case says != v2.PowerUnknown && (former == nil || says != s.Said):
		s.Ghost.Misread = s.Ghost.Misread || says == v2.PowerOff && s.Metal.On
	case former != nil:
		reading.Since = former.Since
	}
	if says != v2.PowerUnknown {
		s.Said = says
	}
	_, err := s.updateSlot(s.Slot, func(n *v2.Node) { n.Status.PowerReading = reading })
	must(err)
}

// said is what the saved reading says; empty: there is none.
func (s *State) said() v2.PowerState {
	if s.Slot == nil || s.Slot.Status.PowerReading == nil {
		return ""
	}
	return s.Slot.Status.PowerReading.State
}

// readable is whether a reading of now is news.
func (s *State) readable() bool {
	return s.Slot != nil && (s.said() == "" || !s.Slot.Status.PowerReading.ObservedAt.Time.Equal(s.Now))
}
