package job

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func podSpec(spec v2.MinimalPodSpec, p Params) corev1.PodSpec {
	volumes, mounts := volumes(spec.Volumes)
	pod := corev1.PodSpec{
		RestartPolicy:      corev1.RestartPolicyNever,
		PriorityClassName:  p.Policy.JobPriorityClass,
		ServiceAccountName: spec.ServiceAccount,
		// A power switch needs no API; naming a ServiceAccount is how one asks for its token.
		AutomountServiceAccountToken: ptr.To(spec.ServiceAccount != ""),
		ImagePullSecrets:             spec.ImagePullSecrets,
		HostNetwork:                  spec.HostNetwork,
		NodeSelector:                 spec.NodeSelector,
		Tolerations:                  append(controlPlaneTolerations(), spec.Tolerations...),
		Affinity:                     affinity(p),
		SecurityContext:              podSecurity(spec.PodSecurityContext),
		Volumes:                      volumes,
		Containers: []corev1.Container{{
			Name:                     containerName,
			Image:                    spec.Image,
			ImagePullPolicy:          spec.ImagePullPolicy,
			Command:                  spec.Command,
			Args:                     spec.Args,
			Env:                      spec.Env,
			EnvFrom:                  spec.EnvFrom,
			Resources:                ptr.Deref(spec.Resources, corev1.ResourceRequirements{}),
			VolumeMounts:             mounts,
			SecurityContext:          containerSecurity(spec.SecurityContext),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
	}
	if spec.HostNetwork {
		pod.DNSPolicy = corev1.DNSClusterFirstWithHostNet
	}
	return pod
}

func volumes(declared []v2.Volume) ([]corev1.Volume, []corev1.VolumeMount) {
	var volumes []corev1.Volume
	var mounts []corev1.VolumeMount
	for _, v := range declared {
		volume := corev1.Volume{Name: v.Name}
		if v.SecretName != "" {
			volume.Secret = &corev1.SecretVolumeSource{SecretName: v.SecretName}
		} else {
			volume.ConfigMap = &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: v.ConfigMapName}}
		}
		volumes = append(volumes, volume)
		mounts = append(mounts, corev1.VolumeMount{Name: v.Name, MountPath: v.MountPath, ReadOnly: v.ReadOnly})
	}
	return volumes, mounts
}

// controlPlaneTolerations let the pod run where a homelab always has room: on the control plane.
func controlPlaneTolerations() []corev1.Toleration {
	var tolerations []corev1.Toleration
	for _, key := range []string{"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"} {
		tolerations = append(tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	return tolerations
}

// affinity keeps the pod off the machine it acts on, always, and off every slot's machine: that could be the next to go
// down with the pod on it. The latter is a wish only where no other node exists.
func affinity(p Params) *corev1.Affinity {
	offSlots := corev1.NodeSelectorRequirement{Key: v2.LabelNode, Operator: corev1.NodeSelectorOpDoesNotExist}
	required := corev1.NodeSelectorTerm{MatchFields: []corev1.NodeSelectorRequirement{{
		Key: "metadata.name", Operator: corev1.NodeSelectorOpNotIn, Values: []string{p.Slot.Spec.KubernetesNodeName},
	}}}
	nodeAffinity := &corev1.NodeAffinity{}
	if p.AlwaysOn {
		required.MatchExpressions = []corev1.NodeSelectorRequirement{offSlots}
	} else {
		nodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.PreferredSchedulingTerm{{
			Weight: 100, Preference: corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{offSlots}},
		}}
	}
	nodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{required},
	}
	return &corev1.Affinity{NodeAffinity: nodeAffinity}
}

func podSecurity(asked *corev1.PodSecurityContext) *corev1.PodSecurityContext {
	security := asked.DeepCopy()
	if security == nil {
		security = &corev1.PodSecurityContext{}
	}
	if security.SeccompProfile == nil {
		security.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return security
}

// containerSecurity fills what the slot does not say: no capabilities, no privilege escalation. A non-root user is not
// forced, because the common images with ipmitool run as root.
func containerSecurity(asked *corev1.SecurityContext) *corev1.SecurityContext {
	security := asked.DeepCopy()
	if security == nil {
		security = &corev1.SecurityContext{}
	}
	if ptr.Deref(security.Privileged, false) {
		return security // the API refuses a privileged container that may not escalate
	}
	if security.AllowPrivilegeEscalation == nil {
		security.AllowPrivilegeEscalation = ptr.To(false)
	}
	if security.Capabilities == nil {
		security.Capabilities = &corev1.Capabilities{}
	}
	if security.Capabilities.Drop == nil {
		security.Capabilities.Drop = []corev1.Capability{"ALL"}
	}
	return security
}
