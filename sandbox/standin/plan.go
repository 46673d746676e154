package standin

import corev1 "k8s.io/api/core/v1"

// Call is one thing to do to a group: DeleteInstance, IncreaseSize or RemoveKubeNode.
type Call interface{ group() string }

// Why an instance without a kubeNode is given up; the words the provider finds on the invented node.
const (
	ReasonUnregistered = "unregistered"
	ReasonCreateError  = "create-error"
)

// DeleteInstance gives up an instance that has no kubeNode: DeleteNodes with an invented node.
type DeleteInstance struct {
	Group, Instance, Reason string
}

// IncreaseSize asks for Delta more machines, because of Pods.
type IncreaseSize struct {
	Group string
	Delta int32
	Pods  []*corev1.Pod
}

// RemoveKubeNode taints, cordons and evicts an idle kubeNode and then asks for its machine to be deleted.
type RemoveKubeNode struct {
	Group    string
	KubeNode *corev1.Node
}

// CleanUp takes our taint and cordon off a kubeNode whose removal was cut short by a restart of the client.
type CleanUp struct {
	Group    string
	KubeNode *corev1.Node
}

func (c DeleteInstance) group() string { return c.Group }
func (c IncreaseSize) group() string   { return c.Group }
func (c RemoveKubeNode) group() string { return c.Group }
func (c CleanUp) group() string        { return c.Group }

// Plan is what to do now, in this order, and what to say about it.
type Plan struct {
	Calls []Call
	// Notes are sentences for the log: why nothing is done where something might be expected.
	Notes []string
}
