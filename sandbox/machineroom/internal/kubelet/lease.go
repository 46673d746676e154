package kubelet

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// leaseSeconds is the duration a kubelet writes into its Lease; who watches it looks at renewTime only.
const leaseSeconds int32 = 40

// renewLease writes the heartbeat. A Lease is only created for a Node object that exists, as its owner.
func (k *Kubelet) renewLease(ctx context.Context) {
	if k.lease != nil {
		if k.updateLease(ctx, k.lease) == nil {
			return
		}
		k.lease = nil
	}
	if err := k.ensureLease(ctx); err != nil {
		k.cfg.Log.Debug("renewing lease", "node", k.cfg.Spec.Name, "err", err)
	}
}

func (k *Kubelet) updateLease(ctx context.Context, lease *coordinationv1.Lease) error {
	next := lease.DeepCopy()
	next.Spec.RenewTime = new(metav1.NewMicroTime(time.Now()))
	saved, err := k.cfg.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Update(ctx, next, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("updating lease: %w", err)
	}
	k.lease = saved
	return nil
}

func (k *Kubelet) ensureLease(ctx context.Context) error {
	leases := k.cfg.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	lease, err := leases.Get(ctx, k.cfg.Spec.Name, metav1.GetOptions{})
	if err == nil {
		return k.updateLease(ctx, lease)
	}
	if !apierrors.IsNotFound(err) {
		return fmt.Errorf("reading lease: %w", err)
	}
	owner, err := k.cfg.Client.CoreV1().Nodes().Get(ctx, k.cfg.Spec.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the lease's owner: %w", err)
	}
	k.lease, err = leases.Create(ctx, k.newLease(owner), metav1.CreateOptions{})
	if err != nil {
		k.lease = nil
		return fmt.Errorf("creating lease: %w", err)
	}
	return nil
}

func (k *Kubelet) newLease(owner *corev1.Node) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{
			Name: owner.Name, Namespace: corev1.NamespaceNodeLease,
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "v1", Kind: "Node", Name: owner.Name, UID: owner.UID},
			},
		},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity:       new(owner.Name),
			LeaseDurationSeconds: new(leaseSeconds),
			RenewTime:            new(metav1.NewMicroTime(time.Now())),
		},
	}
}
