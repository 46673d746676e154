package standin

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// State is the life of an instance as the provider tells it.
type State int

// The states of an instance.
const (
	// Running is a machine that is up, or of which nothing is said.
	Running State = iota
	// Creating is a machine that has been asked for.
	Creating
	// Deleting is a machine on its way down: nobody waits for it to register.
	Deleting
)

// Instance is one machine as the provider lists it.
type Instance struct {
	ID    string
	State State
	// ErrorCode and ErrorMessage say why a creation failed; an empty code is no error.
	ErrorCode, ErrorMessage string
}

// Failed is whether the provider says that this creation failed.
func (i Instance) Failed() bool { return i.State == Creating && i.ErrorCode != "" }

// expected is whether a kubeNode should come to be, or be there, for the instance.
func (i Instance) expected() bool { return i.State != Deleting && i.ErrorCode == "" }

// Group is one node group: what the provider answered about it in this pass.
type Group struct {
	ID        string
	Min, Max  int32
	Target    int32
	Instances []Instance
	// Template is the kubeNode that a new machine of the group would become; nil when the provider has none.
	Template *corev1.Node
	Options  GroupOptions
}

// KubeNode is a registered node with the group the provider says it belongs to; an empty group is not ours to touch.
type KubeNode struct {
	*corev1.Node
	Group string
	// Min is the floor as NodeGroupForNode told it, which is the one scale-down is judged by.
	Min int32
	// Leaving is whether this client is removing the kubeNode at this moment.
	Leaving bool
}

// Snapshot is everything one decision stands on. Decide reads nothing else but its Memory.
type Snapshot struct {
	Now       time.Time
	Groups    []Group
	KubeNodes []KubeNode
	Pods      []*corev1.Pod
}

// Back-off bounds, as the real client's flags have them by default.
const (
	defaultBackOff      = 5 * time.Minute
	defaultMaxBackOff   = 30 * time.Minute
	defaultForgetFaults = 3 * time.Hour
)

// GroupOptions are the durations that the provider may set per group.
type GroupOptions struct {
	// UnneededTime is how long a kubeNode must be idle before it is removed.
	UnneededTime time.Duration
	// MaxNodeProvisionTime is how long an instance may stay unregistered before it is given up.
	MaxNodeProvisionTime time.Duration
}

// Config is how patient the stand-in client is. Defaults gives the real client's numbers.
type Config struct {
	// Group are the options of a group that does not set its own.
	Group GroupOptions
	// PodAge is how old an unschedulable pod must be before it counts.
	PodAge time.Duration
	// BackOff is how long a group rests after its first fault. It doubles up to MaxBackOff, and is forgotten when the
	// group had no fault for ForgetFaults.
	BackOff, MaxBackOff, ForgetFaults time.Duration
	// DelayAfterAdd keeps the client from removing machines for this long after a scale-up.
	DelayAfterAdd time.Duration
}

// Defaults is the patience of the real client.
func Defaults() Config {
	return Config{
		Group:         GroupOptions{UnneededTime: 10 * time.Minute, MaxNodeProvisionTime: 15 * time.Minute},
		PodAge:        2 * time.Second,
		BackOff:       defaultBackOff,
		MaxBackOff:    defaultMaxBackOff,
		ForgetFaults:  defaultForgetFaults,
		DelayAfterAdd: 10 * time.Minute,
	}
}
