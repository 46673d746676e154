package v2alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// MinimalPodSpec is the one container that works a machine's power switch. It runs as a Job with hardened defaults.
type MinimalPodSpec struct {
	// +kubebuilder:validation:MinLength=1
	Image string `json:"image"`
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// +listType=map
	// +listMapKey=name
	// +optional
	Volumes []Volume `json:"volumes,omitempty"`
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// +listType=atomic
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// Volume mounts one Secret or one ConfigMap into the power switch's container.
type Volume struct {
	Name      string `json:"name"`
	MountPath string `json:"mountPath"`
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// +optional
	ConfigMapName string `json:"configMapName,omitempty"`
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}
