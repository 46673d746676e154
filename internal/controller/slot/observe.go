package slot

import (
	"context"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
)

// Observer reads everything a decision about one machine depends on.
type Observer struct {
	// Cache is read by index; nothing is scanned but the kubeNodes.
	Cache client.Reader
	// Live answers what the cache does not hold.
	Live *kube.Live
	// Clock gives Input.Now.
	Clock clock.PassiveClock
	// Base is the policy that a group's spec overrides.
	Base policy.Policy
}

// Observe reads once. What does not exist is nil, not an error.
func (o *Observer) Observe(ctx context.Context, key client.ObjectKey) (slot.Input, error) {
	in := slot.Input{Now: o.Clock.Now().Truncate(time.Second), Namespace: key.Namespace, Name: key.Name}
	for _, read := range []func(context.Context, *slot.Input) error{o.slot, o.claims, o.group, o.jobs, o.kubeNode, o.pods, o.neighbours, o.namespace} {
		if err := read(ctx, &in); err != nil {
			return slot.Input{}, fmt.Errorf("observing slot %s: %w", key.Name, err)
		}
	}
	return in, nil
}

func (o *Observer) slot(ctx context.Context, in *slot.Input) (err error) {
	in.Slot, err = kube.Get[v2.Node](ctx, o.Cache, in.Namespace, in.Name)
	return err
}

func (o *Observer) claims(ctx context.Context, in *slot.Input) error {
	var list v2.NodeClaimList
	if err := o.Cache.List(ctx, &list, client.InNamespace(in.Namespace), client.MatchingFields{kube.IndexClaimsBySlot: in.Name}); err != nil {
		return fmt.Errorf("listing its claims: %w", err)
	}
	in.Claims = pointers(list.Items)
	return nil
}

func (o *Observer) group(ctx context.Context, in *slot.Input) (err error) {
	if name := facts.GroupOf(in.Slot, in.Claims); name != "" {
		in.Group, err = kube.Get[v2.Group](ctx, o.Cache, in.Namespace, name)
	}
	in.Policy = policy.For(o.Base, in.Group)
	return err
}

func (o *Observer) jobs(ctx context.Context, in *slot.Input) error {
	var list batchv1.JobList
	if err := o.Cache.List(ctx, &list, client.InNamespace(in.Namespace), client.MatchingFields{kube.IndexJobsBySlot: in.Name}); err != nil {
		return fmt.Errorf("listing its Jobs: %w", err)
	}
	for _, found := range pointers(list.Items) {
		var pods corev1.PodList
		if err := o.Cache.List(ctx, &pods, client.InNamespace(in.Namespace), client.MatchingFields{kube.IndexPodsByJob: string(found.UID)}); err != nil {
			return fmt.Errorf("listing the pods of Job %s: %w", found.Name, err)
		}
		in.Jobs = append(in.Jobs, slot.Job{Job: found, Pods: pointers(pods.Items), Complaint: o.complaint(ctx, found, pointers(pods.Items))})
	}
	return nil
}

// complaint asks the API server why a Job has no pod, or why its pod has no containers yet, until its end is on record.
// What it cannot learn is not said: it is a text for people, and no reason to leave a machine alone.
func (o *Observer) complaint(ctx context.Context, of *batchv1.Job, pods []*corev1.Pod) string {
	if of.Status.Succeeded > 0 || of.Spec.TTLSecondsAfterFinished != nil || of.DeletionTimestamp != nil {
		return ""
	}
	about, reason := client.Object(of), kube.ReasonFailedCreate
	if len(pods) > 0 {
		stuck := slices.IndexFunc(pods, facts.PodWithoutContainers)
		if stuck < 0 {
			return ""
		}
		about, reason = pods[stuck], kube.ReasonFailedMount
	}
	complaint, err := o.Live.Complaint(ctx, about, reason)
	if err != nil {
		log.FromContext(ctx).V(1).Info("not known why a Job does not run", "job", of.Name, "because", err.Error())
	}
	return complaint
}

