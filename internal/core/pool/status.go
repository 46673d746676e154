package pool

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// Reasons of a group's conditions.
const (
	ReasonOffered         = "Offered"
	ReasonForPeople       = "ForPeople"
	ReasonInvalidSpec     = "InvalidSpec"
	ReasonNoSlots         = "NoSlots"
	ReasonCapacityUnknown = "CapacityUnknown"
	ReasonAlike           = "Alike"
	ReasonUnlike          = "Unlike"
	ReasonNeverStarted    = "NeverStarted"
	ReasonJobsStart       = "JobsStart"
	ReasonWithinBudget    = "WithinBudget"
	ReasonNearBudget      = "NearBudget"
	ReasonOverBudget      = "OverBudget"
	ReasonCoolingOff      = "CoolingOff"
	ReasonNoBootsYet      = "NoBootsYet"
)

// nearBudget is the share of the budget from which on a usual boot is too close to its deadline.
const nearBudget = 0.8

// Status is the group's status as the view shows it. Conditions keep the transition time of old where they stay as they
// are; the rest is a reading of v alone. The view must have a Group.
func Status(v View, old v2.GroupStatus) v2.GroupStatus {
	sum := Summarize(v)
	boots := bootSeconds(v)
	status := v2.GroupStatus{
		ObservedGeneration: v.Group.Generation,
		Slots:              int32(len(v.own())),
		Offerable:          int32(len(sum.Offerable)),
		TargetSize:         sum.Target,
		Ready:              sum.Ready,
		EffectiveBudget:    &metav1.Duration{Duration: v.Policy.EffectiveBudget()},
		BootSecondsP95:     percentile95(boots),
		Conditions:         slices.Clone(old.Conditions),
	}
	for _, condition := range []metav1.Condition{
		readyCondition(v), heterogeneousCondition(v), powerJobsCondition(v), bootsCondition(v, boots),
	} {
		condition.ObservedGeneration = v.Group.Generation
		condition.LastTransitionTime = metav1.NewTime(v.Now.Truncate(time.Second))
		meta.SetStatusCondition(&status.Conditions, condition)
	}
	return status
}

// own are the slots that carry the group's label.
func (v View) own() (own []Slot) {
	for _, s := range v.Slots {
		if s.Object != nil && s.Object.Labels[v2.LabelGroup] == v.Name {
			own = append(own, s)
		}
	}
	return own
}

func readyCondition(v View) metav1.Condition {
	condition := metav1.Condition{Type: v2.ConditionReady, Status: metav1.ConditionFalse}
	shapes, _ := v.shapes()
	switch err := Broken(v); {
	case err != nil:
		condition.Reason, condition.Message = ReasonInvalidSpec, "The group is not offered: "+err.Error()
	case len(v.own()) == 0:
		condition.Reason = ReasonNoSlots
		condition.Message = fmt.Sprintf("No slot carries the label %s=%s", v2.LabelGroup, v.Name)
	case Engine(v.Group) != v2.EngineClusterAutoscaler:
		condition.Status, condition.Reason = metav1.ConditionTrue, ReasonForPeople
		condition.Message = "No autoscaler is offered this group; claims made by hand wake its machines"
	case len(shapes) == 0:
		condition.Reason = ReasonCapacityUnknown
		condition.Message = "No slot sets spec.nodeCapacity, so cluster-autoscaler is not told of the group: it could not scale it up from zero"
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ReasonOffered
		condition.Message = "The group is offered to cluster-autoscaler"
	}
	return condition
}

func heterogeneousCondition(v View) metav1.Condition {
	condition := metav1.Condition{Type: v2.ConditionHeterogeneousCapacity, Status: metav1.ConditionFalse, Reason: ReasonAlike,
		Message: "All slots that say what they offer are alike"}
	shapes, of := v.shapes()
	first := map[string]string{}
	var unlike []string
	for i, shape := range shapes {
		if _, ok := first[shape.Key()]; !ok {
			first[shape.Key()] = of[i].Name
			unlike = append(unlike, of[i].Name)
		}
	}
	if len(unlike) > 1 {
		condition.Status, condition.Reason = metav1.ConditionTrue, ReasonUnlike
		condition.Message = fmt.Sprintf("Slots of %d shapes (%s) are offered as the least of them; put unlike machines in groups of their own",
			len(unlike), named(unlike))
	}
	return condition
}

