package conformance

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/codes"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func deleteCases() []Case {
	const rpc = "NodeGroupDeleteNodes"
	return []Case{
		{RPC: rpc, Name: "a group that is not there is refused by name", judge: func(r *run) error {
			r.refusesGroups(func(id string) error { return r.remove(id, stranger()) })
			return nil
		}},
		{RPC: rpc, Name: "no node, one without a name, or a stranger is refused", Need: Playground, judge: judgeAbsurdDeletes},
		{RPC: rpc, Name: "one stranger in a batch, and nothing is written", Traps: []Trap{TrapHalfBatches}, Need: Cluster, judge: judgeBatch},
		{RPC: rpc, Name: "the target falls at once, and a repetition changes nothing",
			Traps: []Trap{TrapNodesLeftBehind, TrapHalfBatches}, Need: Cluster, judge: judgeDelete},
		{RPC: rpc, Name: "two deletes at once both count", Traps: []Trap{TrapHalfBatches}, Need: Cluster, judge: judgeTwoDeletes},
		{RPC: rpc, Name: "an instance that never registered is given back by its id", Traps: []Trap{TrapInventedNodes}, Need: Playground, judge: judgeUnregistered},
		{RPC: rpc, Name: "the floor holds for machines that run, and only for them", Need: Cluster, judge: judgeDeleteFloor},
		{RPC: rpc, Name: "a held machine stays, and a mere request for it goes", Need: Cluster, judge: judgeHeldDelete},
		{RPC: rpc, Name: "a node with the name of one machine and the id of another is refused", Need: Cluster, judge: judgeTwoFaced},
		{RPC: rpc, Name: "a machine of another group is refused", Need: Cluster, judge: judgeOtherGroup},
	}
}

func judgeAbsurdDeletes(r *run) error {
	group, err := r.playground(1)
	if err != nil {
		return err
	}
	r.code("a delete of nobody", r.remove(group), codes.InvalidArgument)
	r.code("a delete of nil", r.remove(group, &pb.ExternalGrpcNode{}), codes.InvalidArgument)
	r.code("a delete of a stranger", r.remove(group, stranger()), codes.InvalidArgument, stranger().GetName())
	return nil
}

func judgeBatch(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 2}, 2)
	if err != nil {
		return err
	}
	r.code("a batch with a stranger", r.remove(group, nodes[0], nodes[1], stranger()), codes.InvalidArgument, stranger().GetName())
	r.targetIs("a refused batch", group, 2)
	for _, node := range nodes {
		r.groupIs("a machine of a refused batch", node, group)
	}
	r.code("the batch without the stranger", r.remove(group, nodes...), codes.OK)
	r.targetIs("a batch of two", group, 0)
	return nil
}

func judgeDelete(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 2}, 2)
	if err != nil {
		return err
	}
	id := nodes[0].GetProviderID()
	for _, doing := range []string{"a delete", "the same delete again"} {
		r.code(doing, r.remove(group, nodes[0]), codes.OK)
		r.targetIs(doing, group, 1)
	}
	r.groupIs("a machine that goes down", nodes[0], "")
	if err := r.stateIs(group, id, pb.InstanceStatus_instanceDeleting); err != nil {
		return err
	}
	if err := r.suite.Ground.Off(r.ctx, group, id); err != nil {
		return fmt.Errorf("switching %q off: %w", id, err)
	}
	if err := r.until("a machine that is off is not listed", func() string {
		instances, err := r.instances(group)
		if err != nil {
			return err.Error()
		}
		if instances[id] != nil {
			return fmt.Sprintf("it is %s", instances[id].GetInstanceState())
		}
		return ""
	}); err != nil {
		return err
	}
	r.code("a delete of a machine that is off", r.remove(group, nodes[0]), codes.OK)
	r.targetIs("a delete of a machine that is off", group, 1)
	return r.sizesAgree(group)
}

func judgeTwoDeletes(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 3}, 3)
	if err != nil {
		return err
	}
	var both sync.WaitGroup
	for _, node := range nodes[:2] {
		both.Go(func() { r.code("one of two deletes at once", r.remove(group, node), codes.OK) })
	}
	both.Wait()
	r.targetIs("two deletes at once", group, 1)
	return nil
}

func judgeUnregistered(r *run) error {
	group, id, before, err := r.oneMore()
	if err != nil {
		return err
	}
	r.code("a delete of what never registered", r.remove(group, invented(id, "unregistered")), codes.OK)
	r.targetIs("a delete of what never registered", group, before)
	return nil
}

func judgeDeleteFloor(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 2, MinSize: 1}, 1)
	if err != nil {
		return err
	}
	r.code("a delete under the floor", r.remove(group, nodes[0]), codes.FailedPrecondition)
	r.targetIs("a refused delete", group, 1)
	ids, err := r.asked(group, 1)
	if err != nil {
		return err
	}
	r.code("a delete of a request", r.remove(group, invented(ids[0], "unregistered")), codes.OK)
	r.targetIs("a delete of a request", group, 1)
	return nil
}

func judgeHeldDelete(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 2}, 1)
	if err != nil {
		return err
	}
	pending, err := r.asked(group, 1)
	if err != nil {
		return err
	}
	for _, id := range []string{nodes[0].GetProviderID(), pending[0]} {
		if err := r.suite.Ground.Hold(r.ctx, group, id); err != nil {
			return fmt.Errorf("holding %q: %w", id, err)
		}
	}
	r.code("a delete of a held machine", r.remove(group, nodes[0]), codes.FailedPrecondition, "held")
	r.targetIs("a refused delete", group, 2)
	r.code("a delete of a request for a held machine", r.remove(group, invented(pending[0], "unregistered")), codes.OK)
	r.targetIs("a delete of a request", group, 1)
	return nil
}

func judgeTwoFaced(r *run) error {
	group, nodes, err := r.running(Pool{Machines: 2}, 2)
	if err != nil {
		return err
	}
	twoFaced := &pb.ExternalGrpcNode{Name: nodes[0].GetName(), ProviderID: nodes[1].GetProviderID()}
	r.code("a delete of a node that is two machines", r.remove(group, twoFaced), codes.InvalidArgument, twoFaced.GetName())
	r.targetIs("a refused delete", group, 2)
	return nil
}

func judgeOtherGroup(r *run) error {
	group, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	other, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	nodes, err := r.booted(group, 1)
	if err != nil {
		return err
	}
	r.code("a delete from another group", r.remove(other, nodes[0]), codes.InvalidArgument, nodes[0].GetName())
	r.targetIs("a delete from another group", group, 1)
	return nil
}
