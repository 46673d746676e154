package kubelet

import (
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Spec is what a kubelet knows about its own machine when it starts.
type Spec struct {
	// Name is the name of the kubeNode.
	Name string
	// Labels are put on the kubeNode at its creation only, beside the well-known ones.
	Labels map[string]string
	// Taints are put on the kubeNode at its creation only.
	Taints []corev1.Taint
	// ProviderID is written at the kubeNode's creation only; empty leaves the field empty.
	ProviderID string
	// Capacity is reported as capacity and as allocatable.
	Capacity corev1.ResourceList
	// Port is where the API server reaches this node's logs, on loopback; 0 leaves the endpoint out.
	Port int32
	// BootID tells one boot from the next in the node's status.
	BootID string
	// Version is reported as the kubelet's version.
	Version string
}

// Config is everything a Kubelet needs.
type Config struct {
	Client kubernetes.Interface
	Spec   Spec
	// Pods lists the pods that are bound to this node, from a cache.
	Pods func() []*corev1.Pod
	// Execute runs containers that have a command as local processes.
	Execute bool
	// Images are the command lines of images that are known, for containers with no command of their own, where Execute is set.
	Images map[string][]string
	// Address is that of pods with such an image: they share this host's network. Empty: one for display, as all others have.
	Address string
	// Programs are those that images hold, by the image without its tag. A container of one runs the program instead of its
	// command's first word.
	Programs map[string]Program
	// Dir holds a folder per pod; it must be writable where Execute is set.
	Dir string
	// LeaseInterval and StatusInterval are how often the Lease is renewed and the status compared.
	LeaseInterval, StatusInterval time.Duration
	Log                           *slog.Logger
	// OnRegistered is told once when the node is registered; fresh means that the object was created by it.
	OnRegistered func(fresh bool)
	// OnReady is told once when the API server has accepted Ready=True.
	OnReady func()
	// OnMissing is told once when a status update finds no Node object.
	OnMissing func()
}

// Program is what stands for the program in an image: a command line of this host, and what its environment needs.
type Program struct {
	Command []string
	Env     []string
}
