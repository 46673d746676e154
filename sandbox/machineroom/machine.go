package machineroom

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Machine describes one simulated machine.
type Machine struct {
	// Name is the machine's name in the room, at its switch and in the log, and its slot's name.
	Name string
	// KubernetesNodeName is what its kubelet registers as. Default: Name.
	KubernetesNodeName string
	// Capacity is what it offers. Default: 4 CPUs, 8 GiB, 110 pods.
	Capacity corev1.ResourceList
	// Labels are those its kubelet registers with, beside hostname, os and arch.
	Labels map[string]string
	// Taints are those its kubelet registers with and nobody lifts.
	Taints []corev1.Taint
	// StartupTaints are those its kubelet registers with and the machine's network agent lifts, StartupTaintDelay
	// after the node became Ready.
	StartupTaints     []corev1.Taint
	StartupTaintDelay time.Duration
	// ProviderID is what its kubelet registers with. Default: none. k3s, for one, says "k3s://<node>".
	ProviderID string
	// BootTime is from power to kubelet, ShutdownTime from soft-off to no power. Default: the room's.
	BootTime, ShutdownTime time.Duration
	// On switches the machine on as it is put into the room.
	On bool
	// Temperament is how it misbehaves at first.
	Temperament Temperament
}

// gateTaint is the readiness taint that groups have by default.
var gateTaint = corev1.Taint{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}

func (m Machine) withDefaults(o Options) Machine {
	if m.KubernetesNodeName == "" {
		m.KubernetesNodeName = m.Name
	}
	if m.Capacity == nil {
		m.Capacity = DefaultCapacity()
	}
	if m.BootTime == 0 {
		m.BootTime = o.BootTime
	}
	if m.ShutdownTime == 0 {
		m.ShutdownTime = o.ShutdownTime
	}
	return m
}

func (m Machine) validate() error {
	if m.Name == "" {
		return fmt.Errorf("a machine needs a name")
	}
	if err := m.Temperament.Validate(); err != nil {
		return fmt.Errorf("reading the temperament of %s: %w", m.Name, err)
	}
	return nil
}

// DefaultCapacity is a small homelab machine's.
func DefaultCapacity() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("4"),
		corev1.ResourceMemory: resource.MustParse("8Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
}
