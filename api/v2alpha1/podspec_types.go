package v2alpha1

import (
	corev1 "k8s.io/api/core/v1"
)

// MinimalPodSpec is the one container that works a machine's power switch: ipmitool, a Redfish call, a magic packet, ssh.
// It runs as a Job with one pod that is never retried by Kubernetes. The pod stays off the machine it acts on and away
// from other slots, tolerates the control plane, gets no API token unless it names a serviceAccount, and drops every
// capability and privilege that it does not ask for here. Its exit code says whether the command ran, not whether the power changed; its last output line goes
// into the claim's Job record and event.
type MinimalPodSpec struct {
	// The container image that holds the tool.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="!self.matches('[[:space:]]')",message="must be an image reference without spaces, such as docker.io/library/busybox:1.37"
	Image string `json:"image"`
	// The program and its first arguments, without a shell. Default: the image's entry point.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Command []string `json:"command,omitempty"`
	// The arguments that follow command, or the image's entry point. Default: the image's own. Anybody who may read slots
	// can read them, so passwords belong into env or volumes.
	// +kubebuilder:validation:MaxItems=256
	// +listType=atomic
	// +optional
	Args []string `json:"args,omitempty"`
	// Environment variables of the container; take passwords from a Secret with valueFrom.secretKeyRef. Default: none.
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:XValidation:rule="!has(self.name) || !self.name.contains('=')",fieldPath=".name",message="must be the name of an environment variable, without '=' and its value"
	// +kubebuilder:validation:items:XValidation:rule="!(has(self.value) && self.value != '' && has(self.valueFrom))",message="takes value or valueFrom, not both"
	// +kubebuilder:validation:items:XValidation:rule="!has(self.valueFrom) || [has(self.valueFrom.secretKeyRef), has(self.valueFrom.configMapKeyRef), has(self.valueFrom.fieldRef), has(self.valueFrom.resourceFieldRef), has(self.valueFrom.fileKeyRef)].exists_one(one, one)",fieldPath=".valueFrom",message="takes exactly one source, such as secretKeyRef"
	// +kubebuilder:validation:items:XValidation:rule="self.?valueFrom.?secretKeyRef.?name.orValue('x') != '' && self.?valueFrom.?configMapKeyRef.?name.orValue('x') != ''",fieldPath=".valueFrom",message="secretKeyRef and configMapKeyRef need a name: that of the Secret or ConfigMap with the key"
	// +listType=map
	// +listMapKey=name
	// +optional
	Env []corev1.EnvVar `json:"env,omitempty"`
	// Secrets and ConfigMaps whose every key becomes an environment variable. env wins where both name one. Default: none.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:XValidation:rule="has(self.secretRef) != has(self.configMapRef) && self.?secretRef.?name.orValue('x') != '' && self.?configMapRef.?name.orValue('x') != ''",message="takes exactly one of secretRef and configMapRef, with its name"
	// +listType=atomic
	// +optional
	EnvFrom []corev1.EnvFromSource `json:"envFrom,omitempty"`
	// Secrets and ConfigMaps of the slot's namespace that are mounted as files, for example an ssh key. Default: none.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:XValidation:rule="self.all(v, !has(v.mountPath) || self.exists_one(w, has(w.mountPath) && w.mountPath == v.mountPath))",message="no two volumes may share a mountPath"
	// +listType=map
	// +listMapKey=name
	// +optional
	Volumes []Volume `json:"volumes,omitempty"`
	// The ServiceAccount the pod runs as, with its API token: naming one is how a tool that talks to the API server asks for
	// it. Do not name the operator's own. Default: the namespace's default account, without a token.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a ServiceAccount of the slot's namespace"
	// +optional
	ServiceAccount string `json:"serviceAccount,omitempty"`
	// Secrets of the slot's namespace with credentials for the image's registry. Default: none.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:XValidation:rule="has(self.name) && self.name != ''",fieldPath=".name",message="must be the name of a Secret of the slot's namespace",reason=FieldValueRequired
	// +listType=atomic
	// +optional
	ImagePullSecrets []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	// When the image is pulled: Always, IfNotPresent or Never. A power switch should work while the internet does not, so
	// pin a tag and keep IfNotPresent. Default: Kubernetes' own, Always for the tag latest and IfNotPresent otherwise.
	// +kubebuilder:validation:Enum=Always;IfNotPresent;Never
	// +optional
	ImagePullPolicy corev1.PullPolicy `json:"imagePullPolicy,omitempty"`
	// Whether the pod uses the network of the machine it runs on. A magic packet is a broadcast and needs it, on a machine
	// in the same network segment; BMCs and ssh do not. Default false.
	// +optional
	HostNetwork bool `json:"hostNetwork,omitempty"`
	// Labels of the kubeNodes that may run the pod, for example those in the management network. Default: any kubeNode that
	// is not a slot of ours.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="a label's key is a name, with or without a prefix such as example.com/, of letters, digits, '-', '_' and '.', at most 63"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="a label's value is letters, digits, '-', '_' and '.', at most 63"
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Taints the pod tolerates in addition to the control plane's. Default: none.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// CPU and memory the container asks for and may use. Default: none of either.
	// +optional
	Resources *corev1.ResourceRequirements `json:"resources,omitempty"`
	// Security settings of the container, laid over the hardened defaults: no capabilities, no privilege escalation.
	// Give back here what a tool really needs, for example the capability NET_RAW. Default: the hardened defaults.
	// +optional
	SecurityContext *corev1.SecurityContext `json:"securityContext,omitempty"`
	// Security settings of the pod, laid over the hardened default, which is the runtime's seccomp profile. Set
	// runAsNonRoot here for images that can do without root. Default: the hardened default.
	// +optional
	PodSecurityContext *corev1.PodSecurityContext `json:"podSecurityContext,omitempty"`
	// Seconds for which a finished Job and its pod are kept for reading, counted from when its outcome is saved in the
	// claim's record. Default 600.
	// +kubebuilder:default=600
	// +kubebuilder:validation:Minimum=0
	// +optional
	TTLSecondsAfterFinished *int32 `json:"ttlSecondsAfterFinished,omitempty"`
}

// Volume mounts one Secret or one ConfigMap into the power switch's container.
//
// +kubebuilder:validation:XValidation:rule="has(self.secretName) != has(self.configMapName)",message="exactly one of secretName and configMapName must be set"
type Volume struct {
	// What the volume is called in the pod: a DNS label, unique among the volumes of this pod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="must be a DNS label: lower-case letters, digits and '-', such as ssh-key"
	Name string `json:"name"`
	// The absolute path in the container where the keys appear as files. It must not contain a colon.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^:]*$')",message="must be an absolute path without a colon, such as /ssh"
	MountPath string `json:"mountPath"`
	// The Secret to mount, in the slot's namespace. Set either this or configMapName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	SecretName string `json:"secretName,omitempty"`
	// The ConfigMap to mount, in the slot's namespace. Set either this or secretName.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ConfigMapName string `json:"configMapName,omitempty"`
	// Whether the container is kept from writing below mountPath. Writes never reach the Secret or ConfigMap.
	// Default false.
	// +optional
	ReadOnly bool `json:"readOnly,omitempty"`
}
