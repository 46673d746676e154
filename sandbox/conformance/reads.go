package conformance

import (
	"bytes"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func readCases() []Case {
	return []Case{
		{RPC: "Refresh", Name: "a round opens without an error", Traps: []Trap{TrapStrayErrors}, judge: func(r *run) error {
			_, err := r.rpc.Refresh(r.ctx, &pb.RefreshRequest{})
			r.code("Refresh", err, codes.OK)
			return nil
		}},
		{RPC: "Cleanup", Name: "a client that leaves takes nothing with it", Need: Playground, judge: judgeCleanup},
		{RPC: "NodeGroups", Name: "groups have ids and bounds that can be", judge: judgeGroups},
		{RPC: "NodeGroupForNode", Name: "a stranger is nobody's and no error, a node without a name is refused",
			Traps: []Trap{TrapStrayErrors}, judge: judgeStrangers},
		{RPC: "NodeGroupTargetSize", Name: "every listed group has a size, and another is refused by name", Traps: []Trap{TrapStrayErrors}, judge: judgeTargets},
		{RPC: "NodeGroupNodes", Name: "what counts towards the target is what is listed as creating or running", judge: judgeInstances},
		{RPC: "NodeGroupTemplateNodeInfo", Name: "a template comes whole in both generations' fields, or not at all",
			Traps: []Trap{TrapEmptyTemplates}, judge: judgeTemplates},
		{RPC: "NodeGroupTemplateNodeInfo", Name: "without a known size there is no template, and nobody is told of the group",
			Traps: []Trap{TrapEmptyTemplates, TrapNoTemplates}, Need: Cluster, judge: judgeUnsized},
		{RPC: "GPULabel", Name: "the label is answered", judge: func(r *run) error {
			_, err := r.rpc.GPULabel(r.ctx, &pb.GPULabelRequest{})
			r.code("GPULabel", err, codes.OK)
			return nil
		}},
		{RPC: "GetAvailableGPUTypes", Name: "types are answered, none of them nil", judge: func(r *run) error {
			answer, err := r.rpc.GetAvailableGPUTypes(r.ctx, &pb.GetAvailableGPUTypesRequest{})
			r.oneOf("GetAvailableGPUTypes", err, codes.OK, codes.Unimplemented)
			for name, value := range answer.GetGpuTypes() {
				if value == nil {
					r.differ("GPU type %q has no value", name)
				}
			}
			return nil
		}},
		{RPC: "GetAvailableGPUTypes", Name: "an accelerator wakes its pool from zero, and its label is on no other machine",
			Need: Cluster, judge: judgeAccelerator},
	}
}

func judgeCleanup(r *run) error {
	group, id, before, err := r.oneMore()
	if err != nil {
		return err
	}
	_, err = r.rpc.Cleanup(r.ctx, &pb.CleanupRequest{})
	r.code("Cleanup", err, codes.OK)
	r.targetIs("Cleanup", group, before+1)
	r.takeBack(group, id, before)
	return nil
}

func judgeGroups(r *run) error {
	groups, err := r.someGroups()
	for id, group := range groups {
		if id == "" || group.GetMinSize() < 0 || group.GetMaxSize() < group.GetMinSize() {
			r.differ("group %q has the bounds %d to %d", id, group.GetMinSize(), group.GetMaxSize())
		}
	}
	return err
}

func judgeStrangers(r *run) error {
	r.groupIs("a stranger", stranger(), "")
	r.groupIs("a stranger without a providerID", &pb.ExternalGrpcNode{Name: "conformance-stranger"}, "")
	r.groupIs("an invented node of no instance", invented("conformance://stranger", "unregistered"), "")
	r.groupIs("an upcoming node of no group", upcoming(nobody, stranger()), "")
	for doing, node := range map[string]*pb.ExternalGrpcNode{"a call without a node": nil, "a node without a name": {}} {
		_, err := r.rpc.NodeGroupForNode(r.ctx, &pb.NodeGroupForNodeRequest{Node: node})
		r.code(doing, err, codes.InvalidArgument)
	}
	return nil
}

func judgeTargets(r *run) error {
	groups, err := r.someGroups()
	for id, group := range groups {
		if size, err := r.target(id); err != nil {
			r.differ("%v", err)
		} else if size < 0 || size > group.GetMaxSize() {
			r.differ("group %q has a target of %d and a maxSize of %d", id, size, group.GetMaxSize())
		}
	}
	r.refusesGroups(func(id string) error {
		_, err := r.rpc.NodeGroupTargetSize(r.ctx, &pb.NodeGroupTargetSizeRequest{Id: id})
		return err
	})
	return err
}

// refusesGroups demands that a call knows no group that there is not.
func (r *run) refusesGroups(call func(id string) error) {
	r.code("a call without a group", call(""), codes.InvalidArgument)
	r.code("a call for a group that is not there", call(nobody), codes.NotFound, nobody)
	r.code("a call for a name that no group can have", call("../../"+nobody), codes.NotFound, nobody)
}

func judgeInstances(r *run) error {
	groups, err := r.someGroups()
	for id := range groups {
		if err := r.sizesAgree(id); err != nil {
			r.differ("%v", err)
		}
		instances, err := r.instances(id)
		if err != nil {
			r.differ("%v", err)
		}
		for instance, status := range instances {
			r.sound(instance, status)
		}
	}
	r.refusesGroups(func(id string) error {
		_, err := r.rpc.NodeGroupNodes(r.ctx, &pb.NodeGroupNodesRequest{Id: id})
		return err
	})
	return err
}

// sound demands a status that the client does not drop.
func (r *run) sound(instance string, status *pb.InstanceStatus) {
	if status.GetInstanceState() == pb.InstanceStatus_unspecified {
		r.differ("instance %q has no state: the client drops its whole status", instance)
	}
	if status.GetErrorInfo() != nil && status.GetErrorInfo().GetErrorCode() == "" {
		r.differ("instance %q has an error without a code: the client drops it", instance)
	}
}

// sizesAgree demands that target = creating + running. Machines may move between the two reads; the pair is read again
// until it agrees or cannot any more.
func (r *run) sizesAgree(group string) error {
	return r.until("the target size is what is listed", func() string { return r.disagreement(group) })
}

func judgeTemplates(r *run) error {
	groups, err := r.someGroups()
	for id := range groups {
		answer, err := r.rpc.NodeGroupTemplateNodeInfo(r.ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: id})
		r.oneOf("a template", err, codes.OK, codes.Unimplemented)
		if err == nil {
			r.template(answer)
		}
	}
	r.refusesGroups(func(id string) error {
		_, err := r.rpc.NodeGroupTemplateNodeInfo(r.ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: id})
		return err
	})
	return err
}

