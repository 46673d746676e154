package replay

import (
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// become does to the API server what changed in the model between two moments without the manager.
func (h *home) become(before, after *model.Objects) {
	h.t.Helper()
	h.becomeGroup(before.Group, after.Group)
	h.becomeSlot(before.Slot, after.Slot)
	pairs(before.Claims, after.Claims, h.becomeClaim)
	h.becomeJobs(before.Jobs, after.Jobs)
	h.becomeKubeNode(before.KubeNode, after.KubeNode)
}

// pairs matches the objects of two moments by uid: what went first, then the rest.
func pairs[T any, PT copied[T]](before, after []PT, become func(before, after PT)) {
	at := func(all []PT, uid types.UID) PT {
		for _, one := range all {
			if one.GetUID() == uid {
				return one
			}
		}
		return nil
	}
	for _, one := range before {
		if at(after, one.GetUID()) == nil {
			become(one, nil)
		}
	}
	for _, one := range after {
		become(at(before, one.GetUID()), one)
	}
}

func (h *home) becomeGroup(before, after *v2.Group) {
	h.t.Helper()
	switch {
	case before == after:
	case after == nil:
		h.purge(named(h.now.groups, before.Name))
	default:
		h.create(&v2.Group{ObjectMeta: h.meta(after), Spec: after.Spec})
	}
}

func (h *home) becomeSlot(before, after *v2.Node) {
	h.t.Helper()
	if before == after {
		return
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		h.purge(named(h.now.slots, before.Name))
		before = nil
	}
	if after == nil {
		return
	}
	if before == nil {
		created := &v2.Node{ObjectMeta: h.meta(after), Spec: after.Spec}
		h.create(created)
		h.slotUID = created.UID
		return
	}
	live := named(h.now.slots, after.Name)
	patched(h, live, func(n *v2.Node) { n.Annotations, n.Finalizers = after.Annotations, after.Finalizers })
	if !equality.Semantic.DeepEqual(before.Status.PowerReading, after.Status.PowerReading) {
		read := live.DeepCopy()
		read.Status.PowerReading = after.Status.PowerReading
		h.must(h.client.Status().Patch(h.t.Context(), read, client.MergeFrom(live)))
	}
	h.deleteIf(live, before, after)
}

func (h *home) becomeClaim(before, after *v2.NodeClaim) {
	h.t.Helper()
	switch {
	case before == after:
		return
	case after == nil:
		h.purge(named(h.now.claims, before.Name))
		return
	case before == nil:
		created := &v2.NodeClaim{ObjectMeta: h.meta(after), Spec: after.Spec}
		for i := range created.OwnerReferences {
			created.OwnerReferences[i].UID = h.slotUID
		}
		h.create(created)
		return
	}
	live := named(h.now.claims, after.Name)
	patched(h, live, func(c *v2.NodeClaim) { c.Spec.Request, c.Finalizers = after.Spec.Request, after.Finalizers })
	if before.Status.ShutdownAttempts != after.Status.ShutdownAttempts {
		reset := live.DeepCopy()
		reset.Status.ShutdownAttempts = after.Status.ShutdownAttempts
		h.must(h.client.Status().Patch(h.t.Context(), reset, client.MergeFrom(live)))
	}
	h.deleteIf(live, before, after)
}

// becomeJobs matches Jobs by uid. The world makes none.
func (h *home) becomeJobs(before, after []slot.Job) {
	h.t.Helper()
	for _, old := range before {
		i := slices.IndexFunc(after, func(j slot.Job) bool { return j.UID == old.UID })
		live := named(h.now.jobs, old.Name)
		switch {
		case i < 0:
			h.purge(live)
		case after[i].ResourceVersion != old.ResourceVersion:
			h.becomeJob(live, old, after[i])
		}
	}
}

func (h *home) becomeJob(live *batchv1.Job, before, after slot.Job) {
	h.t.Helper()
	if len(after.Pods) > 0 {
		pod := h.podOf(live, len(before.Pods) == 0)
		pod.Status = *after.Pods[0].Status.DeepCopy()
		pod.Status.ContainerStatuses[0].Name = "power"
		if t := pod.Status.ContainerStatuses[0].State.Terminated; t != nil {
			t.FinishedAt = t.StartedAt
		}
		h.must(h.client.Status().Update(h.t.Context(), pod))
	}
	ended := live.DeepCopy()
	ended.Status = fullStatus(after.Status)
	h.must(h.client.Status().Patch(h.t.Context(), ended, client.MergeFrom(live)))
}

// fullStatus adds to a Job's status what the API server insists on.
func fullStatus(status batchv1.JobStatus) batchv1.JobStatus {
	if len(status.Conditions) == 0 {
		return status
	}
	final := status.Conditions[0]
	if status.StartTime == nil {
		status.StartTime = &final.LastTransitionTime
	}
	first := final
	first.Type = batchv1.JobFailureTarget
	if final.Type == batchv1.JobComplete {
		first.Type, status.CompletionTime = batchv1.JobSuccessCriteriaMet, &final.LastTransitionTime
	}
	status.Conditions = []batchv1.JobCondition{first, final}
	return status
}

// podOf is the Job's pod, made first if it is new: the Job controller would make it, and the scheduler bind it.
func (h *home) podOf(job *batchv1.Job, create bool) *corev1.Pod {
	h.t.Helper()
	name := "pod-of-" + string(job.UID)
	if !create {
		return named(h.now.pods, name).DeepCopy()
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: h.namespace,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(job, batchv1.SchemeGroupVersion.WithKind("Job"))},
		},
		Spec: corev1.PodSpec{
			NodeName: alwaysOn, RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false),
			Containers: []corev1.Container{{Name: "power", Image: "power"}},
		},
	}
	h.create(pod)
	return pod
}

