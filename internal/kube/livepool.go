package kube

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Group is the group as it is now, or nil when it is gone.
func (l *Live) Group(ctx context.Context, namespace, name string) (*v2.Group, error) {
	return Get[v2.Group](ctx, l.reader, namespace, name)
}

// Slots are all slots of the namespace now.
func (l *Live) Slots(ctx context.Context, namespace string) ([]*v2.Node, error) {
	var list v2.NodeList
	if err := l.reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing slots: %w", err)
	}
	return pointers(list.Items), nil
}

// Claims are all claims of the namespace now.
func (l *Live) Claims(ctx context.Context, namespace string) ([]*v2.NodeClaim, error) {
	var list v2.NodeClaimList
	if err := l.reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	return pointers(list.Items), nil
}

func pointers[T any](items []T) []*T {
	to := make([]*T, len(items))
	for i := range items {
		to[i] = &items[i]
	}
	return to
}