func (o *Observer) kubeNode(ctx context.Context, in *slot.Input) (err error) {
	if in.Slot != nil {
		in.KubeNode, err = kube.Get[corev1.Node](ctx, o.Cache, "", in.Slot.Spec.KubernetesNodeName)
	}
	return err
}

// pods reads the pods on the kubeNode and the disruption budgets of their namespaces.
func (o *Observer) pods(ctx context.Context, in *slot.Input) error {
	if in.KubeNode == nil {
		return nil
	}
	var pods corev1.PodList
	if err := o.Cache.List(ctx, &pods, client.MatchingFields{kube.IndexPodsByKubeNode: in.KubeNode.Name}); err != nil {
		return fmt.Errorf("listing the pods of kubeNode %s: %w", in.KubeNode.Name, err)
	}
	in.Pods = pointers(pods.Items)
	for _, namespace := range namespaces(in.Pods) {
		var budgets policyv1.PodDisruptionBudgetList
		if err := o.Cache.List(ctx, &budgets, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("listing the disruption budgets of namespace %s: %w", namespace, err)
		}
		in.Budgets = append(in.Budgets, pointers(budgets.Items)...)
	}
	return nil
}

// neighbours reads the rest of the cluster's kubeNodes for Protected and AlwaysOn.
func (o *Observer) neighbours(ctx context.Context, in *slot.Input) error {
	if in.Slot == nil {
		return nil
	}
	var list corev1.NodeList
	if err := o.Cache.List(ctx, &list); err != nil {
		return fmt.Errorf("listing kubeNodes: %w", err)
	}
	kubeNodes := pointers(list.Items)
	slots, err := o.slotsOf(ctx, in.Namespace, in.Slot.Spec.KubernetesNodeName)
	if err != nil {
		return err
	}
	if in.Protected = shared(in.Slot, slots); in.Protected == "" {
		in.Protected = protected(in.Slot, in.Policy, in.KubeNode, kubeNodes)
	}
	startup, shutdown := job.PodSpec(in.Slot, v2.OperationStartup, in.Policy), job.PodSpec(in.Slot, v2.OperationShutdown, in.Policy)
	for _, kubeNode := range kubeNodes {
		named, err := o.named(ctx, in.Namespace, kubeNode)
		if err != nil {
			return err
		}
		if !named && runsPowerJobs(kubeNode, startup) && runsPowerJobs(kubeNode, shutdown) {
			in.AlwaysOn = true
			return nil
		}
	}
	return nil
}

// named is whether a slot names the kubeNode: one of ours, or one of any namespace that stamped it. Power pods stay off
// a stamped kubeNode, so that it is no place for them even if its slot is gone.
func (o *Observer) named(ctx context.Context, namespace string, kubeNode *corev1.Node) (bool, error) {
	if kubeNode.Labels[v2.LabelNode] != "" {
		return true, nil
	}
	slots, err := o.slotsOf(ctx, namespace, kubeNode.Name)
	return len(slots) > 0, err
}

// slotsOf are the slots of the namespace that name the kubeNode.
func (o *Observer) slotsOf(ctx context.Context, namespace, kubeNode string) ([]*v2.Node, error) {
	var slots v2.NodeList
	err := o.Cache.List(ctx, &slots, client.InNamespace(namespace), client.MatchingFields{kube.IndexSlotsByKubeNodeName: kubeNode})
	if err != nil {
		return nil, fmt.Errorf("listing the slots of kubeNode %s: %w", kubeNode, err)
	}
	return pointers(slots.Items), nil
}

// namespace asks whether the namespace is on its way out, which matters only when something in it is.
func (o *Observer) namespace(ctx context.Context, in *slot.Input) (err error) {
	deleting := in.Slot != nil && in.Slot.DeletionTimestamp != nil
	for _, claim := range in.Claims {
		deleting = deleting || claim.DeletionTimestamp != nil
	}
	if deleting {
		in.NamespaceTerminating, err = o.Live.NamespaceTerminating(ctx, in.Namespace)
	}
	return err
}

func namespaces(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Namespace)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func pointers[T any](items []T) []*T {
	var all []*T
	for i := range items {
		all = append(all, &items[i])
	}
	return all
}
