package pool

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// defaultPods is how many pods a kubelet takes when it is not told.
const defaultPods = 110

// Template is the node that one more machine of the group would become, complete enough for a scheduler: of unlike
// slots the least that each of them offers, so that whatever fits the template fits the slot that is taken. A NotOffered
// fault when nothing is known of any slot.
func Template(v View, sum *Summary) (*corev1.Node, error) {
	blueprint, err := Blueprint(v)
	if err != nil {
		return nil, err
	}
	return sum.Aim(blueprint), nil
}

// Aim is the blueprint with the name of the slot that would be taken next, which is the one whose price is asked for.
func (s *Summary) Aim(blueprint *corev1.Node) *corev1.Node {
	kubeNode := blueprint.DeepCopy()
	if len(s.Offerable) > 0 {
		kubeNode.Labels[v2.LabelNode] = s.Offerable[0].Name
	}
	return kubeNode
}

// Blueprint is the template as far as claims have no say in it: it names the first slot that says what it offers.
func Blueprint(v View) (*corev1.Node, error) {
	shapes, of := v.shapes()
	if len(shapes) == 0 {
		return nil, Faultf(NotOffered, "no slot of group %s says what its machine offers: set spec.nodeCapacity", v.Name)
	}
	least := leastOf(shapes)
	name := v.Name + "-template"
	labels := maps.Clone(least.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, map[string]string{
		corev1.LabelHostname:   name,
		corev1.LabelArchStable: least.Arch, labelBetaArch: least.Arch,
		corev1.LabelOSStable: least.OS, labelBetaOS: least.OS,
		v2.LabelKubeNodeGroup: v.Name,
		v2.LabelNamespace:     v.Namespace,
		v2.LabelNode:          of[0].Name,
	})
	kubeNode := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec:       corev1.NodeSpec{Taints: least.Taints},
		Status: corev1.NodeStatus{
			Capacity: least.Capacity, Allocatable: least.Capacity.DeepCopy(),
			NodeInfo:   corev1.NodeSystemInfo{Architecture: least.Arch, OperatingSystem: least.OS},
			Conditions: healthyConditions(v),
		},
	}
	return kubeNode, nil
}

// leastOf is what every shape offers and the taints of all of them.
func leastOf(shapes []Shape) Shape {
	least := shapes[0]
	least.Capacity, least.Labels = least.Capacity.DeepCopy(), maps.Clone(least.Labels)
	least.Taints = slices.Clone(least.Taints)
	for _, shape := range shapes[1:] {
		maps.DeleteFunc(least.Capacity, func(name corev1.ResourceName, _ resource.Quantity) bool {
			_, ok := shape.Capacity[name]
			return !ok && name != corev1.ResourcePods
		})
		for name, quantity := range shape.Capacity {
			if mine, ok := least.Capacity[name]; ok && quantity.Cmp(mine) < 0 ||
				!ok && name == corev1.ResourcePods && quantity.CmpInt64(defaultPods) < 0 {
				least.Capacity[name] = quantity.DeepCopy()
			}
		}
		maps.DeleteFunc(least.Labels, func(key, value string) bool { return shape.Labels[key] != value })
		for _, taint := range shape.Taints {
			if !slices.Contains(least.Taints, taint) {
				least.Taints = append(least.Taints, taint)
			}
		}
	}
	if _, ok := least.Capacity[corev1.ResourcePods]; !ok {
		least.Capacity[corev1.ResourcePods] = *resource.NewQuantity(defaultPods, resource.DecimalSI)
	}
	return least
}

// healthyConditions are those of a kubelet that is well.
func healthyConditions(v View) []corev1.NodeCondition {
	at := metav1.NewTime(v.Now.Truncate(1e9))
	condition := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string) corev1.NodeCondition {
		return corev1.NodeCondition{
			Type: kind, Status: status, Reason: reason, LastHeartbeatTime: at, LastTransitionTime: at,
		}
	}
	return []corev1.NodeCondition{
		condition(corev1.NodeReady, corev1.ConditionTrue, "KubeletReady"),
		condition(corev1.NodeMemoryPressure, corev1.ConditionFalse, "KubeletHasSufficientMemory"),
		condition(corev1.NodeDiskPressure, corev1.ConditionFalse, "KubeletHasNoDiskPressure"),
		condition(corev1.NodePIDPressure, corev1.ConditionFalse, "KubeletHasSufficientPID"),
	}
}
