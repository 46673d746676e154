package demo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// The sentences below say what there is, for a step that was not seen.

func sayAll[T any](what string, all map[string]T, say func(T) string) string {
	if len(all) == 0 {
		return "there are no " + what
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+": "+say(all[name]))
	}
	return strings.Join(parts, "; ")
}

func (w *World) sayPods() string {
	return sayAll("pods", w.pods, func(pod *corev1.Pod) string {
		text := string(pod.Status.Phase)
		if pod.DeletionTimestamp != nil {
			text += ", being deleted"
		}
		if pod.Spec.NodeName != "" {
			return text + " on " + pod.Spec.NodeName
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
				text += ", " + c.Reason + ": " + c.Message
			}
		}
		return text
	})
}

func (w *World) sayClaims() string {
	return sayAll("claims", w.claims, func(claim *v2.NodeClaim) string {
		text := string(facts.Phase(claim))
		if claim.DeletionTimestamp != nil {
			text += ", being deleted"
		}
		if claim.Status.Reason != "" {
			text += ", " + string(claim.Status.Reason)
		}
		if claim.Status.Message != "" {
			text += ", " + claim.Status.Message
		}
		return text
	})
}

func (w *World) sayJobs() string {
	return sayAll("lifecycle Jobs", w.jobs, func(job *batchv1.Job) string {
		for _, c := range job.Status.Conditions {
			if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) {
				return strings.TrimSpace(string(c.Type) + " " + c.Reason + " " + c.Message)
			}
		}
		return fmt.Sprintf("%d pods active", job.Status.Active)
	})
}

func (w *World) sayKubeNodes() string {
	return fmt.Sprintf("machines on: %v; ", w.running()) + sayAll("kubeNodes", w.kubeNodes, func(kubeNode *corev1.Node) string {
		text := "no Ready condition"
		if ready := facts.ReadyCondition(kubeNode); ready != nil {
			text = "Ready " + string(ready.Status)
		}
		if kubeNode.Spec.Unschedulable {
			text += ", cordoned"
		}
		for _, taint := range kubeNode.Spec.Taints {
			text += ", taint " + taint.Key
		}
		return text
	})
}

func (w *World) saySlots() string {
	return sayAll("slots", w.slots, func(slot *v2.Node) string {
		text := fmt.Sprintf("phase %q, power %q, its switch says %q", slot.Status.Phase, slot.Status.PowerState, reading(slot))
		if last := slot.Status.LastClaim; last != nil {
			text += fmt.Sprintf(", last claim %s %s", last.Name, last.Phase)
		}
		return text
	})
}

func (w *World) sayTarget() string {
	return sayAll("groups", w.groups, func(group *v2.Group) string {
		return fmt.Sprintf("target size %d of %d slots, %d ready", group.Status.TargetSize, group.Status.Slots, group.Status.Ready)
	}) + fmt.Sprintf("; the most seen at once was %d", w.peak)
}

func (w *World) sayPower() string {
	return fmt.Sprintf("%d presses to turn on, %d power-ons of %v; on now: %v", w.presses, w.ons, w.names(PowerOn), w.running())
}
