package conformance

import (
	"fmt"
	"math"

	"google.golang.org/grpc/codes"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func increaseCases() []Case {
	const rpc = "NodeGroupIncreaseSize"
	return []Case{
		{RPC: rpc, Name: "a group that is not there is refused by name", judge: func(r *run) error {
			r.refusesGroups(func(id string) error { return r.increase(id, 1) })
			return nil
		}},
		{RPC: rpc, Name: "no machine, fewer, or more than there are is refused and changes nothing", Need: Playground, judge: judgeAbsurdIncreases},
		{RPC: rpc, Name: "an increase shows at once, in the target and in the list", Need: Playground, judge: judgeIncrease},
		{RPC: rpc, Name: "every increase within maxSize is granted, down to the last machine", Need: Cluster, judge: judgeWholePool},
		{RPC: rpc, Name: "a held machine is not handed out", Need: Cluster, judge: judgeHeldIncrease},
	}
}

func judgeAbsurdIncreases(r *run) error {
	group, err := r.playground(2)
	if err != nil {
		return err
	}
	before, err := r.target(group)
	if err != nil {
		return err
	}
	for _, delta := range []int32{0, -1, math.MinInt32} {
		r.code(fmt.Sprintf("an increase by %d", delta), r.increase(group, delta), codes.InvalidArgument)
	}
	groups, err := r.groups()
	if err != nil {
		return err
	}
	more := groups[group].GetMaxSize() - before + 1
	r.code("an increase past maxSize", r.increase(group, more), codes.FailedPrecondition, fmt.Sprint(more))
	r.code("an absurd increase", r.increase(group, math.MaxInt32), codes.FailedPrecondition)
	r.targetIs("refused increases", group, before)
	return nil
}

func judgeIncrease(r *run) error {
	group, id, before, err := r.oneMore()
	if err != nil {
		return err
	}
	r.targetIs("an increase by 1", group, before+1)
	instances, err := r.instances(group)
	if err != nil {
		return err
	}
	if got := instances[id].GetInstanceState(); got != pb.InstanceStatus_instanceCreating {
		r.differ("a machine just asked for is told as %s", got)
	}
	r.groupIs("the invented node of a listed instance", invented(id, "unregistered"), group)
	r.takeBack(group, id, before)
	return nil
}

func judgeWholePool(r *run) error {
	const machines = 4
	group, err := r.pool(Pool{Machines: machines})
	if err != nil {
		return err
	}
	for _, delta := range []int32{1, 3} {
		r.code(fmt.Sprintf("an increase by %d", delta), r.increase(group, delta), codes.OK)
	}
	r.targetIs("increases by all there is", group, machines)
	groups, err := r.groups()
	if err != nil {
		return err
	}
	if got := groups[group].GetMaxSize(); got != machines {
		r.differ("a group of %d with all of them asked for has a maxSize of %d", machines, got)
	}
	r.code("one more", r.increase(group, 1), codes.FailedPrecondition)
	return r.sizesAgree(group)
}

func judgeHeldIncrease(r *run) error {
	group, ids, err := r.requested(Pool{Machines: 2}, 1)
	if err != nil {
		return err
	}
	r.code("taking it back", r.decrease(group, -1), codes.OK)
	if err := r.suite.Ground.Hold(r.ctx, group, ids[0]); err != nil {
		return fmt.Errorf("holding %q: %w", ids[0], err)
	}
	if err := r.offered(group, 1); err != nil {
		return err
	}
	r.code("an increase by 2 with one of two held", r.increase(group, 2), codes.FailedPrecondition)
	others, err := r.asked(group, 1)
	if err != nil {
		return err
	}
	if others[0] == ids[0] {
		r.differ("the held machine %q was handed out", ids[0])
	}
	return nil
}

func decreaseCases() []Case {
	const rpc = "NodeGroupDecreaseTargetSize"
	return []Case{
		{RPC: rpc, Name: "a group that is not there is refused by name", judge: func(r *run) error {
			r.refusesGroups(func(id string) error { return r.decrease(id, -1) })
			return nil
		}},
		{RPC: rpc, Name: "no machine or more is refused; a group that has nobody is at the size", Need: Cluster, judge: judgeAbsurdDecreases},
		{RPC: rpc, Name: "only requests are taken back, no matter how much is asked", Traps: []Trap{TrapGreedyDecreases}, Need: Cluster, judge: judgeClamp},
		{RPC: rpc, Name: "boots and machines that run are not taken back: try again later", Traps: []Trap{TrapGreedyDecreases}, Need: Cluster, judge: judgeCommitted},
		{RPC: rpc, Name: "the floor holds", Need: Cluster, judge: judgeFloor},
	}
}

func judgeAbsurdDecreases(r *run) error {
	group, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	r.code("a decrease of nothing", r.decrease(group, -1), codes.OK)
	for _, delta := range []int32{0, 1, math.MaxInt32} {
		r.code(fmt.Sprintf("a decrease by %d", delta), r.decrease(group, delta), codes.InvalidArgument)
	}
	if _, err := r.asked(group, 1); err != nil {
		return err
	}
	r.code("an absurd decrease", r.decrease(group, math.MinInt32), codes.OK)
	r.targetIs("an absurd decrease", group, 0)
	return nil
}

func judgeClamp(r *run) error {
	group, running, err := r.running(Pool{Machines: 3}, 1)
	if err != nil {
		return err
	}
	if _, err := r.asked(group, 2); err != nil {
		return err
	}
	// As 1.36 and later do after a time-out: the whole request, though part of it came up.
	r.code("a decrease by the whole request", r.decrease(group, -3), codes.OK)
	r.targetIs("a decrease by more than is pending", group, 1)
	// And again within one round of the client.
	r.code("a second decrease in the same round", r.decrease(group, -1), codes.Unavailable, "1 ready")
	r.targetIs("a decrease that may take nothing", group, 1)
	return r.stateIs(group, running[0].GetProviderID(), pb.InstanceStatus_instanceRunning)
}

func judgeCommitted(r *run) error {
	group, ids, err := r.requested(Pool{Machines: 1}, 1)
	if err != nil {
		return err
	}
	if err := r.suite.Ground.Commit(r.ctx, group, ids[0]); err != nil {
		return fmt.Errorf("committing %q: %w", ids[0], err)
	}
	r.code("a decrease during the only boot", r.decrease(group, -1), codes.Unavailable, "1 booting")
	r.targetIs("a decrease that may take nothing", group, 1)
	return nil
}

func judgeFloor(r *run) error {
	group, _, err := r.requested(Pool{Machines: 3, MinSize: 1}, 2)
	if err != nil {
		return err
	}
	r.code("a decrease under the floor", r.decrease(group, -2), codes.FailedPrecondition)
	r.targetIs("a refused decrease", group, 2)
	r.code("a decrease to the floor", r.decrease(group, -1), codes.OK)
	r.targetIs("a decrease to the floor", group, 1)
	return nil
}