func (h *home) becomeKubeNode(before, after *corev1.Node) {
	h.t.Helper()
	if before == after {
		return
	}
	if before != nil && (after == nil || after.UID != before.UID) {
		h.purge(named(h.now.kubeNodes, before.Name))
		before = nil
	}
	if after == nil {
		return
	}
	live := named(h.now.kubeNodes, after.Name)
	if before == nil {
		live = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: after.Name}}
		h.create(live)
	}
	h.kubeNodeAs(live, after)
}

// kubeNodeAs brings a kubeNode to what the model says of it. Admission taints every new one.
func (h *home) kubeNodeAs(live, want *corev1.Node) {
	h.t.Helper()
	live = patched(h, live, func(n *corev1.Node) {
		n.Spec.Taints, n.Spec.Unschedulable = want.Spec.Taints, want.Spec.Unschedulable
	})
	reported := live.DeepCopy()
	reported.Status.Conditions = want.Status.Conditions
	h.must(h.client.Status().Update(h.t.Context(), reported))
}

// meta is the metadata with which an object is created that the model has.
func (h *home) meta(from client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: h.namespace, Name: from.GetName(), Labels: maps.Clone(from.GetLabels()), Annotations: maps.Clone(from.GetAnnotations()),
		Finalizers: slices.Clone(from.GetFinalizers()), OwnerReferences: slices.Clone(from.GetOwnerReferences()),
	}
}

func (h *home) create(object client.Object) {
	h.t.Helper()
	h.must(h.client.Create(h.t.Context(), object))
}

// deleteIf begins a deletion that began in the model.
func (h *home) deleteIf(live, before, after client.Object) {
	h.t.Helper()
	if before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil {
		h.must(h.client.Delete(h.t.Context(), live, client.PropagationPolicy(metav1.DeletePropagationBackground)))
	}
}

// purge removes an object, finalizers or not.
func (h *home) purge(object client.Object) {
	h.t.Helper()
	bare := object.DeepCopyObject().(client.Object)
	bare.SetFinalizers(nil)
	if len(object.GetFinalizers()) > 0 {
		h.must(h.client.Patch(h.t.Context(), bare, client.MergeFrom(object)))
	}
	err := h.client.Delete(h.t.Context(), bare, client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
	h.must(client.IgnoreNotFound(err))
}

// patched changes an object, which is then as the write left it.
func patched[T any, PT copied[T]](h *home, live PT, change func(PT)) PT {
	h.t.Helper()
	after := PT(new(T))
	live.DeepCopyInto(after)
	change(after)
	err := h.client.Patch(h.t.Context(), after, client.MergeFrom(live))
	if !apierrors.IsNotFound(err) { // its last finalizer went, and it with it
		h.must(err)
	}
	return after
}

func (h *home) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.story())
	}
}