// template demands a node that a scheduler can place pods on, and that no client crashes over.
func (r *run) template(answer *pb.NodeGroupTemplateNodeInfoResponse) {
	if len(answer.GetNodeInfo()) == 0 || !bytes.Equal(answer.GetNodeInfo(), answer.GetNodeBytes()) {
		r.differ("the template has %d bytes for clients up to 1.34 and %d for those after", len(answer.GetNodeInfo()), len(answer.GetNodeBytes()))
		return
	}
	node := &corev1.Node{}
	if err := node.Unmarshal(answer.GetNodeBytes()); err != nil {
		r.differ("the template cannot be read: %v", err)
		return
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods} {
		capacity, allocatable := node.Status.Capacity[name], node.Status.Allocatable[name]
		if capacity.Sign() <= 0 || allocatable.Sign() <= 0 {
			r.differ("the template offers %s %s of %s", allocatable.String(), name, capacity.String())
		}
	}
	for _, label := range []string{corev1.LabelHostname, corev1.LabelArchStable, corev1.LabelOSStable} {
		if node.Labels[label] == "" {
			r.differ("the template has no label %s", label)
		}
	}
	if node.Spec.Unschedulable || node.Spec.ProviderID != "" {
		r.differ("the template is unschedulable (%t) or claims to be the machine %q", node.Spec.Unschedulable, node.Spec.ProviderID)
	}
}

// accelerator is the extended resource of a pool that is Accelerated.
const accelerator corev1.ResourceName = "nvidia.com/gpu"

func judgeAccelerator(r *run) error {
	plain, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	accelerated, err := r.pool(Pool{Machines: 1, Accelerated: true})
	if err != nil {
		return err
	}
	label, err := r.rpc.GPULabel(r.ctx, &pb.GPULabelRequest{})
	if err != nil {
		return fmt.Errorf("asking for the label: %w", err)
	}
	for group, want := range map[string]int64{plain: 0, accelerated: 1} {
		template, err := r.templateOf(group)
		if err != nil {
			return err
		}
		has := template.Status.Allocatable[accelerator]
		if has.Value() != want {
			r.differ("the template of machines with %d accelerators has %d", want, has.Value())
		}
		if _, labelled := template.Labels[label.GetLabel()]; labelled && want == 0 {
			r.differ("a machine without an accelerator carries the label %s: the client waits for its driver for ever", label.GetLabel())
		}
	}
	return r.until("an accelerator is told as a type", func() string {
		types, err := r.rpc.GetAvailableGPUTypes(r.ctx, &pb.GetAvailableGPUTypesRequest{})
		if len(types.GetGpuTypes()) == 0 {
			return fmt.Sprintf("there are no types, %v", err)
		}
		return ""
	})
}

// templateOf is the node of a group's template.
func (r *run) templateOf(group string) (*corev1.Node, error) {
	answer, err := r.rpc.NodeGroupTemplateNodeInfo(r.ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: group})
	if err != nil {
		return nil, fmt.Errorf("asking for a template of %q: %w", group, err)
	}
	node := &corev1.Node{}
	if err := node.Unmarshal(answer.GetNodeBytes()); err != nil {
		return nil, fmt.Errorf("reading the template of %q: %w", group, err)
	}
	return node, nil
}

func judgeUnsized(r *run) error {
	group, err := r.pool(Pool{Machines: 1, Unsized: true})
	if err != nil {
		return err
	}
	groups, err := r.groups()
	if err != nil {
		return err
	}
	if groups[group] != nil {
		r.differ("group %q is listed, and has no template", group)
	}
	_, err = r.rpc.NodeGroupTemplateNodeInfo(r.ctx, &pb.NodeGroupTemplateNodeInfoRequest{Id: group})
	if status.Code(err) != codes.Unimplemented {
		r.differ("a template of machines of no known size: answered %s", status.Code(err))
	}
	return nil
}

// disagreement is how a group's target size and its list differ, empty if they do not.
func (r *run) disagreement(group string) string {
	size, err := r.target(group)
	if err != nil {
		return err.Error()
	}
	instances, err := r.instances(group)
	if err != nil {
		return err.Error()
	}
	counted := 0
	for _, status := range instances {
		if s := status.GetInstanceState(); s == pb.InstanceStatus_instanceCreating || s == pb.InstanceStatus_instanceRunning {
			counted++
		}
	}
	if int(size) != counted {
		return fmt.Sprintf("group %q has a target of %d and lists %d as creating or running", group, size, counted)
	}
	return ""
}
