package kube

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// fieldOwner names us in managedFields.
const fieldOwner = client.FieldOwner("homelab-autoscaler")

// Writer is the only writer of objects. Each method is one write that carries the UID and resourceVersion of the object
// it is given, and returns the object as the write left it, so that a second write can carry the version of the first.
// No method changes its argument.
type Writer struct {
	client client.Client
	live   *Live
}

// NewWriter writes through a client and reads again, where a write needs it, through live.
func NewWriter(c client.Client, live *Live) *Writer {
	return &Writer{client: client.WithFieldOwner(c, string(fieldOwner)), live: live}
}

// AddClaimFinalizer puts our finalizer on a claim.
func (w *Writer) AddClaimFinalizer(ctx context.Context, claim *v2.NodeClaim) (*v2.NodeClaim, error) {
	after := claim.DeepCopy()
	after.Finalizers = with(after.Finalizers, v2.FinalizerNodeClaim)
	return after, w.patch(ctx, "adding the finalizer of claim", claim, after)
}

// DropClaimFinalizer takes our finalizer off a claim.
func (w *Writer) DropClaimFinalizer(ctx context.Context, claim *v2.NodeClaim) (*v2.NodeClaim, error) {
	after := claim.DeepCopy()
	after.Finalizers = without(after.Finalizers, v2.FinalizerNodeClaim)
	return after, w.patch(ctx, "dropping the finalizer of claim", claim, after)
}

// AddSlotFinalizer puts our finalizer on a slot.
func (w *Writer) AddSlotFinalizer(ctx context.Context, slot *v2.Node) (*v2.Node, error) {
	after := slot.DeepCopy()
	after.Finalizers = with(after.Finalizers, v2.FinalizerSlot)
	return after, w.patch(ctx, "adding the finalizer of slot", slot, after)
}

// DropSlotFinalizer takes our finalizer off a slot.
func (w *Writer) DropSlotFinalizer(ctx context.Context, slot *v2.Node) (*v2.Node, error) {
	after := slot.DeepCopy()
	after.Finalizers = without(after.Finalizers, v2.FinalizerSlot)
	return after, w.patch(ctx, "dropping the finalizer of slot", slot, after)
}

// ClaimStatus gives a claim a complete new status.
func (w *Writer) ClaimStatus(ctx context.Context, claim *v2.NodeClaim, status v2.NodeClaimStatus) (*v2.NodeClaim, error) {
	after := claim.DeepCopy()
	after.Status = *status.DeepCopy()
	return after, w.patchStatus(ctx, "saving the status of claim", claim, after)
}

// SlotStatus gives a slot a complete new status.
func (w *Writer) SlotStatus(ctx context.Context, slot *v2.Node, status v2.NodeStatus) (*v2.Node, error) {
	after := slot.DeepCopy()
	after.Status = *status.DeepCopy()
	return after, w.patchStatus(ctx, "saving the status of slot", slot, after)
}

// GroupStatus gives a group a complete new status.
func (w *Writer) GroupStatus(ctx context.Context, group *v2.Group, status v2.GroupStatus) (*v2.Group, error) {
	after := group.DeepCopy()
	after.Status = *status.DeepCopy()
	return after, w.patchStatus(ctx, "saving the status of group", group, after)
}

// ClearDeadline closes a claim's boot window.
func (w *Writer) ClearDeadline(ctx context.Context, claim *v2.NodeClaim) (*v2.NodeClaim, error) {
	after := claim.DeepCopy()
	after.Spec.DeadlineAt = nil
	return after, w.patch(ctx, "clearing the deadline of claim", claim, after)
}

// MarkDeleteNodes records on a claim that DeleteNodes asked for these nodes. Group and delta stay.
func (w *Writer) MarkDeleteNodes(ctx context.Context, claim *v2.NodeClaim, nodes []string) (*v2.NodeClaim, error) {
	after := claim.DeepCopy()
	after.Spec.Request.Call, after.Spec.Request.Nodes = v2.CallDeleteNodes, slices.Clone(nodes)
	return after, w.patch(ctx, "recording DeleteNodes on claim", claim, after)
}

// EndErrored stamps status.endedBy on a failed claim, which takes it out of its group's target.
func (w *Writer) EndErrored(ctx context.Context, claim *v2.NodeClaim, end v2.ClaimEnd) (*v2.NodeClaim, error) {
	status := claim.Status.DeepCopy()
	status.EndedBy = end.DeepCopy()
	return w.ClaimStatus(ctx, claim, *status)
}

// CreateClaim creates a claim.
func (w *Writer) CreateClaim(ctx context.Context, claim *v2.NodeClaim) (*v2.NodeClaim, error) {
	after := claim.DeepCopy()
	if err := w.client.Create(ctx, after); err != nil {
		return nil, fmt.Errorf("creating claim %s: %w", claim.Name, err)
	}
	return after, nil
}

// DeleteClaim deletes a claim as it was read.
func (w *Writer) DeleteClaim(ctx context.Context, claim *v2.NodeClaim) error {
	return w.delete(ctx, "deleting claim", claim)
}

// PatchKubeNode brings a kubeNode from before to after. Only what differs between the two is written.
func (w *Writer) PatchKubeNode(ctx context.Context, before, after *corev1.Node) (*corev1.Node, error) {
	after = after.DeepCopy()
	return after, w.patch(ctx, "patching kubeNode", before, after)
}

// DeleteKubeNode removes a kubeNode as it was read.
func (w *Writer) DeleteKubeNode(ctx context.Context, kubeNode *corev1.Node) error {
	return w.delete(ctx, "deleting kubeNode", kubeNode)
}

// patch writes what differs between before and after, and leaves in after the answer.
func (w *Writer) patch(ctx context.Context, doing string, before, after client.Object) error {
	if err := w.client.Patch(ctx, after, difference(before, after)); err != nil {
		return fmt.Errorf("%s %s: %w", doing, before.GetName(), err)
	}
	return nil
}

// patchStatus is patch for the status.
func (w *Writer) patchStatus(ctx context.Context, doing string, before, after client.Object) error {
	if err := w.client.Status().Patch(ctx, after, difference(before, after)); err != nil {
		return fmt.Errorf("%s %s: %w", doing, before.GetName(), err)
	}
	return nil
}

func (w *Writer) delete(ctx context.Context, doing string, object client.Object) error {
	preconditions := client.Preconditions{UID: ptr.To(object.GetUID()), ResourceVersion: ptr.To(object.GetResourceVersion())}
	if err := w.client.Delete(ctx, object, preconditions); err != nil {
		return fmt.Errorf("%s %s: %w", doing, object.GetName(), err)
	}
	return nil
}

// difference is the merge patch from before to after that carries before's UID and resourceVersion. An API server
// refuses it as a conflict when the object has changed, and so also when another has taken its name.
//
// A patch instead of an update: what this build does not know of an object stays in it.
func difference(before, after client.Object) client.Patch {
	after.SetUID(before.GetUID())
	after.SetResourceVersion(before.GetResourceVersion())
	nameless := before.DeepCopyObject().(client.Object)
	nameless.SetUID("")
	nameless.SetResourceVersion("")
	return client.MergeFrom(nameless)
}

func with(list []string, value string) []string {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

func without(list []string, value string) []string {
	return slices.DeleteFunc(list, func(s string) bool { return s == value })
}
