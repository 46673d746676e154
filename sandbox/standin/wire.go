package standin

import (
	"context"

	"google.golang.org/grpc"
	corev1 "k8s.io/api/core/v1"

	"homecluster.dev/autoscaler/proto/externalgrpc"
)

// call makes one RPC under the client's deadline.
func call[Q, A any](ctx context.Context, rpc func(context.Context, Q, ...grpc.CallOption) (A, error), request Q) (A, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return rpc(ctx, request)
}

// toWire is a real kubeNode as the client names it to the provider: no taints, no status.
func toWire(kubeNode *corev1.Node) *externalgrpc.ExternalGrpcNode {
	return &externalgrpc.ExternalGrpcNode{Name: kubeNode.Name, ProviderID: kubeNode.Spec.ProviderID,
		Labels: kubeNode.Labels, Annotations: kubeNode.Annotations}
}

// invented is the node that stands for an instance without a kubeNode.
func invented(instance, reason string) *externalgrpc.ExternalGrpcNode {
	return &externalgrpc.ExternalGrpcNode{Name: instance, ProviderID: instance,
		Annotations: map[string]string{AnnotationFakeNodeReason: reason}}
}

// fromWire reads a listed instance. A status that says nothing reads as running, its error dropped with it.
func fromWire(from *externalgrpc.Instance) Instance {
	i := Instance{ID: from.GetId()}
	switch from.GetStatus().GetInstanceState() {
	case externalgrpc.InstanceStatus_instanceCreating:
		i.State = Creating
	case externalgrpc.InstanceStatus_instanceDeleting:
		i.State = Deleting
	case externalgrpc.InstanceStatus_unspecified:
		return i
	}
	i.ErrorCode = from.GetStatus().GetErrorInfo().GetErrorCode()
	i.ErrorMessage = from.GetStatus().GetErrorInfo().GetErrorMessage()
	return i
}
