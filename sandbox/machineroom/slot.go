package machineroom

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// commands is how a machine's switch is worked from a pod.
type commands struct {
	prefix []string
	rerun  bool
	url    string
}

// powerImage stands where a real slot names the image of its power tool; nothing is pulled.
const powerImage = "homecluster.dev/sandbox/power"

// podSpec is a pod that presses the switch once.
func (c commands) podSpec(action Action) v2.MinimalPodSpec {
	spec := v2.MinimalPodSpec{
		Image:   powerImage,
		Command: slices.Clone(c.prefix),
		Args:    []string{string(action), "--url", c.url},
	}
	if c.rerun {
		spec.Env = []corev1.EnvVar{{Name: asPowerCommand, Value: "1"}}
	}
	return spec
}

// StartupPodSpec is a pod that presses the machine's power button.
func (m *Metal) StartupPodSpec() v2.MinimalPodSpec { return m.commands.podSpec(ActionOn) }

// ShutdownPodSpec is a pod that asks the machine's operating system to shut down.
func (m *Metal) ShutdownPodSpec() v2.MinimalPodSpec { return m.commands.podSpec(ActionSoft) }

// CutPodSpec is a pod that cuts the machine's power, for slots that are shut down that way.
func (m *Metal) CutPodSpec() v2.MinimalPodSpec { return m.commands.podSpec(ActionOff) }

// Slot is the machine's slot: configured as a person would, with its switch, capacity, labels and lasting taints.
func (m *Metal) Slot(namespace, group string) v2.Node {
	return v2.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: m.Name(), Namespace: namespace, Labels: map[string]string{v2.LabelGroup: group},
		},
		Spec: v2.NodeSpec{
			KubernetesNodeName: m.KubeNode(),
			StartupPodSpec:     m.StartupPodSpec(),
			ShutdownPodSpec:    m.ShutdownPodSpec(),
			NodeCapacity:       m.spec.Capacity.DeepCopy(),
			NodeLabels:         maps.Clone(m.spec.Labels),
			NodeTaints:         slices.Clone(m.spec.Taints),
			ProviderID:         m.spec.ProviderID,
		},
	}
}
