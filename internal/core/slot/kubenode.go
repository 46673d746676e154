package slot

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// patched is whether the kubeNode is to be changed in this decision.
func (r *run) patched() bool { return len(r.does) > 0 }

// stamp puts on the kubeNode what ties it to its slot and group, and what the slot declares for it.
func (r *run) stamp(c *claim, declareTaints bool) {
	if r.kubeNode == nil {
		return
	}
	anew, changed := r.kubeNode.Labels[v2.LabelNode] == "", false
	for key, value := range r.kubeNodeLabels(c) {
		if r.kubeNode.Labels[key] != value {
			metav1.SetMetaDataLabel(&r.kubeNode.ObjectMeta, key, value)
			changed = true
		}
	}
	if r.kubeNode.Spec.ProviderID == "" && !hasTaint(r.kubeNode, facts.TaintUninitialized) {
		r.kubeNode.Spec.ProviderID = facts.DeclaredProviderID(r.in.Slot)
		changed = true
	}
	if declareTaints && r.declareTaints(anew) {
		changed = true
	}
	if changed {
		r.does = append(r.does, "stamp")
	}
}

// declareTaints puts the declared taints on the kubeNode that it lacks. One that is a readiness taint of the group is put on a
// new kubeNode only: it is there for an agent to take off.
func (r *run) declareTaints(anew bool) (changed bool) {
	for _, taint := range r.in.Slot.Spec.NodeTaints {
		carried := slices.ContainsFunc(r.kubeNode.Spec.Taints, func(t corev1.Taint) bool { return t.MatchTaint(&taint) })
		if !carried && (anew || !facts.GateTaint(taint, r.policy)) {
			r.kubeNode.Spec.Taints = append(r.kubeNode.Spec.Taints, taint)
			changed = true
		}
	}
	return changed
}

// kubeNodeLabels are those that the slot declares, and ours, which win: by them a kubeNode is known as a slot's.
func (r *run) kubeNodeLabels(c *claim) map[string]string {
	labels := map[string]string{}
	maps.Copy(labels, r.in.Slot.Spec.NodeLabels)
	labels[v2.LabelNode], labels[v2.LabelNamespace] = r.in.Slot.Name, r.in.Slot.Namespace
	if group := c.Spec.Request.Group; group != "" {
		labels[v2.LabelKubeNodeGroup] = group
	}
	return labels
}

// lift makes a kubeNode usable before its claim is ready: it strips what an autoscaler left behind and uncordons. A
// person's cordon on a machine that was up already (anyCordon false) is that person's decision.
func (r *run) lift(anyCordon bool) {
	if r.kubeNode == nil {
		return
	}
	before := len(r.kubeNode.Spec.Taints)
	marked := hasTaint(r.kubeNode, facts.TaintToBeDeleted)
	r.kubeNode.Spec.Taints = slices.DeleteFunc(r.kubeNode.Spec.Taints, func(t corev1.Taint) bool {
		return facts.Leftover(t, r.engine())
	})
	if len(r.kubeNode.Spec.Taints) != before {
		r.does = append(r.does, "strip leftovers")
	}
	if r.kubeNode.Spec.Unschedulable && (anyCordon || marked) || r.cordonedByUs() {
		r.uncordon()
	}
}

// giveBack lifts our own cordon from a machine that nobody will switch off after all.
func (r *run) giveBack() {
	if r.cordonedByUs() {
		r.uncordon()
	}
}

func (r *run) cordonedByUs() bool {
	return r.kubeNode != nil && r.kubeNode.Annotations[v2.AnnotationCordoned] != ""
}

func (r *run) uncordon() {
	r.kubeNode.Spec.Unschedulable = false
	delete(r.kubeNode.Annotations, v2.AnnotationCordoned)
	r.does = append(r.does, "uncordon")
}

// cordon makes the kubeNode unschedulable, marked as ours. It reports whether there was anything to do.
func (r *run) cordon(why string) bool {
	if r.kubeNode == nil || r.kubeNode.Spec.Unschedulable && r.cordonedByUs() {
		return false
	}
	metav1.SetMetaDataAnnotation(&r.kubeNode.ObjectMeta, v2.AnnotationCordoned, why)
	r.kubeNode.Spec.Unschedulable = true
	r.does = append(r.does, "cordon")
	return true
}

// showHold keeps the client's hands off a held machine, and gives it back once nobody holds it. What a person set so stays.
func (r *run) showHold() {
	if r.kubeNode == nil {
		return
	}
	const on = "true"
	_, ours := r.kubeNode.Annotations[v2.AnnotationHeld]
	shown := r.kubeNode.Annotations[facts.AnnotationScaleDownDisabled] == on
	switch {
	case r.hold.Held && !shown:
		metav1.SetMetaDataAnnotation(&r.kubeNode.ObjectMeta, facts.AnnotationScaleDownDisabled, on)
		metav1.SetMetaDataAnnotation(&r.kubeNode.ObjectMeta, v2.AnnotationHeld, r.hold.Why)
		r.does = append(r.does, "hold")
	case !r.hold.Held && ours:
		delete(r.kubeNode.Annotations, facts.AnnotationScaleDownDisabled)
		delete(r.kubeNode.Annotations, v2.AnnotationHeld)
		r.does = append(r.does, "end hold")
	}
}

func hasTaint(kubeNode *corev1.Node, key string) bool {
	return slices.ContainsFunc(kubeNode.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}
