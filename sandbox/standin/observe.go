package standin

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"homecluster.dev/autoscaler/proto/externalgrpc"
)

// callTimeout is the deadline the real client puts on every call.
const callTimeout = 5 * time.Second

// Observer reads the world: the provider over gRPC, kubeNodes and pods from the API server.
type Observer struct {
	Provider externalgrpc.CloudProviderClient
	Kube     kubernetes.Interface
	Config   Config
}

// Observe reads one snapshot, in the order in which the real client asks. Any error ends the pass, as it does there.
func (o Observer) Observe(ctx context.Context, now time.Time, leaving func(kubeNode string) bool) (Snapshot, error) {
	s := Snapshot{Now: now}
	if _, err := call(ctx, o.Provider.Refresh, &externalgrpc.RefreshRequest{}); err != nil {
		return s, fmt.Errorf("refreshing: %w", err)
	}
	groups, err := call(ctx, o.Provider.NodeGroups, &externalgrpc.NodeGroupsRequest{})
	if err != nil {
		return s, fmt.Errorf("listing node groups: %w", err)
	}
	if s.KubeNodes, err = o.kubeNodes(ctx, leaving); err != nil {
		return s, err
	}
	for _, group := range groups.GetNodeGroups() {
		observed, err := o.group(ctx, group)
		if err != nil {
			return s, fmt.Errorf("reading node group %s: %w", group.GetId(), err)
		}
		s.Groups = append(s.Groups, observed)
	}
	s.Pods, err = o.pods(ctx)
	return s, err
}

func (o Observer) kubeNodes(ctx context.Context, leaving func(string) bool) ([]KubeNode, error) {
	list, err := o.Kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing kubeNodes: %w", err)
	}
	var kubeNodes []KubeNode
	for i := range list.Items {
		kubeNode := &list.Items[i]
		answer, err := call(ctx, o.Provider.NodeGroupForNode, &externalgrpc.NodeGroupForNodeRequest{Node: toWire(kubeNode)})
		if err != nil {
			return nil, fmt.Errorf("asking for the group of kubeNode %s: %w", kubeNode.Name, err)
		}
		kubeNodes = append(kubeNodes, KubeNode{Node: kubeNode, Group: answer.GetNodeGroup().GetId(),
			Min: answer.GetNodeGroup().GetMinSize(), Leaving: leaving(kubeNode.Name)})
	}
	return kubeNodes, nil
}

func (o Observer) pods(ctx context.Context) ([]*corev1.Pod, error) {
	list, err := o.Kube.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// group asks what there is to know of one group. No template is an answer, and no options mean our own.
func (o Observer) group(ctx context.Context, from *externalgrpc.NodeGroup) (Group, error) {
	g := Group{ID: from.GetId(), Min: from.GetMinSize(), Max: from.GetMaxSize()}
	var err error
	if g.Template, err = o.template(ctx, g.ID); err != nil {
		return g, err
	}
	size, err := call(ctx, o.Provider.NodeGroupTargetSize, &externalgrpc.NodeGroupTargetSizeRequest{Id: g.ID})
	if err != nil {
		return g, fmt.Errorf("asking for the target size: %w", err)
	}
	g.Target = size.GetTargetSize()
	nodes, err := call(ctx, o.Provider.NodeGroupNodes, &externalgrpc.NodeGroupNodesRequest{Id: g.ID})
	if err != nil {
		return g, fmt.Errorf("listing instances: %w", err)
	}
	for _, instance := range nodes.GetInstances() {
		g.Instances = append(g.Instances, fromWire(instance))
	}
	g.Options, err = o.options(ctx, g.ID)
	return g, err
}

// template is the group's template, nil when the provider has none.
func (o Observer) template(ctx context.Context, group string) (*corev1.Node, error) {
	answer, err := call(ctx, o.Provider.NodeGroupTemplateNodeInfo, &externalgrpc.NodeGroupTemplateNodeInfoRequest{Id: group})
	if status.Code(err) == codes.Unimplemented {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("asking for the template: %w", err)
	}
	template := &corev1.Node{}
	if err := template.Unmarshal(answer.GetNodeBytes()); err != nil {
		return nil, fmt.Errorf("reading the template: %w", err)
	}
	return template, nil
}

// options are the group's durations. Unimplemented, or an answer without options, means the client's own.
func (o Observer) options(ctx context.Context, group string) (GroupOptions, error) {
	own := o.Config.Group
	answer, err := call(ctx, o.Provider.NodeGroupGetOptions, &externalgrpc.NodeGroupAutoscalingOptionsRequest{
		Id: group, Defaults: &externalgrpc.NodeGroupAutoscalingOptions{
			ScaleDownUnneededDuration: durationpb.New(own.UnneededTime),
			ScaleDownUnreadyDuration:  durationpb.New(own.UnneededTime),
			MaxNodeProvisionDuration:  durationpb.New(own.MaxNodeProvisionTime),
		}})
	if status.Code(err) == codes.Unimplemented {
		return own, nil
	}
	if err != nil {
		return own, fmt.Errorf("asking for options: %w", err)
	}
	options := answer.GetNodeGroupAutoscalingOptions()
	if options == nil {
		return own, nil
	}
	return GroupOptions{
		UnneededTime:         options.GetScaleDownUnneededDuration().AsDuration(),
		MaxNodeProvisionTime: options.GetMaxNodeProvisionDuration().AsDuration(),
	}, nil
}
