package slot

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// gate moves a claim to ready once its machine can take the pool's work: Ready, schedulable, free of the group's
// readiness taints and of an autoscaler's leftovers, and stamped. It judges what was observed, never what this decision
// is about to change.
func gate(r *run) {
	c := r.wanted()
	if c == nil || r.in.Slot == nil || r.in.NamespaceTerminating || !r.kubeletOn || r.frozen || r.owed() {
		return
	}
	phase := facts.Phase(c.NodeClaim)
	if phase == v2.ClaimReady || phase == v2.ClaimPending && r.goingDown() {
		return
	}
	waits := r.gateWaits(r.in.KubeNode)
	if r.patched() {
		waits = append(waits, "its kubeNode is being made ready for pods")
	}
	if len(waits) > 0 {
		r.claimCondition(c, v2.ConditionInitialized, metav1.ConditionFalse, "Waiting", joinWaits(waits))
		r.gateOpens = len(r.gateWaits(r.kubeNode)) == 0
		return
	}
	if phase == v2.ClaimPending && !r.passed(c.CreationTimestamp.Add(r.policy.JoinMinAge)) {
		r.claimCondition(c, v2.ConditionInitialized, metav1.ConditionFalse, "Joining",
			"the machine is up; its kubelet must stay so until the claim is "+r.policy.JoinMinAge.String()+" old")
		return
	}
	r.ready(c, phase == v2.ClaimPending)
}

// gateWaits lists what keeps a kubeNode from taking work; empty means it is through the gate.
func (r *run) gateWaits(kubeNode *corev1.Node) []string {
	var waits []string
	if !facts.KubeNodeReady(kubeNode) {
		waits = append(waits, "kubeNode "+kubeNode.Name+" is not Ready")
	}
	if kubeNode.Spec.Unschedulable {
		waits = append(waits, "it is cordoned")
	}
	for _, taint := range facts.GateTaints(kubeNode, r.policy) {
		waits = append(waits, "it has the readiness taint "+taint.ToString())
	}
	for _, taint := range kubeNode.Spec.Taints {
		if facts.Leftover(taint, r.engine()) {
			waits = append(waits, "it has the leftover taint "+taint.Key)
		}
	}
	return waits
}

func (r *run) ready(c *claim, joined bool) {
	how := "booted"
	if joined {
		how = "was already up"
		c.Status.Attempt = max(c.Status.Attempt, facts.Streak(r.digestBefore(c)))
	}
	r.commitFinalizer(c)
	r.register(c)
	r.rely()
	message := fmt.Sprintf("kubeNode %s %s and passed the readiness gate %s after the request", r.in.KubeNode.Name, how, r.age(c))
	r.claimCondition(c, v2.ConditionInitialized, metav1.ConditionTrue, "Initialized", "through the readiness gate")
	r.move(c, v2.ClaimReady, "", message)
	r.slot.LastStartupTime = &r.now
	r.noteClaim(c, false, v2.EventClaimReady, message)
	r.noteSlot(c, false, v2.EventScaleUpCompleted, fmt.Sprintf("machine %s and is ready for claim %s (attempt %d)", how, c.Name, c.Status.Attempt))
}
