package conformance

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func trapCases() []Case {
	return []Case{
		{RPC: "NodeGroupForNode", Name: "a kubelet that registers during a boot is nobody's until the boot is through",
			Traps: []Trap{TrapEarlyNodes}, Need: Cluster, judge: judgeBootingNode},
		{RPC: "NodeGroupForNode", Name: "an upcoming fake with a real machine's providerID is no evidence of it",
			Traps: []Trap{TrapInventedNodes}, Need: Cluster, judge: judgeUpcoming},
		{RPC: "NodeGroupForNode", Name: "the bounds are those that NodeGroups tells", Traps: []Trap{TrapTwoBounds}, Need: Cluster, judge: judgeBounds},
		{RPC: "NodeGroupNodes", Name: "a registered machine is listed under what its node carries", Traps: []Trap{TrapOtherIDs}, Need: Cluster, judge: judgeOwnID},
		{RPC: "NodeGroupForNode", Name: "a machine that was given back and boots again is the group's again",
			Traps: []Trap{TrapLingeringMarks}, Need: Cluster, judge: judgeReturn},
		{RPC: "NodeGroupNodes", Name: "a boot that failed with no other machine left is told as creating with an error, and taken away by a delete",
			Traps: []Trap{TrapFailedBoots}, Need: Cluster, judge: judgeErrored},
		{RPC: "NodeGroupDecreaseTargetSize", Name: "a boot that failed is taken away by a decrease", Traps: []Trap{TrapFailedBoots},
			Need: Cluster, judge: judgeErroredDecrease},
		{RPC: "NodeGroupIncreaseSize", Name: "after a failed boot another machine is tried", Traps: []Trap{TrapHotLoops}, Need: Cluster, judge: judgeNextMachine},
		{RPC: "NodeGroupIncreaseSize", Name: "a machine that keeps failing is not sold for ever", Traps: []Trap{TrapHotLoops}, Need: Cluster, judge: judgeHotLoop},
		{RPC: "NodeGroups", Name: "a broken group spoils no answer about another", Traps: []Trap{TrapStrayErrors}, Need: Cluster, judge: judgeBroken},
	}
}

func judgeBootingNode(r *run) error {
	group, ids, err := r.requested(Pool{Machines: 1}, 1)
	if err != nil {
		return err
	}
	if err := r.suite.Ground.Commit(r.ctx, group, ids[0]); err != nil {
		return fmt.Errorf("committing %q: %w", ids[0], err)
	}
	node, err := r.suite.Ground.Register(r.ctx, group, ids[0])
	if err != nil {
		return fmt.Errorf("registering %q: %w", ids[0], err)
	}
	r.groupIs("a node whose boot is not through", node, "")
	r.targetIs("a kubelet's registering", group, 1)
	if err := r.stateIs(group, node.GetProviderID(), pb.InstanceStatus_instanceCreating); err != nil {
		return err
	}
	if _, err := r.suite.Ground.Ready(r.ctx, group, ids[0]); err != nil {
		return fmt.Errorf("booting %q: %w", ids[0], err)
	}
	return r.belongs(group, node)
}

// belongs waits until a node is the group's.
func (r *run) belongs(group string, node *pb.ExternalGrpcNode) error {
	return r.until("a node whose boot is through is the group's", func() string {
		got, err := r.groupOf(node)
		if err != nil {
			return err.Error()
		}
		if got.GetId() != group {
			return fmt.Sprintf("it is of group %q", got.GetId())
		}
		return ""
	})
}

func judgeUpcoming(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 1}, 1)
	if err != nil {
		return err
	}
	if err := r.belongs(group, nodes[0]); err != nil {
		return err
	}
	r.groupIs("an upcoming fake", upcoming(group, nodes[0]), "")
	r.groupIs("the real node", nodes[0], group)
	return nil
}

func judgeBounds(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 3, MinSize: 1}, 2)
	if err != nil {
		return err
	}
	if err := r.belongs(group, nodes[0]); err != nil {
		return err
	}
	groups, err := r.groups()
	if err != nil {
		return err
	}
	got, err := r.groupOf(nodes[0])
	if err != nil {
		return err
	}
	if want := groups[group]; got.GetMinSize() != want.GetMinSize() || got.GetMaxSize() != want.GetMaxSize() || got.GetMinSize() != 1 || got.GetMaxSize() != 3 {
		r.differ("a group of 3 with a floor of 1: NodeGroups tells %d to %d, NodeGroupForNode %d to %d",
			want.GetMinSize(), want.GetMaxSize(), got.GetMinSize(), got.GetMaxSize())
	}
	return nil
}

func judgeOwnID(r *run) error {
	group, before, err := r.requested(Pool{Machines: 1, OwnIDs: true}, 1)
	if err != nil {
		return err
	}
	node, err := r.suite.Ground.Ready(r.ctx, group, before[0])
	if err != nil {
		return fmt.Errorf("booting %q: %w", before[0], err)
	}
	if err := r.stateIs(group, node.GetProviderID(), pb.InstanceStatus_instanceRunning); err != nil {
		return err
	}
	instances, err := r.instances(group)
	if err == nil && len(instances) != 1 {
		r.differ("one machine is listed as %v", keys(instances))
	}
	r.code("a delete by the id the node carries", r.remove(group, &pb.ExternalGrpcNode{ProviderID: node.GetProviderID()}), codes.OK)
	r.targetIs("a delete by the id the node carries", group, 0)
	r.code("a delete by the former id", r.remove(group, invented(before[0], "unregistered")), codes.OK)
	return err
}

