package story

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// comesUp says what a live claim waits for.
func (s *Story) comesUp(slot *v2.Node, claim *v2.NodeClaim) {
	until := timeOf(claim.Spec.DeadlineAt)
	switch facts.Phase(claim) {
	case v2.ClaimPending:
		s.begins(slot, claim, until)
		s.do("to take it back: kubectl homelab down %s", s.Slot)
	case v2.ClaimBooting:
		s.boots(claim, until)
	case v2.ClaimReady:
		if meta.IsStatusConditionTrue(claim.Status.Conditions, v2.ConditionMachineObservedOff) {
			s.wait(time.Time{}, "the machine, which fell silent: %s", message(claim.Status.Conditions, v2.ConditionMachineObservedOff))
			s.do("look at the machine; its claim fails as MachineGone if it stays silent")
		}
	}
}

// begins says what a claim waits for that has bought nothing: to join a machine that is up, or for the boot to start.
func (s *Story) begins(slot *v2.Node, claim *v2.NodeClaim, until time.Time) {
	if gate := message(claim.Status.Conditions, v2.ConditionInitialized); gate != "" && slot.Status.PowerState == v2.PowerOn {
		s.wait(until, "the kubeNode to pass the gate: %s", gate)
		return
	}
	s.wait(until, "its boot to start: %s",
		cmp.Or(message(claim.Status.Conditions, v2.ConditionLaunched), "the operator has not looked at it yet"))
}

// boots names the first question of a boot that has no answer yet.
func (s *Story) boots(claim *v2.NodeClaim, until time.Time) {
	for _, question := range []struct{ kind, what, do string }{
		{v2.ConditionLaunched, "the startup Job", "kubectl get jobs,pods -l " + v2.LabelNodeClaim + "=" + claim.Name},
		{v2.ConditionRegistered, "the kubelet to report", "look at the machine's screen, or at its BMC: the power command was accepted and no kubelet came yet"},
		{v2.ConditionInitialized, "the kubeNode to pass the gate", "kubectl describe node " + claim.Status.NodeName},
	} {
		c := meta.FindStatusCondition(claim.Status.Conditions, question.kind)
		if c != nil && c.Status == metav1.ConditionTrue {
			continue
		}
		s.wait(until, "%s", question.what)
		if c != nil && c.Message != "" {
			s.Waiting += ": " + c.Message
		}
		s.do("%s", question.do)
		return
	}
}

// goesOff says what a reversal waits for.
func (s *Story) goesOff(claim *v2.NodeClaim) {
	s.wait(time.Time{}, "the machine to be off")
	sent := facts.LastJob(claim.Status.Jobs, v2.OperationShutdown) != nil
	if !sent && !meta.IsStatusConditionTrue(claim.Status.Conditions, v2.ConditionRegistered) {
		s.wait(timeOf(claim.Spec.DeadlineAt), "its kubelet to report, or the deadline: a machine in its firmware cannot be told to stop")
	}
	if off := message(claim.Status.Conditions, v2.ConditionMachineObservedOff); off != "" {
		s.Waiting += ": " + off
	}
	if drained := meta.FindStatusCondition(claim.Status.Conditions, v2.ConditionDrained); !sent && drained != nil && drained.Status == metav1.ConditionFalse {
		s.wait(time.Time{}, "its pods to leave: %s", drained.Message)
	}
	switch claim.Status.Reason {
	case v2.ReasonShutdownJobFailed, v2.ReasonShutdownJobTimeout:
		s.do("mend the shutdown command, then go on at once: kubectl homelab reset %s", s.Slot)
	}
	s.endedWith(claim.Status.Phase, claim.Status.Reason)
}

func (s *Story) ended(slot *v2.Node, phase v2.ClaimPhase, reason v2.ClaimReason) {
	s.endedWith(phase, reason)
	if cooling := meta.FindStatusCondition(slot.Status.Conditions, v2.ConditionCoolingOff); cooling != nil && cooling.Status == metav1.ConditionTrue {
		s.wait(time.Time{}, "the end of the cool-off: %s", cooling.Message)
		s.do("when the cause is mended, offer the slot at once: kubectl homelab reset %s", s.Slot)
	}
}

// causes is where to look after an end that was nobody's wish.
var causes = map[v2.ClaimReason]string{
	v2.ReasonDeadlineExceeded:     "the power command was accepted and no kubelet came in time: look at the firmware, at Wake-on-LAN, at the kubelet",
	v2.ReasonStartupJobFailed:     "the power command failed: its last line is above",
	v2.ReasonStartupJobTimeout:    "the power command hung, or got no container to run in: kubectl get events --field-selector reason=FailedCreate",
	v2.ReasonReadinessGateTimeout: "the kubelet came, and the kubeNode kept a readiness taint: look at the network plug-in",
	v2.ReasonAttemptLimitExceeded: "the slot was cooling off after failed boots",
	v2.ReasonMachineGone:          "the machine fell silent while it was in use: look at its power, its network, its log",
	v2.ReasonStuckTransition:      "the claim had no deadline and made no progress",
}

func (s *Story) endedWith(phase v2.ClaimPhase, reason v2.ClaimReason) {
	if cause := causes[reason]; phase == v2.ClaimFailed && cause != "" {
		s.do("%s", cause)
	}
}
