package validate

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Group lists what is wrong with a group.
func Group(group *v2.Group) field.ErrorList {
	spec, path := group.Spec, field.NewPath("spec")
	var faults field.ErrorList
	if spec.Engine != "" && spec.Engine != v2.EngineClusterAutoscaler && spec.Engine != v2.EngineNone {
		faults = append(faults, field.NotSupported(path.Child("engine"), spec.Engine, []v2.Engine{v2.EngineClusterAutoscaler, v2.EngineNone}))
	}
	if spec.MinSize < 0 {
		faults = append(faults, field.Invalid(path.Child("minSize"), spec.MinSize, "must not be negative"))
	}
	for i, taint := range spec.NodeReadinessTaints {
		faults = append(faults, taintKey(path.Child("nodeReadinessTaints").Index(i).Child("key"), taint.Key)...)
		if taint.Effect != "" {
			faults = append(faults, taintEffect(path.Child("nodeReadinessTaints").Index(i).Child("effect"), taint.Effect)...)
		}
	}
	faults = append(faults, threshold(path.Child("scaleDownUtilizationThreshold"), spec.ScaleDownUtilizationThreshold)...)
	faults = append(faults, threshold(path.Child("scaleDownGpuUtilizationThreshold"), spec.ScaleDownGpuUtilizationThreshold)...)
	faults = append(faults, bounded(path.Child("maxNodeProvisionTime"), spec.MaxNodeProvisionTime)...)
	faults = append(faults, positive(path.Child("scaleDownUnneededTime"), spec.ScaleDownUnneededTime)...)
	faults = append(faults, positive(path.Child("scaleDownUnreadyTime"), spec.ScaleDownUnreadyTime)...)
	return append(faults, timeouts(path.Child("timeouts"), spec.Timeouts)...)
}

func timeouts(path *field.Path, t *v2.Timeouts) field.ErrorList {
	if t == nil {
		return nil
	}
	var faults field.ErrorList
	faults = append(faults, jobTime(path.Child("startupJob"), t.StartupJob)...)
	faults = append(faults, bounded(path.Child("registration"), t.Registration)...)
	faults = append(faults, bounded(path.Child("readinessGate"), t.ReadinessGate)...)
	faults = append(faults, jobTime(path.Child("shutdownJob"), t.ShutdownJob)...)
	faults = append(faults, bounded(path.Child("shutdownSettle"), t.ShutdownSettle)...)
	faults = append(faults, bounded(path.Child("drain"), t.Drain)...)
	return append(faults, bounded(path.Child("machineGone"), t.MachineGone)...)
}

// bounded is a time that a boot or a shutdown is counted by.
func bounded(path *field.Path, d *metav1.Duration) field.ErrorList {
	return append(positive(path, d), longest(path, d)...)
}

func longest(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d == nil || d.Duration <= policy.Longest {
		return nil
	}
	return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be at most "+policy.Longest.String())}
}

func positive(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d == nil || d.Duration > 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be longer than zero; leave it out for the default")}
}

// jobTime is a time that becomes a Job's activeDeadlineSeconds, which counts whole seconds.
func jobTime(path *field.Path, d *metav1.Duration) field.ErrorList {
	if d == nil || d.Duration >= time.Second {
		return longest(path, d)
	}
	return field.ErrorList{field.Invalid(path, d.Duration.String(), "must be at least 1s; leave it out for the default")}
}

func taintKey(path *field.Path, key string) field.ErrorList {
	var faults field.ErrorList
	for _, why := range validation.IsQualifiedName(key) {
		faults = append(faults, field.Invalid(path, key, why))
	}
	return faults
}

func taintEffect(path *field.Path, effect corev1.TaintEffect) field.ErrorList {
	effects := []corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	for _, known := range effects {
		if effect == known {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, effect, effects)}
}
