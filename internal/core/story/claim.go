package story

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

func (s *Story) tellClaim(slot *v2.Node, claim *v2.NodeClaim) {
	s.Claim = claim.Name
	s.Asked = asked(claim.Spec.Request, claim.Spec.RequestedBy, facts.RequestedAt(claim), claim.Status.Attempt, claim.Status.CreatedBy)
	s.happened(facts.RequestedAt(claim), "a machine of group %s was asked for", claim.Spec.Request.Group)
	s.jobs(claim.Status.Jobs)
	s.conditions(claim.Status.Conditions)
	if at := claim.Status.ReadyAt; at != nil {
		s.happened(at.Time, "ready after %s", took(facts.RequestedAt(claim), at.Time))
	}
	if at := claim.Status.FinishedAt; at != nil {
		s.happened(at.Time, "the claim %s", ending(claim.Status.Phase, claim.Status.Reason, claim.Status.EndedBy))
	}
	s.Headline = headline(slot, claim)
	switch {
	case facts.OwesReversal(claim, slot):
		s.goesOff(claim)
	case facts.Terminal(claim):
		s.ended(slot, claim.Status.Phase, claim.Status.Reason)
	default:
		s.comesUp(slot, claim)
	}
}

// tellDigest tells what the slot remembers of a claim that has been collected.
func (s *Story) tellDigest(digest *v2.ClaimDigest) {
	s.Claim = digest.Name
	requested := timeOf(digest.RequestedAt)
	s.Asked = asked(digest.Request, digest.RequestedBy, requested, digest.Attempt, nil)
	if digest.RequestedAt != nil {
		s.happened(requested, "a machine of group %s was asked for", digest.Request.Group)
	}
	if digest.ReadyAt != nil {
		s.happened(digest.ReadyAt.Time, "ready after %s", took(requested, digest.ReadyAt.Time))
	}
	if digest.FinishedAt != nil {
		s.happened(digest.FinishedAt.Time, "the claim %s", ending(digest.Phase, digest.Reason, digest.EndedBy))
	}
	s.Headline = fmt.Sprintf("%s rests. Its last claim %s.", s.Slot, ending(digest.Phase, digest.Reason, digest.EndedBy))
	s.endedWith(digest.Phase, digest.Reason)
}

func headline(slot *v2.Node, claim *v2.NodeClaim) string {
	power := cmp.Or(slot.Status.PowerState, v2.PowerUnknown)
	switch {
	case facts.OwesReversal(claim, slot):
		return fmt.Sprintf("%s is being switched off; its power is %s.", slot.Name, power)
	case facts.Terminal(claim):
		return fmt.Sprintf("%s is %s; its newest claim %s.", slot.Name, phase(slot), ending(claim.Status.Phase, claim.Status.Reason, claim.Status.EndedBy))
	default:
		return fmt.Sprintf("%s is wanted and %s; its power is %s.", slot.Name, phase(slot), power)
	}
}

func asked(request v2.ClaimRequest, by string, at time.Time, attempt int32, first *v2.ClaimOrigin) string {
	call := string(request.Call)
	if first != nil && first.Call != "" {
		call = string(first.Call)
	}
	said := fmt.Sprintf("%s asked with %s", cmp.Or(by, "somebody"), call)
	if !at.IsZero() {
		said += " at " + at.UTC().Format(time.RFC3339)
	}
	if attempt > 1 {
		return fmt.Sprintf("%s; it is boot %d in a row, and none before it became ready", said, attempt)
	}
	return said
}

func ending(phase v2.ClaimPhase, reason v2.ClaimReason, by *v2.ClaimEnd) string {
	said := string(phase)
	if reason != "" {
		said += ": " + string(reason)
	}
	if by != nil && by.By != "" {
		said += ", asked for by " + by.By
	}
	return said
}

func (s *Story) jobs(records []v2.JobRecord) {
	for _, job := range records {
		name := strings.ToLower(string(job.Operation)) + " Job " + job.Name
		if job.CreatedAt != nil {
			s.happened(job.CreatedAt.Time, "%s was made", name)
		}
		if job.FinishedAt != nil {
			s.happened(job.FinishedAt.Time, "%s: %s", name, outcome(job))
		}
	}
}

func outcome(job v2.JobRecord) string {
	said := strings.ToLower(string(job.Outcome))
	if job.Outcome == v2.JobNeverStarted {
		said = "never started"
	}
	if job.ExitCode != nil && *job.ExitCode != 0 {
		said += fmt.Sprintf(", exit code %d", *job.ExitCode)
	}
	if job.Message != "" {
		said += ": " + job.Message
	}
	return said
}

// conditions tells those that mark a step of a machine's life when they turned true.
func (s *Story) conditions(all []metav1.Condition) {
	steps := map[string]string{
		v2.ConditionRegistered:         "the kubelet reported",
		v2.ConditionMachineObservedOff: "the machine was seen off",
	}
	for _, c := range all {
		if what := steps[c.Type]; what != "" && c.Status == metav1.ConditionTrue {
			s.happened(c.LastTransitionTime.Time, "%s", what)
		}
	}
}

// took is a time span to the second.
func took(from, to time.Time) time.Duration { return to.Sub(from).Round(time.Second) }

func timeOf(t *metav1.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.Time
}

func message(conditions []metav1.Condition, kind string) string {
	if c := meta.FindStatusCondition(conditions, kind); c != nil {
		return c.Message
	}
	return ""
}
