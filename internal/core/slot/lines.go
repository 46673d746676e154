package slot

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Lines tells the decision in words, one write or event a line, in the order of the commit. The log line of a commit and
// the transcripts in testdata are made of it.
func (d Decision) Lines() []string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	for _, absence := range d.Assumes {
		add("assume no %s %s", absence.Kind, absence.Name)
	}
	if d.Relies != nil {
		add("rely on kubeNode %s", d.Relies.Name)
	}
	if d.Brake {
		add("ask for the MachineGone token")
	}
	for _, f := range d.Finalizers {
		add("add finalizer to %s", target(f.Claim, f.Slot))
	}
	for _, c := range d.Claims {
		add("claim %s", describeStatus(c))
	}
	if d.Slot != nil {
		add("slot %s: %s", d.Slot.Slot.Name, describeSlot(d.Slot))
	}
	for _, action := range d.Actions {
		add("%s", describeAction(action))
	}
	for _, removal := range d.Removals {
		add("%s", describeRemoval(removal))
	}
	for _, note := range d.Notes {
		add("event %s on %s: %s", note.Reason, target(note.Claim, note.Slot), note.Message)
	}
	return lines
}

func target(c *v2.NodeClaim, s *v2.Node) string {
	if c != nil {
		return "claim " + c.Name
	}
	return "slot " + s.Name
}

// describeStatus tells what changes in a claim's status: its phase, its reason, and the conditions that turn.
func describeStatus(c ClaimStatus) string {
	words := []string{c.Claim.Name + ":"}
	if before, after := facts.Phase(c.Claim), c.Status.Phase; before != after {
		words = append(words, fmt.Sprintf("%s -> %s", before, after))
	}
	if c.Status.Reason != c.Claim.Status.Reason {
		words = append(words, "reason "+string(c.Status.Reason))
	}
	if c.Status.Attempt != c.Claim.Status.Attempt {
		words = append(words, fmt.Sprintf("attempt %d", c.Status.Attempt))
	}
	if c.Status.ShutdownAttempts != c.Claim.Status.ShutdownAttempts {
		words = append(words, fmt.Sprintf("shutdownAttempts %d", c.Status.ShutdownAttempts))
	}
	for _, condition := range c.Status.Conditions {
		if turned(c.Claim.Status.Conditions, condition) {
			words = append(words, fmt.Sprintf("%s=%s(%s)", condition.Type, condition.Status, condition.Reason))
		}
	}
	if len(words) == 1 {
		words = append(words, "record")
	}
	return strings.Join(words, " ")
}

// turned is whether a condition has another status or reason than before.
func turned(before []metav1.Condition, now metav1.Condition) bool {
	old := meta.FindStatusCondition(before, now.Type)
	return old == nil || old.Status != now.Status || old.Reason != now.Reason
}

func describeSlot(s *SlotStatus) string {
	var words []string
	before, after := s.Slot.Status, s.Status
	if before.Phase != after.Phase {
		words = append(words, "phase "+string(after.Phase))
	}
	if before.PowerState != after.PowerState {
		words = append(words, fmt.Sprintf("power %s (%s)", after.PowerState, after.PowerSource))
	}
	for _, condition := range after.Conditions {
		if condition.Type != v2.ConditionReady && turned(before.Conditions, condition) {
			words = append(words, fmt.Sprintf("%s=%s(%s)", condition.Type, condition.Status, condition.Reason))
		}
	}
	if len(words) == 0 {
		words = append(words, "record")
	}
	return strings.Join(words, ", ")
}

func describeAction(action Action) string {
	switch a := action.(type) {
	case CreateJob:
		return "create Job " + a.Job.Name
	case DeleteJob:
		return "delete Job " + a.Name
	case SetJobTTL:
		return fmt.Sprintf("set TTL of Job %s to %ds", a.Name, a.Seconds)
	case PatchKubeNode:
		return fmt.Sprintf("patch kubeNode %s: %s", a.Before.Name, strings.Join(a.Does, ", "))
	case Evict:
		return "evict pod " + a.Namespace + "/" + a.Name
	case DeleteKubeNode:
		return "delete kubeNode " + a.KubeNode.Name
	case CreateClaim:
		return "create claim " + a.Claim.Name
	default:
		return fmt.Sprintf("unknown action %T", action)
	}
}

func describeRemoval(removal Removal) string {
	switch rm := removal.(type) {
	case ClearDeadline:
		return "clear deadline of claim " + rm.Claim.Name
	case DeleteClaim:
		return "delete claim " + rm.Claim.Name
	case DropFinalizer:
		return "drop finalizer of " + target(rm.Claim, rm.Slot)
	default:
		return fmt.Sprintf("unknown removal %T", removal)
	}
}