func powerJobsCondition(v View) metav1.Condition {
	condition := metav1.Condition{Type: v2.ConditionPowerJobsFailing, Status: metav1.ConditionFalse, Reason: ReasonJobsStart,
		Message: "The newest lifecycle Job of every slot got a container to run, or there was none"}
	var failing []string
	for _, s := range v.own() {
		if job := newestJob(s); facts.NeverRan(job) {
			failing = append(failing, s.Name+": "+strings.TrimSpace(job.Name+" "+job.Message))
		}
	}
	if len(failing) > 0 {
		condition.Status, condition.Reason = metav1.ConditionTrue, ReasonNeverStarted
		condition.Message = "Lifecycle Jobs got no container to run, which counts against no machine: " + named(failing)
	}
	return condition
}

// newestJob is the slot's newest lifecycle Job on record, or nil.
func newestJob(s Slot) *v2.JobRecord {
	var newest *v2.JobRecord
	consider := func(records []v2.JobRecord) {
		for i := range records {
			if newest == nil || newest.CreatedAt.Before(records[i].CreatedAt) {
				newest = &records[i]
			}
		}
	}
	for _, claim := range s.Claims {
		consider(claim.Status.Jobs)
	}
	if s.Object != nil && s.Object.Status.Unclaimed != nil {
		consider(s.Object.Status.Unclaimed.Jobs)
	}
	return newest
}

func bootsCondition(v View, boots []int64) metav1.Condition {
	condition := metav1.Condition{Type: v2.ConditionBootsHealthy, Status: metav1.ConditionFalse}
	cooling, late := troubledSlots(v)
	p95, budget := percentile95(boots), v.Policy.EffectiveBudget()
	switch {
	case len(cooling) > 0:
		condition.Reason, condition.Message = ReasonCoolingOff, "Boots keep failing: "+named(append(cooling, late...))
	case len(late) > 0:
		condition.Reason, condition.Message = ReasonOverBudget, "Boots take longer than they may: "+named(late)
	case p95 == nil:
		condition.Status, condition.Reason = metav1.ConditionUnknown, ReasonNoBootsYet
		condition.Message = "No slot's newest episode reached ready"
	case float64(*p95) > nearBudget*budget.Seconds():
		condition.Reason = ReasonNearBudget
		condition.Message = fmt.Sprintf("A boot takes up to %s of the %s it has; %s", time.Duration(*p95)*time.Second, budget, raiseBudget)
	default:
		condition.Status, condition.Reason = metav1.ConditionTrue, ReasonWithinBudget
		condition.Message = fmt.Sprintf("A boot takes up to %s of the %s it has", time.Duration(*p95)*time.Second, budget)
	}
	return condition
}

const raiseBudget = "raise spec.timeouts or spec.maxNodeProvisionTime"

// troubledSlots are the slots that cool off, and those whose machine registered when its time was over.
func troubledSlots(v View) (cooling, late []string) {
	for _, s := range v.own() {
		if refusal := coolingOff(v, s); refusal != nil {
			cooling = append(cooling, s.Name+" "+refusal.Detail())
		}
		if took := lateBoot(s); took > 0 {
			late = append(late, fmt.Sprintf("%s registered %s after the request, and a boot has %s: %s",
				s.Name, took, v.Policy.EffectiveBudget(), raiseBudget))
		}
	}
	return cooling, late
}

// lateBoot is how long the slot's newest boot took, if that failed by its deadline and its kubelet reported all the same;
// else zero.
func lateBoot(s Slot) time.Duration {
	claim := facts.Newest(s.Claims)
	if claim == nil || claim.Status.Reason != v2.ReasonDeadlineExceeded {
		return 0
	}
	registered := meta.FindStatusCondition(claim.Status.Conditions, v2.ConditionRegistered)
	if registered == nil || registered.Status != metav1.ConditionTrue || registered.LastTransitionTime.Before(claim.Status.FinishedAt) {
		return 0
	}
	return registered.LastTransitionTime.Sub(facts.RequestedAt(claim))
}

// bootSeconds are the times from request to ready of the slots' newest episodes, where those reached ready, ascending.
func bootSeconds(v View) (seconds []int64) {
	for _, s := range v.own() {
		digest := s.Object.Status.LastClaim
		if digest == nil || digest.ReadyAt == nil || digest.RequestedAt == nil {
			continue
		}
		if took := digest.ReadyAt.Sub(digest.RequestedAt.Time); took >= 0 {
			seconds = append(seconds, int64(took.Seconds()))
		}
	}
	slices.Sort(seconds)
	return seconds
}

// percentile95 is the smallest of the sorted values that at least 95 % of them do not exceed; nil of none.
func percentile95(sorted []int64) *int64 {
	if len(sorted) == 0 {
		return nil
	}
	rank := int(math.Ceil(0.95 * float64(len(sorted))))
	return new(sorted[rank-1])
}

// named joins names for a message, bounded.
func named(names []string) string {
	if len(names) > maxNamed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], "; "), len(names)-maxNamed)
	}
	return strings.Join(names, "; ")
}
