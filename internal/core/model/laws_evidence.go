package model

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// evidenceLaws: what is believed of the machine rests on evidence, and a hold holds.
func evidenceLaws() []Law {
	return []Law{
		{Name: "the kubeNode is never removed while the evidence says on", change: keepsKubeNode},
		{Name: "the kubeNode is removed only with a machine that is believed off, and where the group wants it", decision: removesByRule},
		{Name: "silence from before removes no kubeNode whose kubelet reported in this boot, seen or not", decision: keepsUnseen},
		{Name: "off is believed only after a shutdown Job of the reversal started", decision: offByJob},
		{Name: "a switch that says on forbids to believe in off", decision: switchForbids},
		{Name: "a switch's off is believed only as news of the shutdown", decision: switchTellsNews},
		{Name: "a reversal ends in the observation in which the evidence says off", decision: believesAtOnce},
		{Name: "evidence in hand beats the clock", decision: evidenceFirst},
		{Name: "a machine is newly said to be on, ready or unclaimed only while its kubelet reports", change: saidTruly},
		{Name: "a Job or kubeNode that is there is not taken for absent", change: nothingOverlooked},
		{Name: "no power operation starts on a held slot", decision: holdHolds},
		{Name: "no clock runs out in the observation in which a hold ends", decision: holdStopsClocks},
		{Name: "a machine is lost only after its whole time of silence, never while its kubelet reports", decision: lostInTime},
	}
}

func words(text string) []string { return strings.Fields(text) }

func fresh(in slot.Input) v2.PowerState {
	return facts.ReadingOf(in.Slot).Fresh(in.Now, in.Policy).State
}

func keepsKubeNode(t *Transition) string {
	removed := t.Decision != nil && t.Before.KubeNode != nil && t.After.KubeNode == nil
	if removed && t.Before.heard() && fresh(t.In) != v2.PowerOff {
		return "its kubelet reports"
	}
	return ""
}

func removesByRule(in slot.Input, d slot.Decision) string {
	if removesNone(d) {
		return ""
	}
	state := in.Slot.Status.PowerState
	if d.Slot != nil {
		state = d.Slot.Status.PowerState
	}
	switch {
	case facts.KubeletOn(in.KubeNode) && fresh(in) != v2.PowerOff:
		return "its kubelet reports"
	case !in.Policy.RemoveKubeNode:
		return "the group keeps it"
	case facts.HoldOf(in.Slot, in.Now).Held:
		return "the slot is held"
	case state != v2.PowerOff && !unclaimedIsOff(in):
		return "the slot is not said to be off"
	}
	return ""
}

// keepsUnseen reads off the kubeNode itself what no manager saw: it was made, or turned Unknown, since the boot committed.
func keepsUnseen(in slot.Input, d slot.Decision) string {
	if d.Slot == nil || d.Slot.Status.PowerSource != v2.PowerSourceShutdownJob || in.KubeNode == nil || removesNone(d) {
		return ""
	}
	c := newestOwing(in)
	if c == nil {
		return ""
	}
	if reportedSince(in.KubeNode, c.Status.Jobs) {
		return wrong("it has turned since the boot of claim %s began", c.Name)
	}
	return ""
}

// reportedSince is whether the kubeNode was made, or its condition turned, since the newest startup Job was made.
func reportedSince(n *corev1.Node, records []v2.JobRecord) bool {
	boot, ready := facts.LastJob(records, v2.OperationStartup), facts.ReadyCondition(n)
	return boot != nil && ready != nil &&
		(!n.CreationTimestamp.Before(boot.CreatedAt) || !ready.LastTransitionTime.Before(boot.CreatedAt))
}

func removesNone(d slot.Decision) bool {
	return !slices.ContainsFunc(d.Actions, func(a slot.Action) bool { _, ok := a.(slot.DeleteKubeNode); return ok })
}

// unclaimedIsOff is whether an unclaimed machine is believed off. Its kubeNode goes first, and only then its record:
// nothing else would remember that the kubeNode must go.
func unclaimedIsOff(in slot.Input) bool {
	record := in.Slot.Status.Unclaimed
	return record != nil && evidentlyOff(in, record.Jobs) != ""
}

// ends is the reason with which the decision newly says of a claim that its machine is off.
func ends(c slot.ClaimStatus) string {
	before := meta.FindStatusCondition(c.Claim.Status.Conditions, v2.ConditionMachineObservedOff)
	after := meta.FindStatusCondition(c.Status.Conditions, v2.ConditionMachineObservedOff)
	if after == nil || before != nil && before.Reason == after.Reason {
		return ""
	}
	return after.Reason
}

func offByJob(_ slot.Input, d slot.Decision) string {
	for _, c := range d.Claims {
		reason := ends(c)
		started := slices.ContainsFunc(c.Status.Jobs, func(r v2.JobRecord) bool {
			return r.Operation == v2.OperationShutdown && r.StartedAt != nil
		})
		if reason == "ObservedOff" && !started && !newerOwes(d, c.Claim) {
			return wrong("claim %s", c.Claim.Name)
		}
	}
	return ""
}

// newerOwes is whether the reversal's record is kept on a newer claim: the older one ends with it.
func newerOwes(d slot.Decision, older *v2.NodeClaim) bool {
	return slices.ContainsFunc(d.Claims, func(c slot.ClaimStatus) bool {
		return facts.Older(older, c.Claim) < 0 && ends(c) == "ObservedOff"
	})
}

