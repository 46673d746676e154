package pool

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// LabelAccelerator is the key that marks a slot's machine as one with an accelerator when the slots use no vendor's key.
const LabelAccelerator = "infra.homecluster.dev/accelerator"

// acceleratorLabels are the keys, in order of preference, under which a machine's accelerator is told by its vendor's
// discovery or by us.
var acceleratorLabels = []string{LabelAccelerator, "nvidia.com/gpu.product", "amd.com/gpu.product-name", "gpu.intel.com/product"}

// acceleratorResources are the extended resources that cluster-autoscaler knows as accelerators.
var acceleratorResources = []corev1.ResourceName{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi"}

// GPULabel is the key that marks a machine with an accelerator: the first of the known keys that a slot declares
// together with an accelerator it can allocate, else ours. A machine with the key and nothing to allocate would be taken
// for one whose driver never came up.
func GPULabel(slots []Slot) string {
	for _, key := range acceleratorLabels {
		for _, s := range slots {
			if _, ok := declaredLabel(s, key); ok && len(accelerators(s)) > 0 {
				return key
			}
		}
	}
	return LabelAccelerator
}

// GPUTypes are the accelerators that slots declare, by the value of their label, else by the resource's vendor.
func GPUTypes(slots []Slot) map[string]bool {
	label, types := GPULabel(slots), map[string]bool{}
	for _, s := range slots {
		for _, name := range accelerators(s) {
			if value, ok := declaredLabel(s, label); ok && value != "" {
				types[value] = true
				continue
			}
			types[strings.ReplaceAll(string(name), "/", "-")] = true
		}
	}
	return types
}

func declaredLabel(s Slot, key string) (string, bool) {
	if s.Object == nil {
		return "", false
	}
	value, ok := s.Object.Spec.NodeLabels[key]
	return value, ok
}

func accelerators(s Slot) (names []corev1.ResourceName) {
	if s.Object == nil {
		return nil
	}
	for _, name := range acceleratorResources {
		if quantity, ok := s.Object.Spec.NodeCapacity[name]; ok && quantity.Sign() > 0 {
			names = append(names, name)
		}
	}
	return names
}
