package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Names have bounds because a Job's name is a label value (63): <slot>-<6 hex>-down-<n> must fit.
const (
	MaxSlotName  = 44
	MaxClaimName = 51
)

// Slot lists what is wrong with a slot.
func Slot(slot *v2.Node) field.ErrorList {
	spec, path := slot.Spec, field.NewPath("spec")
	faults := nameLength(slot.Name, MaxSlotName)
	if spec.KubernetesNodeName == "" {
		faults = append(faults, field.Required(path.Child("kubernetesNodeName"), "the name with which the machine's kubelet registers"))
	} else {
		for _, why := range validation.IsDNS1123Subdomain(spec.KubernetesNodeName) {
			faults = append(faults, field.Invalid(path.Child("kubernetesNodeName"), spec.KubernetesNodeName, why))
		}
	}
	faults = append(faults, ways(path, spec)...)
	faults = append(faults, powerSwitch(path.Child("power"), spec.Power)...)
	for _, name := range slices.Sorted(maps.Keys(spec.NodeCapacity)) {
		if quantity := spec.NodeCapacity[name]; quantity.Sign() < 0 {
			faults = append(faults, field.Invalid(path.Child("nodeCapacity").Key(string(name)), quantity.String(), "must not be negative"))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(spec.NodeLabels)) {
		faults = append(faults, label(path.Child("nodeLabels").Key(key), key, spec.NodeLabels[key])...)
	}
	faults = append(faults, taints(path.Child("nodeTaints"), spec.NodeTaints)...)
	faults = append(faults, taints(path.Child("taintsToRemove"), spec.TaintsToRemove)...)
	if spec.Pricing != nil {
		faults = append(faults, rate(path.Child("pricing", "hourlyRate"), spec.Pricing.HourlyRate)...)
		faults = append(faults, rate(path.Child("pricing", "podRate"), spec.Pricing.PodRate)...)
	}
	return faults
}

func nameLength(name string, most int) field.ErrorList {
	if len(name) <= most {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name,
		fmt.Sprintf("must be no longer than %d characters: the names of its Jobs are made of it", most))}
}

func label(path *field.Path, key, value string) field.ErrorList {
	var faults field.ErrorList
	for _, why := range append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...) {
		faults = append(faults, field.Invalid(path, value, why))
	}
	return faults
}

func taints(path *field.Path, taints []corev1.Taint) field.ErrorList {
	var faults field.ErrorList
	for i, taint := range taints {
		faults = append(faults, taintKey(path.Index(i).Child("key"), taint.Key)...)
		faults = append(faults, taintEffect(path.Index(i).Child("effect"), taint.Effect)...)
		for _, why := range validation.IsValidLabelValue(taint.Value) {
			faults = append(faults, field.Invalid(path.Index(i).Child("value"), taint.Value, why))
		}
	}
	return faults
}

func podSpec(path *field.Path, spec v2.MinimalPodSpec) field.ErrorList {
	var faults field.ErrorList
	if spec.Image == "" {
		faults = append(faults, field.Required(path.Child("image"), "the image whose command works the power switch"))
	}
	names := sets.New[string]()
	for i, volume := range spec.Volumes {
		at := path.Child("volumes").Index(i)
		for _, why := range validation.IsDNS1123Label(volume.Name) {
			faults = append(faults, field.Invalid(at.Child("name"), volume.Name, why))
		}
		if names.Has(volume.Name) {
			faults = append(faults, field.Duplicate(at.Child("name"), volume.Name))
		}
		names.Insert(volume.Name)
		if !strings.HasPrefix(volume.MountPath, "/") {
			faults = append(faults, field.Invalid(at.Child("mountPath"), volume.MountPath, "must be an absolute path"))
		}
		if (volume.SecretName == "") == (volume.ConfigMapName == "") {
			faults = append(faults, field.Invalid(at, volume.Name, "must name exactly one of secretName and configMapName"))
		}
	}
	if ttl := spec.TTLSecondsAfterFinished; ttl != nil && *ttl < 0 {
		faults = append(faults, field.Invalid(path.Child("ttlSecondsAfterFinished"), *ttl, "must not be negative"))
	}
	return faults
}
