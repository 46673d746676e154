package group

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/kube"
)

// watches maps a change to the groups it concerns.
type watches struct {
	cache     client.Reader
	namespace string
}

func (w watches) request(groups ...string) []reconcile.Request {
	var requests []reconcile.Request
	for _, group := range groups {
		if group != "" {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: w.namespace, Name: group}})
		}
	}
	return requests
}

// slot is the group of its label and those of its claims.
func (w watches) slot(ctx context.Context, object client.Object) []reconcile.Request {
	return append(w.request(object.GetLabels()[v2.LabelGroup]), w.ofClaims(ctx, object.GetName())...)
}

// claim is the group that asked for it, and the groups in which its slot stands otherwise.
func (w watches) claim(ctx context.Context, object client.Object) []reconcile.Request {
	claim := object.(*v2.NodeClaim)
	return append(w.request(claim.Spec.Request.Group), w.ofSlot(ctx, claim.Spec.SlotRef.Name)...)
}

// job is the groups of the slot that a lifecycle Job names.
func (w watches) job(ctx context.Context, object client.Object) []reconcile.Request {
	if name := object.GetLabels()[v2.LabelNode]; name != "" && object.GetNamespace() == w.namespace {
		return w.ofSlot(ctx, name)
	}
	return nil
}

// kubeNode is the groups of the slots that name it.
func (w watches) kubeNode(ctx context.Context, object client.Object) []reconcile.Request {
	slots, err := list[v2.NodeList](ctx, w.cache, w.namespace, kube.IndexSlotsByKubeNodeName, object.GetName())
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the groups a kubeNode concerns", "kubeNode", object.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range slots.Items {
		requests = append(requests, w.slot(ctx, &slots.Items[i])...)
	}
	return requests
}

func (w watches) ofSlot(ctx context.Context, name string) []reconcile.Request {
	slot, err := kube.Get[v2.Node](ctx, w.cache, w.namespace, name)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the groups of a slot", "slot", name)
	}
	if slot == nil {
		return w.ofClaims(ctx, name)
	}
	return w.slot(ctx, slot)
}

func (w watches) ofClaims(ctx context.Context, slot string) []reconcile.Request {
	claims, err := list[v2.NodeClaimList](ctx, w.cache, w.namespace, kube.IndexClaimsBySlot, slot)
	if err != nil {
		log.FromContext(ctx).Error(err, "finding the groups of a slot's claims", "slot", slot)
		return nil
	}
	var requests []reconcile.Request
	for _, claim := range claims.Items {
		requests = append(requests, w.request(claim.Spec.Request.Group)...)
	}
	return requests
}
