package slot

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// join drives a machine that is up towards ready for the claim that wants it: a pending one that found it on, or a
// booting one whose kubelet has come. It records the registration, stamps the kubeNode and lifts what would keep pods away.
func join(r *run) {
	c := r.wanted()
	if c == nil || r.in.Slot == nil || r.in.NamespaceTerminating {
		return
	}
	r.showHold()
	if !r.kubeletOn || r.frozen || r.owed() {
		return
	}
	switch facts.Phase(c.NodeClaim) {
	case v2.ClaimPending:
		if !r.goingDown() {
			r.stamp(c, true)
			r.lift(false)
		}
	case v2.ClaimBooting:
		r.register(c)
		r.stamp(c, true)
		r.lift(true)
	case v2.ClaimReady:
		// A kubeNode without our label is a new object: somebody deleted the former one, and the kubelet registered again.
		r.stamp(c, r.in.KubeNode.Labels[v2.LabelNode] == "")
	}
}

// register records that this boot's kubelet reported. A boot begins in silence, so a kubelet that reports during it is
// this boot's and not an old object.
func (r *run) register(c *claim) {
	c.Status.NodeName = r.in.KubeNode.Name
	c.Status.ProviderID = r.in.KubeNode.Spec.ProviderID
	if !registered(c) {
		r.rely()
		r.claimCondition(c, v2.ConditionRegistered, metav1.ConditionTrue, "KubeletReported",
			fmt.Sprintf("kubeNode %s reported %s after the request", r.in.KubeNode.Name, r.age(c)))
	}
}

// age is the time since the claim was requested, as people read it.
func (r *run) age(c *claim) string { return r.in.Now.Sub(facts.RequestedAt(c.NodeClaim)).String() }