func switchForbids(in slot.Input, d slot.Decision) string {
	if fresh(in) != v2.PowerOn {
		return ""
	}
	for _, c := range d.Claims {
		if reason := ends(c); reason == "ObservedOff" || reason == "AssumedOff" {
			return wrong("claim %s: %s", c.Claim.Name, reason)
		}
	}
	return ""
}

// holdStopsClocks: whatever a hold kept waiting has its whole time from its end on.
func holdStopsClocks(in slot.Input, d slot.Decision) string {
	if in.Slot == nil || facts.HoldOf(in.Slot, in.Now).Held || !meta.IsStatusConditionTrue(in.Slot.Status.Conditions, v2.ConditionHeld) {
		return ""
	}
	for _, c := range d.Claims {
		if clocks := words("DeadlineExceeded ReadinessGateTimeout StuckTransition MachineGone"); !facts.Terminal(c.Claim) &&
			slices.Contains(clocks, string(c.Status.Reason)) && c.Status.Reason != c.Claim.Status.Reason {
			return wrong("claim %s ends with %s", c.Claim.Name, c.Status.Reason)
		}
	}
	return ""
}

func holdHolds(in slot.Input, d slot.Decision) string {
	if !facts.HoldOf(in.Slot, in.Now).Held {
		return ""
	}
	for _, action := range d.Actions {
		switch a := action.(type) {
		case slot.CreateJob:
			return "Job " + a.Job.Name
		case slot.Evict:
			return "an eviction"
		}
	}
	return ""
}

func lostInTime(in slot.Input, d slot.Decision) string {
	for _, c := range d.Claims {
		if c.Status.Reason != v2.ReasonMachineGone || facts.Terminal(c.Claim) {
			continue
		}
		switch longest := silence(in); {
		case facts.KubeletOn(in.KubeNode):
			return "its kubelet reports"
		case longest < in.Policy.MachineGoneAfter():
			return wrong("silent for %s", longest)
		}
	}
	return ""
}

// silence is for how long a claim of the slot has had its machine noted as silent: an heir inherits the clock.
func silence(in slot.Input) time.Duration {
	var longest time.Duration
	for _, c := range in.Claims {
		off := meta.FindStatusCondition(c.Status.Conditions, v2.ConditionMachineObservedOff)
		if off != nil && off.Status == metav1.ConditionTrue {
			longest = max(longest, in.Now.Sub(off.LastTransitionTime.Time))
		}
	}
	return longest
}

// evidenceFirst spares a booting claim whose machine is through the gate in this very observation.
func evidenceFirst(in slot.Input, d slot.Decision) string {
	n := in.KubeNode
	through := facts.KubeNodeReady(n) && !n.Spec.Unschedulable && len(facts.GateTaints(n, in.Policy)) == 0 &&
		!slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return facts.Leftover(t, v2.EngineClusterAutoscaler) })
	if !through {
		return ""
	}
	for _, c := range d.Claims {
		switch c.Status.Reason {
		case v2.ReasonDeadlineExceeded, v2.ReasonReadinessGateTimeout, v2.ReasonStartupJobFailed, v2.ReasonStartupJobTimeout, v2.ReasonStuckTransition:
			if facts.Phase(c.Claim) == v2.ClaimBooting && c.Status.Phase == v2.ClaimFailed {
				return wrong("claim %s: %s", c.Claim.Name, c.Status.Reason)
			}
		}
	}
	return ""
}

// saidTruly judges what lands of a decision, whenever that was taken.
func saidTruly(t *Transition) string {
	if t.Decision == nil || t.Before.Slot == nil || t.After.Slot == nil || t.Before.heard() {
		return ""
	}
	before, after := &t.Before.Slot.Status, &t.After.Slot.Status
	switch {
	case after.PowerSource != v2.PowerSourceKubelet:
	case before.PowerState != v2.PowerOn && after.PowerState == v2.PowerOn:
		return "the slot says on"
	case before.Unclaimed == nil && after.Unclaimed != nil:
		return "the slot says unclaimed"
	}
	ready := func(c *v2.NodeClaim) bool { return c.Status.Phase == v2.ClaimReady }
	if slices.ContainsFunc(t.After.Claims, ready) && !slices.ContainsFunc(t.Before.Claims, ready) {
		return "a claim says ready"
	}
	return ""
}

// nothingOverlooked judges what lands of a decision on a lagging cache.
func nothingOverlooked(t *Transition) string {
	if t.Decision == nil || t.Move.Event != stale {
		return ""
	}
	if t.In.KubeNode == nil && t.Before.heard() && len(t.After.Ghost.Startups) > len(t.Before.Ghost.Startups) {
		return "a boot begins though the kubelet reports"
	}
	for _, c := range t.After.Claims {
		before := t.Before.claim(c.Name)
		for i := range c.Status.Jobs {
			record := &c.Status.Jobs[i]
			live := t.Before.job(record.Name)
			if record.Outcome == v2.JobUnknown && live != nil && live.UID == record.UID && before != nil && !unknown(before.Status.Jobs, record.Name) {
				return wrong("Job %s", record.Name)
			}
		}
	}
	return ""
}

func unknown(records []v2.JobRecord, name string) bool {
	return slices.ContainsFunc(records, func(r v2.JobRecord) bool { return r.Name == name && r.Outcome == v2.JobUnknown })
}
