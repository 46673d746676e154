package model

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// ownerLaws: a slot serves one claim.
func ownerLaws() []Law {
	return []Law{
		{Name: "a machine is booted only for the newest wanted claim", decision: bootsForOwner},
		{Name: "of two live claims none acts before the newer has settled", decision: settlesFirst},
		{Name: "a newer claim that has settled is the only wanted one", change: oneWanted},
		{Name: "a claim that is superseded hands its machine over", decision: handsOver},
	}
}

// created are the lifecycle Jobs of an operation that the decision creates.
func created(d slot.Decision, op string) []*batchv1.Job {
	var jobs []*batchv1.Job
	for _, action := range d.Actions {
		if create, ok := action.(slot.CreateJob); ok && create.Job.Labels[v2.LabelOperation] == op {
			jobs = append(jobs, create.Job)
		}
	}
	return jobs
}

// seen are the objects as the decision saw them.
func seen(in slot.Input) *Objects { return &Objects{Slot: in.Slot, Claims: in.Claims} }

func bootsForOwner(in slot.Input, d slot.Decision) string {
	owner := seen(in).wanted()
	for _, job := range created(d, startup) {
		if owner == nil {
			return wrong("startup Job %s though no claim wants the machine", job.Name)
		}
		if controller(job) != owner.UID {
			return wrong("startup Job %s, but claim %s owns the slot", job.Name, owner.Name)
		}
	}
	return ""
}

func wantedClaims(o *Objects) []*v2.NodeClaim {
	return slices.DeleteFunc(slices.Clone(o.Claims), func(c *v2.NodeClaim) bool { return !facts.Wanted(c, o.Slot) })
}

func unsettled(o *Objects, in slot.Input) bool {
	return len(wantedClaims(o)) > 1 && in.Now.Before(o.wanted().CreationTimestamp.Add(in.Policy.SupersedeSettle))
}

func settlesFirst(in slot.Input, d slot.Decision) string {
	if in.NamespaceTerminating || !unsettled(seen(in), in) {
		return ""
	}
	if len(created(d, startup)) > 0 {
		return "a startup Job"
	}
	for _, c := range d.Claims {
		moves := c.Status.Phase != facts.Phase(c.Claim) && (c.Status.Phase == v2.ClaimBooting || c.Status.Phase == v2.ClaimReady)
		if moves && facts.Wanted(c.Claim, in.Slot) {
			return wrong("claim %s moves to %s", c.Claim.Name, c.Status.Phase)
		}
	}
	return ""
}

func oneWanted(t *Transition) string {
	if !t.Fresh || !t.Complete || t.In.NamespaceTerminating || len(wantedClaims(seen(t.In))) < 2 || unsettled(seen(t.In), t.In) {
		return ""
	}
	if n := len(wantedClaims(&t.After.Objects)); n > 1 {
		return wrong("%d claims want the machine", n)
	}
	return ""
}

func handsOver(in slot.Input, d slot.Decision) string {
	winner := seen(in).wanted()
	for _, c := range d.Claims {
		if c.Status.Reason != v2.ReasonSuperseded || facts.Terminal(c.Claim) || !facts.Committed(c.Claim) {
			continue
		}
		if slices.ContainsFunc(in.Claims, func(heir *v2.NodeClaim) bool { return facts.Older(c.Claim, heir) < 0 && facts.Committed(heir) }) {
			continue // it had taken the machine over before
		}
		if winner == nil {
			return wrong("claim %s was %s; it has no heir", c.Claim.Name, facts.Phase(c.Claim))
		}
		after := statusAfter(d, winner)
		if after.Phase != v2.ClaimBooting && after.Phase != v2.ClaimReady && after.Phase != v2.ClaimFailed {
			return wrong("claim %s was %s; its heir %s is %s", c.Claim.Name, facts.Phase(c.Claim), winner.Name, after.Phase)
		}
	}
	return ""
}

// statusAfter is a claim's status once the decision is committed.
func statusAfter(d slot.Decision, c *v2.NodeClaim) *v2.NodeClaimStatus {
	for i := range d.Claims {
		if d.Claims[i].Claim.UID == c.UID {
			return &d.Claims[i].Status
		}
	}
	return &c.Status
}
