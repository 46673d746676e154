package pool

import (
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Marks that cluster-autoscaler puts on the nodes it makes up.
const (
	annotationFakeReason = "k8s.io/cluster-autoscaler/fake-node-reason"
	annotationUpcoming   = "cluster-autoscaler.k8s.io/upcoming-node"
	labelTemplateNode    = "cluster-autoscaler.kubernetes.io/template-node"
)

// NodeKind is what a node the client speaks of really is.
type NodeKind string

// The kinds of node.
const (
	// RealNode is a node that registered, as far as the client says.
	RealNode NodeKind = "real"
	// InventedNode stands for an instance that never registered: its name and providerID are the instance's id.
	InventedNode NodeKind = "invented"
	// UpcomingNode is a copy of a template, put where a machine is expected. It can carry the providerID of the real
	// node it was copied from, and is evidence of nothing.
	UpcomingNode NodeKind = "upcoming"
)

// KindOf tells what a node is by the marks it carries.
func KindOf(ref NodeRef, labels, annotations map[string]string) NodeKind {
	if _, ok := annotations[annotationUpcoming]; ok || labels[labelTemplateNode] == "true" {
		return UpcomingNode
	}
	if _, ok := annotations[annotationFakeReason]; ok || ref.ProviderID != "" && ref.Name == ref.ProviderID {
		return InventedNode
	}
	return RealNode
}

// GroupOfKubeNode is the group a registered node belongs to, empty when it is none of the client's business. It is the
// group of the wanted claim exactly while that is ready. Before, the node would hide from the client the machine that it
// still awaits, and afterwards a restarted client would lift the cordon from a machine that is being switched off. A
// held boot is the exception: it is what it is until the hold ends. One that registered a moment ago and has no providerID
// yet is no exception: the client could not tell that it is the instance it awaits, and would count it beside that.
func (s Slot) GroupOfKubeNode(now time.Time) string {
	all, newest := s.wanted()
	if newest == nil {
		return ""
	}
	switch furthest(all) {
	case v2.ClaimReady:
		return newest.Spec.Request.Group
	case v2.ClaimBooting:
		if facts.HoldOf(s.Object, now).Held && s.KubeNode != nil && s.KubeNode.Spec.ProviderID != "" {
			return newest.Spec.Request.Group
		}
	}
	return ""
}
