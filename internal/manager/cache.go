package manager

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// cached are the kinds that are read from the cache; a read of any other kind is an error, not a new watch.
func cached() []client.Object {
	return []client.Object{&v2.Group{}, &v2.Node{}, &v2.NodeClaim{}, &batchv1.Job{}, &corev1.Pod{}, &corev1.Node{}, &policyv1.PodDisruptionBudget{}}
}

// cacheOptions keep our kinds and the Jobs of our namespace, all kubeNodes, and of all pods and disruption budgets what a
// drain needs.
func cacheOptions(namespace string) cache.Options {
	everywhere := map[string]cache.Config{}
	return cache.Options{
		DefaultNamespaces: map[string]cache.Config{namespace: {}},
		DefaultTransform:  cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}:                   {Namespaces: everywhere, Transform: slimPod},
			&policyv1.PodDisruptionBudget{}: {Namespaces: everywhere},
			&corev1.Node{}:                  {Transform: slimKubeNode},
		},
		ReaderFailOnMissingInformer: true,
	}
}

// fill starts a watch for every kind that is read.
func fill(ctx context.Context, informers cache.Informers) error {
	for _, kind := range cached() {
		if _, err := informers.GetInformer(ctx, kind); err != nil {
			return fmt.Errorf("watching %T: %w", kind, err)
		}
	}
	return nil
}

// slimPod forgets what a pod is made of: a drain asks where it runs, whose it is, which budget covers it and whether it
// has ended, and a lifecycle Job's pod tells the rest in its status.
func slimPod(object any) (any, error) {
	if pod, ok := object.(*corev1.Pod); ok {
		pod.ManagedFields = nil
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
	}
	return object, nil
}

// slimKubeNode forgets the list of images, which is most of a kubeNode.
func slimKubeNode(object any) (any, error) {
	if kubeNode, ok := object.(*corev1.Node); ok {
		kubeNode.ManagedFields = nil
		kubeNode.Status.Images = nil
	}
	return object, nil
}
