package conformance

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// nobody is a group that no provider has.
const nobody = "conformance-no-such-group"

// code demands a code of an answer and, of a refusal, that it names something.
func (r *run) code(doing string, err error, want codes.Code, names ...string) {
	if got := status.Code(err); got != want {
		r.differ("%s: answered %s (%s), want %s", doing, got, status.Convert(err).Message(), want)
		return
	}
	for _, name := range names {
		if !strings.Contains(status.Convert(err).Message(), name) {
			r.differ("%s: %q does not name %q", doing, status.Convert(err).Message(), name)
		}
	}
}

// oneOf demands one of some codes.
func (r *run) oneOf(doing string, err error, want ...codes.Code) {
	if got := status.Code(err); !slices.Contains(want, got) {
		r.differ("%s: answered %s (%s), want one of %v", doing, got, status.Convert(err).Message(), want)
	}
}

func (r *run) groups() (map[string]*pb.NodeGroup, error) {
	answer, err := r.rpc.NodeGroups(r.ctx, &pb.NodeGroupsRequest{})
	if err != nil {
		return nil, fmt.Errorf("asking for the groups: %w", err)
	}
	groups := map[string]*pb.NodeGroup{}
	for _, group := range answer.GetNodeGroups() {
		if groups[group.GetId()] != nil {
			r.differ("group %q is listed twice", group.GetId())
		}
		groups[group.GetId()] = group
	}
	return groups, nil
}

// someGroups are the listed groups; none leaves the case unjudged. Where there is a Ground, it makes sure of one.
func (r *run) someGroups() (map[string]*pb.NodeGroup, error) {
	if r.suite.Ground != nil {
		if _, err := r.pool(Pool{Machines: 1}); err != nil {
			return nil, err
		}
	}
	groups, err := r.groups()
	if err == nil && len(groups) == 0 {
		r.unjudged = "the provider lists no group"
	}
	return groups, err
}

// pool is a fresh group as wanted, once the provider tells of it.
func (r *run) pool(want Pool) (string, error) {
	group, err := r.suite.Ground.Pool(r.ctx, want)
	if err != nil {
		return "", fmt.Errorf("making a pool: %w", err)
	}
	switch {
	case want.Broken:
		return group, nil
	case want.Unsized:
		return group, r.until("a new group is known", func() string {
			if _, err := r.target(group); err != nil {
				return err.Error()
			}
			return ""
		})
	}
	return group, r.until("a new group is told", func() string {
		groups, err := r.groups()
		switch {
		case err != nil:
			return err.Error()
		case groups[group] == nil:
			return fmt.Sprintf("group %q is not listed", group)
		case int(groups[group].GetMaxSize()) != want.Machines:
			return fmt.Sprintf("group %q has a maxSize of %d, and %d machines", group, groups[group].GetMaxSize(), want.Machines)
		}
		return ""
	})
}

// playground is a group that may be scaled: fresh from the Ground, or the one that was named, once it has a machine to
// give. One that a case before gave back may have to go down first.
func (r *run) playground(machines int) (string, error) {
	if r.suite.Ground != nil {
		return r.pool(Pool{Machines: machines})
	}
	group := r.suite.Group
	return group, r.until(fmt.Sprintf("group %q has a machine to give", group), func() string {
		groups, err := r.groups()
		if err != nil {
			return err.Error()
		}
		target, err := r.target(group)
		switch {
		case err != nil:
			return err.Error()
		case groups[group].GetMaxSize() <= target:
			return fmt.Sprintf("its target size is %d, and its maxSize %d", target, groups[group].GetMaxSize())
		}
		return ""
	})
}

// takeBack gives back what was just asked for, and demands the target size that was before. Where machines really boot
// that may be too late for a decrease, and the boot is deleted.
func (r *run) takeBack(group, instance string, before int32) {
	const doing = "taking a request back"
	err := r.decrease(group, -1)
	if r.suite.Ground == nil && status.Code(err) == codes.Unavailable {
		err = r.remove(group, invented(instance, "unregistered"))
	}
	r.code(doing, err, codes.OK)
	r.targetIs(doing, group, before)
}

func (r *run) increase(group string, delta int32) error {
	_, err := r.rpc.NodeGroupIncreaseSize(r.ctx, &pb.NodeGroupIncreaseSizeRequest{Id: group, Delta: delta})
	return err
}

func (r *run) decrease(group string, delta int32) error {
	_, err := r.rpc.NodeGroupDecreaseTargetSize(r.ctx, &pb.NodeGroupDecreaseTargetSizeRequest{Id: group, Delta: delta})
	return err
}

func (r *run) remove(group string, nodes ...*pb.ExternalGrpcNode) error {
	_, err := r.rpc.NodeGroupDeleteNodes(r.ctx, &pb.NodeGroupDeleteNodesRequest{Id: group, Nodes: nodes})
	return err
}

func (r *run) target(group string) (int32, error) {
	answer, err := r.rpc.NodeGroupTargetSize(r.ctx, &pb.NodeGroupTargetSizeRequest{Id: group})
	if err != nil {
		return 0, fmt.Errorf("asking for the target size of %q: %w", group, err)
	}
	return answer.GetTargetSize(), nil
}

// targetIs demands a target size of the very next read: it follows a call at once.
func (r *run) targetIs(after, group string, want int32) {
	if got, err := r.target(group); err != nil {
		r.differ("after %s: %v", after, err)
	} else if got != want {
		r.differ("after %s the target size is %d, want %d", after, got, want)
	}
}

