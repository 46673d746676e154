package group

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/kube"
)

// observe reads a group and all that its view stands on, once.
func (r *Reconciler) observe(ctx context.Context, key client.ObjectKey) (pool.View, error) {
	var objects pool.Objects
	var err error
	if objects.Group, err = kube.Get[v2.Group](ctx, r.Cache, key.Namespace, key.Name); err != nil {
		return pool.View{}, fmt.Errorf("observing group %s: %w", key.Name, err)
	}
	if objects.Group != nil {
		if err := r.members(ctx, key, &objects); err != nil {
			return pool.View{}, fmt.Errorf("observing group %s: %w", key.Name, err)
		}
	}
	now := r.Clock.Now().Truncate(time.Second)
	return pool.Assemble(now, key.Namespace, key.Name, r.Base, objects), nil
}

// members reads the slots labelled with the group and those that its claims name.
func (r *Reconciler) members(ctx context.Context, key client.ObjectKey, objects *pool.Objects) error {
	labelled, err := list[v2.NodeList](ctx, r.Cache, key.Namespace, kube.IndexSlotsByGroup, key.Name)
	if err != nil {
		return err
	}
	claims, err := list[v2.NodeClaimList](ctx, r.Cache, key.Namespace, kube.IndexClaimsByGroup, key.Name)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, slot := range labelled.Items {
		names[slot.Name] = true
	}
	for _, claim := range claims.Items {
		names[claim.Spec.SlotRef.Name] = true
	}
	objects.KubeNodes = map[string]*corev1.Node{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if err := r.member(ctx, key.Namespace, name, objects); err != nil {
			return err
		}
	}
	return nil
}

// member reads one slot, every claim and Job of it, and its kubeNode.
func (r *Reconciler) member(ctx context.Context, namespace, name string, objects *pool.Objects) error {
	claims, err := list[v2.NodeClaimList](ctx, r.Cache, namespace, kube.IndexClaimsBySlot, name)
	if err != nil {
		return err
	}
	jobs, err := list[batchv1.JobList](ctx, r.Cache, namespace, kube.IndexJobsBySlot, name)
	if err != nil {
		return err
	}
	for i := range claims.Items {
		objects.Claims = append(objects.Claims, &claims.Items[i])
	}
	for i := range jobs.Items {
		objects.Jobs = append(objects.Jobs, &jobs.Items[i])
	}
	slot, err := kube.Get[v2.Node](ctx, r.Cache, namespace, name)
	if err != nil || slot == nil {
		return err
	}
	objects.Slots = append(objects.Slots, slot)
	kubeNode, err := kube.Get[corev1.Node](ctx, r.Cache, "", slot.Spec.KubernetesNodeName)
	if kubeNode != nil {
		objects.KubeNodes[kubeNode.Name] = kubeNode
	}
	return err
}

func list[T any, PT interface {
	*T
	client.ObjectList
}](ctx context.Context, cache client.Reader, namespace, index, value string) (PT, error) {
	found := PT(new(T))
	if err := cache.List(ctx, found, client.InNamespace(namespace), client.MatchingFields{index: value}); err != nil {
		return nil, fmt.Errorf("listing %s %s: %w", index, value, err)
	}
	return found, nil
}
