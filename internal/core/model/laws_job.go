package model

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// jobLaws: the power switch is worked by one Job at a time, and each is counted once.
func jobLaws() []Law {
	return []Law{
		{Name: "a slot has at most one unfinished lifecycle Job", change: oneJob},
		{Name: "a decision creates no Job beside an unfinished one", decision: noSecondJob},
		{Name: "a claim has at most one startup Job", change: oneStartup},
		{Name: "a cordon and a power-off Job are never in one decision", decision: cordonFirst},
		{Name: "a shutdown attempt is counted once, when its Job is seen to have started", decision: countsOnce},
		{Name: "a claim's attempt is counted when it commits, and never again", decision: attemptOnce},
		{Name: "a boot that never registered is shut down when its window is over, and before only once, on its switch's word", decision: letsBoot},
		{Name: "no shutdown Job starts while a committed claim wants the machine", change: spares},
	}
}

func oneJob(t *Transition) string {
	if open := unfinished(&t.After.Objects); len(open) > 1 && len(open) > len(unfinished(&t.Before.Objects)) {
		return wrong("unfinished: %v", open)
	}
	return ""
}

// unfinished are the Jobs that have not ended: two of them work one switch.
func unfinished(o *Objects) []string {
	var names []string
	for i := range o.Jobs {
		if !finished(&o.Jobs[i]) {
			names = append(names, o.Jobs[i].Name)
		}
	}
	return names
}

func noSecondJob(in slot.Input, d slot.Decision) string {
	creates := append(created(d, startup), created(d, shutdown)...)
	open := unfinished(&Objects{Jobs: in.Jobs})
	if len(creates) > 0 && len(creates)+len(open) > 1 {
		return wrong("creates %d beside %v", len(creates), open)
	}
	return ""
}

func oneStartup(t *Transition) string {
	made := t.After.Ghost.Startups
	if t.After.Ghost.Unseen || len(made) == len(t.Before.Ghost.Startups) {
		return ""
	}
	if last := made[len(made)-1]; slices.Contains(made[:len(made)-1], last) {
		return wrong("a second startup Job for claim %s", last)
	}
	return ""
}

func cordonFirst(_ slot.Input, d slot.Decision) string {
	for _, action := range d.Actions {
		patch, ok := action.(slot.PatchKubeNode)
		if ok && patch.After.Spec.Unschedulable && !patch.Before.Spec.Unschedulable && len(created(d, shutdown)) > 0 {
			return "both"
		}
	}
	return ""
}

func countsOnce(in slot.Input, d slot.Decision) string {
	for _, c := range d.Claims {
		had, got := c.Claim.Status.ShutdownAttempts, c.Status.ShutdownAttempts
		if got != had+newlyStarted(c.Claim.Status.Jobs, c.Status.Jobs) && got != 0 {
			return wrong("claim %s had %d, now %d", c.Claim.Name, had, got)
		}
	}
	if d.Slot == nil || d.Slot.Status.Unclaimed == nil || in.Slot.Status.Unclaimed == nil {
		return ""
	}
	before, after := in.Slot.Status.Unclaimed, d.Slot.Status.Unclaimed
	if got := after.ShutdownAttempts; got != before.ShutdownAttempts+newlyStarted(before.Jobs, after.Jobs) && got != 0 {
		return wrong("the unclaimed machine had %d, now %d", before.ShutdownAttempts, got)
	}
	return ""
}

// newlyStarted is how many shutdown Jobs are first seen to have started, or to be gone before that could be seen.
func newlyStarted(before, after []v2.JobRecord) int32 {
	spent := func(r v2.JobRecord) bool { return r.StartedAt != nil || r.Outcome == v2.JobUnknown }
	var n int32
	for _, record := range after {
		if record.Operation == v2.OperationShutdown && spent(record) &&
			!slices.ContainsFunc(before, func(b v2.JobRecord) bool { return b.Name == record.Name && spent(b) }) {
			n++
		}
	}
	return n
}

func attemptOnce(_ slot.Input, d slot.Decision) string {
	for _, c := range d.Claims {
		before, after := c.Claim.Status.Attempt, c.Status.Attempt
		if phase := facts.Phase(c.Claim); phase != v2.ClaimPending && before != after {
			return wrong("claim %s is %s with attempt %d, now %d", c.Claim.Name, phase, before, after)
		}
	}
	return ""
}

// letsBoot spares a machine that may be in its firmware. The window is computed from the design's page: where no deadline is
// written, it is the budget from the request on. A hold only lengthens it.
func letsBoot(in slot.Input, d slot.Decision) string {
	for _, job := range created(d, shutdown) {
		i := slices.IndexFunc(in.Claims, func(c *v2.NodeClaim) bool { return c.UID == controller(job) })
		if i < 0 || facts.KubeletOn(in.KubeNode) {
			continue
		}
		c := in.Claims[i]
		ends := facts.RequestedAt(c).Add(in.Policy.EffectiveBudget())
		if c.Spec.DeadlineAt != nil {
			ends = c.Spec.DeadlineAt.Time
		}
		told := fresh(in) == v2.PowerOn && !slices.ContainsFunc(c.Status.Jobs, func(record v2.JobRecord) bool {
			return record.Operation == v2.OperationShutdown && record.Name != job.Name // its own was written before it is made
		})
		if in.Now.Before(ends) && !told && !meta.IsStatusConditionTrue(statusAfter(d, c).Conditions, v2.ConditionRegistered) {
			return wrong("Job %s, %s before the end of the window of claim %s", job.Name, ends.Sub(in.Now), c.Name)
		}
	}
	return ""
}

func spares(t *Transition) string {
	if len(t.After.Jobs) != len(t.Before.Jobs) {
		return ""
	}
	for i := range t.After.Jobs {
		j := &t.After.Jobs[i]
		if operation(j) != shutdown || len(j.Pods) == 0 || len(t.Before.Jobs[i].Pods) > 0 {
			continue
		}
		if c := t.After.wanted(); c != nil && facts.Committed(c) {
			return wrong("%s starts while claim %s is %s", j.Name, c.Name, c.Status.Phase)
		}
	}
	return ""
}
