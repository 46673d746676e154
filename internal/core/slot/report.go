package slot

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
)

// report derives the slot's status from evidence and claims. Nothing reads it to decide, but the start of a silence, the
// end of a hold and the digest, which are records.
func report(r *run) {
	if r.in.Slot == nil {
		return
	}
	r.slot.ObservedGeneration = r.in.Slot.Generation
	r.updateDigest()
	r.reportPower()
	r.slot.Switch = job.Report(r.in.Slot, r.policy)
	r.reportHold()
	r.reportConditions()
	r.slot.Phase = r.slotPhase()
	ready := metav1.ConditionFalse
	if r.slot.Phase == v2.SlotReady {
		ready = metav1.ConditionTrue
	}
	r.slotCondition(v2.ConditionReady, ready, phaseReason(r.slot.Phase), r.phaseSentence())
}

// reportPower says what is believed of the machine's power, and whose evidence it is.
func (r *run) reportPower() {
	state, source := r.slot.PowerState, r.slot.PowerSource
	switch {
	case r.off != nil && r.off.assumed:
		state, source = v2.PowerUnknown, v2.PowerSourceAssumed
	case r.off != nil && !r.off.released && !r.off.nothingBought:
		state, source = v2.PowerOff, r.off.source
	case r.kubeletOn:
		state, source = v2.PowerOn, v2.PowerSourceKubelet
	case r.power == facts.On:
		state, source = v2.PowerOn, v2.PowerSourceOutOfBand
	case r.reading.State == v2.PowerOff:
		state, source = v2.PowerOff, v2.PowerSourceOutOfBand
	case state == v2.PowerOn:
		state, source = v2.PowerUnknown, v2.PowerSourceKubelet
	case state == "" && r.in.KubeNode == nil:
		state, source = v2.PowerOff, v2.PowerSourceKubelet
	case state == "":
		state, source = v2.PowerUnknown, v2.PowerSourceKubelet
	}
	if state != r.slot.PowerState {
		r.slot.PowerStateSince = &r.now
		r.rely()
	}
	r.slot.PowerState, r.slot.PowerSource = state, source

	r.slot.Health, r.slot.ProviderID = v2.Offline, ""
	switch {
	case facts.KubeNodeReady(r.in.KubeNode):
		r.slot.Health = v2.Healthy
	case r.kubeletOn:
		r.slot.Health = v2.HealthUnknown
	}
	if r.in.KubeNode != nil {
		r.slot.ProviderID = r.in.KubeNode.Spec.ProviderID
	}
}

// slotPhase is the first of the report's phases that fits.
func (r *run) slotPhase() v2.SlotPhase {
	if r.owed() || r.slot.Unclaimed != nil {
		return v2.SlotDraining
	}
	c := r.owner()
	switch {
	case c == nil:
		return v2.SlotOff
	case facts.Phase(c.NodeClaim) == v2.ClaimPending:
		return v2.SlotPending
	case c.Status.Phase == v2.ClaimReady && r.serves():
		return v2.SlotReady
	default:
		return v2.SlotBooting
	}
}

// serves is whether a ready claim's machine takes pods. An autoscaler's marks do not count: it puts a soft one on every
// machine that is idle, long before it gives it back, and a condition of its own shows them.
func (r *run) serves() bool {
	return facts.KubeNodeReady(r.in.KubeNode) && !r.in.KubeNode.Spec.Unschedulable && len(facts.GateTaints(r.in.KubeNode, r.policy)) == 0
}

func phaseReason(phase v2.SlotPhase) string {
	return map[v2.SlotPhase]string{
		v2.SlotOff: "Off", v2.SlotPending: "Pending", v2.SlotBooting: "Booting", v2.SlotReady: "Ready", v2.SlotDraining: "Draining",
	}[phase]
}

// phaseSentence says for whom the slot is in its phase.
func (r *run) phaseSentence() string {
	name := ""
	if c := r.owner(); c != nil {
		name = c.Name
	}
	switch r.slot.Phase {
	case v2.SlotPending:
		return "claim " + name + " waits for the machine"
	case v2.SlotBooting:
		return "claim " + name + " has the machine, which does not take pods"
	case v2.SlotReady:
		return "the machine serves claim " + name
	case v2.SlotDraining:
		return "the machine is not wanted and is to go off"
	default:
		return "no claim wants the machine"
	}
}

func (r *run) reportHold() {
	r.slotReport(v2.ConditionHeld, r.hold.Held, "Held", r.hold.Why, "NotHeld")
	if r.hold.Held {
		r.wake(r.hold.Until)
	}
}

// holdEnds is whether the hold that this slot's status shows is over in this observation.
func (r *run) holdEnds() bool {
	return !r.hold.Held && meta.IsStatusConditionTrue(r.in.Slot.Status.Conditions, v2.ConditionHeld)
}

// finish compares what the stages made of the copies with what was observed: only a change is written.
func (r *run) finish() Decision {
	for _, c := range r.claims {
		if !equality.Semantic.DeepEqual(c.Status, c.seen.Status) {
			r.d.Claims = append(r.d.Claims, ClaimStatus{Claim: c.seen, Status: c.Status})
		}
	}
	if r.in.Slot != nil && !equality.Semantic.DeepEqual(r.slot, r.in.Slot.Status) {
		r.d.Slot = &SlotStatus{Slot: r.in.Slot, Status: r.slot}
	}
	if r.relies && r.in.Slot != nil {
		r.onEvidence()
	}
	if r.patched() {
		r.d.Actions = append([]Action{PatchKubeNode{Before: r.in.KubeNode, After: r.kubeNode, Does: r.does}}, r.d.Actions...)
	}
	return r.d
}

// onEvidence has the decision's evidence read again.
func (r *run) onEvidence() {
	absent := Absence{Kind: KindKubeNode, Name: r.in.Slot.Spec.KubernetesNodeName}
	if r.in.KubeNode != nil {
		r.d.Relies = r.in.KubeNode
	} else if !slices.Contains(r.d.Assumes, absent) {
		r.assume(absent)
	}
}
