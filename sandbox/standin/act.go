package standin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"

	"homecluster.dev/autoscaler/proto/externalgrpc"
)

// Actor carries calls out.
type Actor struct {
	Provider externalgrpc.CloudProviderClient
	Kube     kubernetes.Interface
	Events   events.EventRecorder
	Clock    clock.Clock
	// Settle is how long a tainted kubeNode is left alone before its pods are looked at: the scheduler may have been
	// about to place one.
	Settle time.Duration
	// EvictTimeout bounds the evictions of one kubeNode.
	EvictTimeout time.Duration
}

// Increase asks the provider for machines and tells the pods for which it does.
func (a Actor) Increase(ctx context.Context, c IncreaseSize) error {
	request := &externalgrpc.NodeGroupIncreaseSizeRequest{Id: c.Group, Delta: c.Delta}
	if _, err := call(ctx, a.Provider.NodeGroupIncreaseSize, request); err != nil {
		return fmt.Errorf("increasing group %s by %d: %w", c.Group, c.Delta, err)
	}
	for _, pod := range c.Pods {
		a.Events.Eventf(pod, nil, corev1.EventTypeNormal, "StandInScaleUp", "ScaleUp",
			"the stand-in client asked group %s for %d more", c.Group, c.Delta)
	}
	return nil
}

// GiveUp deletes an instance that has no kubeNode.
func (a Actor) GiveUp(ctx context.Context, c DeleteInstance) error {
	return a.deleteNodes(ctx, c.Group, invented(c.Instance, c.Reason))
}

func (a Actor) deleteNodes(ctx context.Context, group string, node *externalgrpc.ExternalGrpcNode) error {
	request := &externalgrpc.NodeGroupDeleteNodesRequest{Id: group, Nodes: []*externalgrpc.ExternalGrpcNode{node}}
	if _, err := call(ctx, a.Provider.NodeGroupDeleteNodes, request); err != nil {
		return fmt.Errorf("deleting %s of group %s: %w", node.GetName(), group, err)
	}
	return nil
}

// Remove takes a kubeNode out of service and gives its machine back. If any step fails, the kubeNode is put back into
// service: a kubeNode that stays is one that works.
func (a Actor) Remove(ctx context.Context, c RemoveKubeNode) error {
	kubeNode, err := a.takeOut(ctx, c.KubeNode.Name)
	if err != nil {
		return fmt.Errorf("tainting kubeNode %s: %w", c.KubeNode.Name, err)
	}
	if err = a.empty(ctx, kubeNode); err == nil {
		err = a.deleteNodes(ctx, c.Group, toWire(kubeNode))
	}
	if err != nil {
		return errors.Join(err, a.PutBack(context.WithoutCancel(ctx), kubeNode.Name))
	}
	a.Events.Eventf(kubeNode, nil, corev1.EventTypeNormal, "StandInScaleDown", "ScaleDown",
		"the stand-in client gave the idle machine back to group %s", c.Group)
	return nil
}

// takeOut taints and cordons the kubeNode in one write.
func (a Actor) takeOut(ctx context.Context, name string) (*corev1.Node, error) {
	return a.update(ctx, name, func(kubeNode *corev1.Node) {
		if !leavingTaint(kubeNode) {
			kubeNode.Spec.Taints = append(kubeNode.Spec.Taints, corev1.Taint{Key: TaintToBeDeleted,
				Value: strconv.FormatInt(a.Clock.Now().Unix(), 10), Effect: corev1.TaintEffectNoSchedule})
		}
		kubeNode.Spec.Unschedulable = true
	})
}

// PutBack takes our taint and the cordon off the kubeNode. One that is gone needs nothing.
func (a Actor) PutBack(ctx context.Context, name string) error {
	_, err := a.update(ctx, name, func(kubeNode *corev1.Node) {
		kubeNode.Spec.Taints = slices.DeleteFunc(kubeNode.Spec.Taints, func(t corev1.Taint) bool { return t.Key == TaintToBeDeleted })
		kubeNode.Spec.Unschedulable = false
	})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("putting kubeNode %s back into service: %w", name, err)
	}
	return nil
}

func (a Actor) update(ctx context.Context, name string, change func(*corev1.Node)) (*corev1.Node, error) {
	var saved *corev1.Node
	err := retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		kubeNode, err := a.Kube.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		change(kubeNode)
		saved, err = a.Kube.CoreV1().Nodes().Update(ctx, kubeNode, metav1.UpdateOptions{FieldManager: UserAgent})
		return err
	})
	return saved, err
}

// empty evicts what is on the kubeNode, after a moment for what was about to land there, and waits until it is gone.
func (a Actor) empty(ctx context.Context, kubeNode *corev1.Node) error {
	if err := a.sleep(ctx, a.Settle); err != nil {
		return err
	}
	deadline := a.Clock.Now().Add(a.EvictTimeout)
	for {
		pods, err := a.evictable(ctx, kubeNode.Name)
		if err != nil {
			return err
		}
		if len(pods) == 0 {
			return nil
		}
		if a.Clock.Now().After(deadline) {
			return fmt.Errorf("evicting from kubeNode %s: %d pods are left after %s", kubeNode.Name, len(pods), a.EvictTimeout)
		}
		for _, pod := range pods {
			if err := a.evict(ctx, pod); err != nil {
				return err
			}
		}
		if err := a.sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// evictable are the pods on the kubeNode that would have to go elsewhere.
func (a Actor) evictable(ctx context.Context, kubeNode string) ([]*corev1.Pod, error) {
	list, err := a.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + kubeNode})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of kubeNode %s: %w", kubeNode, err)
	}
	var pods []*corev1.Pod
	for i := range list.Items {
		if pod := &list.Items[i]; !finished(pod) && !stays(pod) {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// evict asks for the pod to go. A disruption budget that says "not now" is asked again on the next round.
func (a Actor) evict(ctx context.Context, pod *corev1.Pod) error {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	err := a.Kube.PolicyV1().Evictions(pod.Namespace).Evict(ctx, &policyv1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsTooManyRequests(err) {
		return fmt.Errorf("evicting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}

func (a Actor) sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-a.Clock.After(d):
		return nil
	}
}
