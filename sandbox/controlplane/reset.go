package controlplane

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// resettable are the kinds outside namespaces that tests make.
var resettable = []schema.GroupVersionResource{
	{Version: "v1", Resource: "nodes"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicybindings"},
	{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingadmissionpolicies"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterrolebindings"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"},
	{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"},
}

// identityOf tells objects apart, also one that was deleted and made again.
type identityOf struct {
	resource schema.GroupVersionResource
	uid      types.UID
}

// clusterScoped lists what exists of the resettable kinds.
func (cp *ControlPlane) clusterScoped(ctx context.Context) (map[identityOf]metav1.ObjectMeta, error) {
	client, err := metadata.NewForConfig(cp.admin)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	found := map[identityOf]metav1.ObjectMeta{}
	for _, resource := range resettable {
		list, err := client.Resource(resource).List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for _, item := range list.Items {
			found[identityOf{resource, item.UID}] = item.ObjectMeta
		}
	}
	return found, nil
}

// resetTo deletes what is there and was not before, finalizers or not.
func (cp *ControlPlane) resetTo(ctx context.Context, before map[identityOf]metav1.ObjectMeta) error {
	client, err := metadata.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	now, err := cp.clusterScoped(ctx)
	if err != nil {
		return err
	}
	for id, object := range now {
		if _, was := before[id]; was {
			continue
		}
		objects := client.Resource(id.resource)
		if err := objects.Delete(ctx, object.Name, metav1.DeleteOptions{
			GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(id.uid)),
		}); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("deleting %s %s: %w", id.resource.Resource, object.Name, err)
		}
		if err := dropFinalizers(ctx, objects, object); err != nil {
			return fmt.Errorf("releasing %s %s: %w", id.resource.Resource, object.Name, err)
		}
	}
	return nil
}

// release takes the finalizers off our own objects in a namespace that is going away, and off its Jobs and pods: the
// Job controller tracks pods with one, and a pod bound to a kubeNode that is gone waits for a kubelet.
func (cp *ControlPlane) release(ctx context.Context, namespace string) error {
	client, err := metadata.NewForConfig(cp.admin)
	if err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	for _, resource := range []schema.GroupVersionResource{
		v2.GroupVersion.WithResource("nodeclaims"),
		v2.GroupVersion.WithResource("nodes"),
		v2.GroupVersion.WithResource("groups"),
		{Group: "batch", Version: "v1", Resource: "jobs"},
		{Version: "v1", Resource: "pods"},
	} {
		objects := client.Resource(resource).Namespace(namespace)
		list, err := objects.List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // the kind is not installed
			continue
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", resource.Resource, err)
		}
		for _, item := range list.Items {
			if err := objects.Delete(ctx, item.Name, metav1.DeleteOptions{
				GracePeriodSeconds: new(int64(0)), PropagationPolicy: new(metav1.DeletePropagationBackground),
			}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("deleting %s %s: %w", resource.Resource, item.Name, err)
			}
			if err := dropFinalizers(ctx, objects, item.ObjectMeta); err != nil {
				return fmt.Errorf("releasing %s %s: %w", resource.Resource, item.Name, err)
			}
		}
	}
	return nil
}

// dropFinalizers lets a deleted object go.
func dropFinalizers(ctx context.Context, objects metadata.ResourceInterface, object metav1.ObjectMeta) error {
	if len(object.Finalizers) == 0 {
		return nil
	}
	_, err := objects.Patch(ctx, object.Name, types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