func judgeReturn(r *run) error {
	group, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	for range 2 {
		nodes, err := r.booted(group, 1)
		if err != nil {
			return err
		}
		if err := r.belongs(group, nodes[0]); err != nil {
			return err
		}
		r.code("a delete", r.remove(group, nodes[0]), codes.OK)
		if err := r.suite.Ground.Off(r.ctx, group, nodes[0].GetProviderID()); err != nil {
			return fmt.Errorf("switching %q off: %w", nodes[0].GetProviderID(), err)
		}
		if err := r.offered(group, 1); err != nil {
			return err
		}
	}
	return nil
}

// offered waits until so many machines more may be asked for.
func (r *run) offered(group string, n int32) error {
	return r.until("a machine that is off is on offer", func() string {
		groups, err := r.groups()
		if err != nil {
			return err.Error()
		}
		size, err := r.target(group)
		if err != nil {
			return err.Error()
		}
		if groups[group].GetMaxSize()-size != n {
			return fmt.Sprintf("the maxSize is %d at a target of %d", groups[group].GetMaxSize(), size)
		}
		return ""
	})
}

// failed asks for the only machine of a group and has its boot fail; the id is of an instance told with an error.
func (r *run) failed(machines Pool) (group, id string, err error) {
	if group, err = r.pool(machines); err != nil {
		return "", "", err
	}
	ids, err := r.asked(group, 1)
	if err != nil {
		return "", "", err
	}
	if err := r.suite.Ground.Fail(r.ctx, group, ids[0]); err != nil {
		return "", "", fmt.Errorf("failing %q: %w", ids[0], err)
	}
	return group, ids[0], r.until("a failed boot is told as creating, with an error", func() string {
		instances, err := r.instances(group)
		if err != nil {
			return err.Error()
		}
		told := instances[ids[0]]
		if told.GetInstanceState() != pb.InstanceStatus_instanceCreating || told.GetErrorInfo().GetErrorCode() == "" {
			return fmt.Sprintf("it is told as %v", told)
		}
		return ""
	})
}

func judgeErrored(r *run) error {
	// The floor is no reason to keep what never ran.
	group, id, err := r.failed(Pool{Machines: 1, MinSize: 1})
	if err != nil {
		return err
	}
	r.targetIs("a failed boot that is told", group, 1)
	r.groupIs("the invented node of a failed boot", invented(id, "create-error"), group)
	for range 2 {
		r.code("a delete of a failed boot", r.remove(group, invented(id, "create-error")), codes.OK)
		r.targetIs("a delete of a failed boot", group, 0)
	}
	instances, err := r.instances(group)
	if len(instances) != 0 {
		r.differ("a failed boot is still listed after its delete: %v", keys(instances))
	}
	return err
}

func judgeErroredDecrease(r *run) error {
	group, _, err := r.failed(Pool{Machines: 1})
	if err != nil {
		return err
	}
	r.code("a decrease by a failed boot", r.decrease(group, -1), codes.OK)
	r.targetIs("a decrease by a failed boot", group, 0)
	return r.sizesAgree(group)
}

func judgeNextMachine(r *run) error {
	group, ids, err := r.requested(Pool{Machines: 2}, 1)
	if err != nil {
		return err
	}
	if err := r.suite.Ground.Fail(r.ctx, group, ids[0]); err != nil {
		return fmt.Errorf("failing %q: %w", ids[0], err)
	}
	if err := r.until("a failed boot leaves the target while another machine can serve", func() string {
		if size, err := r.target(group); err != nil || size != 0 {
			return fmt.Sprintf("the target size is %d, %v", size, err)
		}
		return ""
	}); err != nil {
		return err
	}
	next, err := r.asked(group, 1)
	if err != nil {
		return err
	}
	if next[0] == ids[0] {
		r.differ("the machine %q that failed is sold again before the one that did not", ids[0])
	}
	return nil
}

// judgeHotLoop plays the client that loops: increase, failure, delete, over and over, with no pause.
func judgeHotLoop(r *run) error {
	const tooOften = 8
	group, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	for range tooOften {
		err := r.increase(group, 1)
		if status.Code(err) == codes.FailedPrecondition {
			return nil
		}
		if err != nil {
			return fmt.Errorf("asking for a machine that failed: %w", err)
		}
		instances, err := r.instances(group)
		if err != nil {
			return err
		}
		for id := range instances {
			if err := r.suite.Ground.Fail(r.ctx, group, id); err != nil {
				return fmt.Errorf("failing %q: %w", id, err)
			}
			r.code("a delete of a failed boot", r.remove(group, invented(id, "create-error")), codes.OK)
		}
	}
	r.differ("one machine was sold %d times in a row, and failed each time", tooOften)
	return nil
}

func judgeBroken(r *run) error {
	broken, err := r.pool(Pool{Machines: 1, Broken: true})
	if err != nil {
		return err
	}
	sound, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	_, err = r.rpc.Refresh(r.ctx, &pb.RefreshRequest{})
	r.code("Refresh beside a broken group", err, codes.OK)
	groups, err := r.groups()
	if err != nil {
		return err
	}
	for id := range groups {
		if _, err := r.target(id); err != nil {
			r.differ("%v", err)
		}
	}
	r.code("an increase of the sound group", r.increase(sound, 1), codes.OK)
	r.targetIs("an increase of the sound group", sound, 1)
	if groups[broken] == nil {
		r.code("an increase of a broken group that is not listed", r.increase(broken, 1), codes.FailedPrecondition, broken)
	}
	return nil
}