func (r *run) instances(group string) (map[string]*pb.InstanceStatus, error) {
	answer, err := r.rpc.NodeGroupNodes(r.ctx, &pb.NodeGroupNodesRequest{Id: group})
	if err != nil {
		return nil, fmt.Errorf("asking for the instances of %q: %w", group, err)
	}
	instances := map[string]*pb.InstanceStatus{}
	for _, instance := range answer.GetInstances() {
		if _, twice := instances[instance.GetId()]; twice || instance.GetId() == "" {
			r.differ("group %q lists the instance %q twice, or without an id", group, instance.GetId())
		}
		instances[instance.GetId()] = instance.GetStatus()
	}
	return instances, nil
}

// stateIs waits until an instance is told in a state.
func (r *run) stateIs(group, instance string, want pb.InstanceStatus_InstanceState) error {
	return r.until(fmt.Sprintf("instance %q is %s", instance, want), func() string {
		instances, err := r.instances(group)
		switch {
		case err != nil:
			return err.Error()
		case instances[instance] == nil:
			return fmt.Sprintf("it is not among %v", keys(instances))
		case instances[instance].GetInstanceState() != want:
			return "it is " + instances[instance].GetInstanceState().String()
		}
		return ""
	})
}

// asked asks for machines and returns the ids that are listed for them.
func (r *run) asked(group string, n int32) ([]string, error) {
	before, err := r.instances(group)
	if err != nil {
		return nil, err
	}
	if err := r.increase(group, n); err != nil {
		return nil, fmt.Errorf("asking for %d machines of %q: %w", n, group, err)
	}
	after, err := r.instances(group)
	if err != nil {
		return nil, err
	}
	fresh := slices.DeleteFunc(keys(after), func(id string) bool { return before[id] != nil })
	if len(fresh) != int(n) {
		return nil, fmt.Errorf("after an increase by %d there are %d instances more (%v)", n, len(fresh), fresh)
	}
	return fresh, nil
}

// booted asks for machines of a group and boots them, to the end or not.
func (r *run) booted(group string, n int32) (nodes []*pb.ExternalGrpcNode, err error) {
	ids, err := r.asked(group, n)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		node, err := r.suite.Ground.Ready(r.ctx, group, id)
		if err != nil {
			return nil, fmt.Errorf("booting %q: %w", id, err)
		}
		nodes = append(nodes, node)
		if err := r.stateIs(group, node.GetProviderID(), pb.InstanceStatus_instanceRunning); err != nil {
			return nil, err
		}
	}
	return nodes, nil
}

// requested is a fresh group of which machines were asked for, and the ids that are listed for them.
func (r *run) requested(want Pool, n int32) (group string, ids []string, err error) {
	if group, err = r.pool(want); err != nil {
		return "", nil, err
	}
	ids, err = r.asked(group, n)
	return group, ids, err
}

// oneMore asks for a machine of a group that may be scaled: the id that is listed for it, and the target size before.
func (r *run) oneMore() (group, id string, before int32, err error) {
	if group, err = r.playground(2); err != nil {
		return "", "", 0, err
	}
	if before, err = r.target(group); err != nil {
		return "", "", 0, err
	}
	ids, err := r.asked(group, 1)
	if err != nil {
		return "", "", 0, err
	}
	return group, ids[0], before, nil
}

// running is a fresh group in which machines run, and their nodes.
func (r *run) running(want Pool, n int32) (group string, nodes []*pb.ExternalGrpcNode, err error) {
	if group, err = r.pool(want); err != nil {
		return "", nil, err
	}
	nodes, err = r.booted(group, n)
	return group, nodes, err
}

// groupOf is the group of a node, as the client hears it.
func (r *run) groupOf(node *pb.ExternalGrpcNode) (*pb.NodeGroup, error) {
	answer, err := r.rpc.NodeGroupForNode(r.ctx, &pb.NodeGroupForNodeRequest{Node: node})
	if err != nil {
		return nil, fmt.Errorf("asking for the group of node %q: %w", node.GetName(), err)
	}
	return answer.GetNodeGroup(), nil
}

func (r *run) groupIs(what string, node *pb.ExternalGrpcNode, want string) {
	if group, err := r.groupOf(node); err != nil {
		r.differ("%s: %v", what, err)
	} else if group.GetId() != want {
		r.differ("%s is of group %q, want %q", what, group.GetId(), want)
	}
}

// invented is the node that the client makes up for an instance that never registered.
func invented(instance, reason string) *pb.ExternalGrpcNode {
	return &pb.ExternalGrpcNode{Name: instance, ProviderID: instance,
		Annotations: map[string]string{"k8s.io/cluster-autoscaler/fake-node-reason": reason}}
}

// upcoming is the copy of a node that the client puts where it expects another.
func upcoming(group string, of *pb.ExternalGrpcNode) *pb.ExternalGrpcNode {
	return &pb.ExternalGrpcNode{
		Name: "template-node-for-" + group + "-5577006791947779410-upcoming-0", ProviderID: of.GetProviderID(),
		Labels: of.GetLabels(), Annotations: map[string]string{"cluster-autoscaler.k8s.io/upcoming-node": "true"},
	}
}

func stranger() *pb.ExternalGrpcNode {
	return &pb.ExternalGrpcNode{Name: "conformance-stranger", ProviderID: "conformance://stranger"}
}

func keys[V any](of map[string]V) []string {
	list := make([]string, 0, len(of))
	for key := range of {
		list = append(list, key)
	}
	slices.Sort(list)
	return list
}
