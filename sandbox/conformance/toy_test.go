package conformance

import (
	"context"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// toy is a provider of another make, in memory and with names of its own: what holds it to the contract assumes nothing
// of ours. It meets every demand until a flaw is built in.
type toy struct {
	pb.UnimplementedCloudProviderServer

	mu     sync.Mutex
	groups map[string]*toyGroup
	flaws
}

type toyGroup struct {
	Pool
	id       string
	machines []*toyMachine
}

// toyState is what becomes of a machine that was asked for.
type toyState int

const (
	atRest toyState = iota
	requested
	booting
	running
	goingDown
	errored
)

// toyFailuresBorne is after how many failed boots in a row a machine is not sold any more.
const toyFailuresBorne = 3

type toyMachine struct {
	name, carries string
	state         toyState
	held          bool
	failures      int
}

func newToy(f flaws) *toy { return &toy{groups: map[string]*toyGroup{}, flaws: f} }

// id is what the machine is listed as: what its node carries, or a name made for it.
func (m *toyMachine) id() string {
	if m.carries != "" {
		return m.carries
	}
	return "toy:" + m.name
}

func (m *toyMachine) wanted() bool { return m.state != atRest && m.state != goingDown }

func (m *toyMachine) free() bool {
	return m.state == atRest && !m.held && m.failures < toyFailuresBorne
}

func (g *toyGroup) count(is func(*toyMachine) bool) (n int32) {
	for _, m := range g.machines {
		if is(m) {
			n++
		}
	}
	return n
}

func (g *toyGroup) in(state toyState) int32 {
	return g.count(func(m *toyMachine) bool { return m.state == state })
}

func (g *toyGroup) target() int32 { return g.count((*toyMachine).wanted) }

func (t *toy) bounds(g *toyGroup) *pb.NodeGroup {
	most := g.target() + g.count((*toyMachine).free)
	if t.boundsOfPurchase {
		most = int32(len(g.machines))
	}
	return &pb.NodeGroup{Id: g.id, MinSize: min(g.MinSize, most), MaxSize: most}
}

// group finds a group and holds the lock until release, in every case.
func (t *toy) group(id string) (g *toyGroup, release func(), err error) {
	t.mu.Lock()
	switch g = t.groups[id]; {
	case id == "":
		err = status.Error(codes.InvalidArgument, "a group without an id")
	case g == nil:
		err = status.Errorf(codes.NotFound, "no group %s", id)
	}
	return g, t.mu.Unlock, err
}

func (*toy) Refresh(context.Context, *pb.RefreshRequest) (*pb.RefreshResponse, error) {
	return &pb.RefreshResponse{}, nil
}

func (t *toy) Cleanup(context.Context, *pb.CleanupRequest) (*pb.CleanupResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups {
		for _, m := range g.machines {
			if t.cleanupForgets && m.state == requested {
				m.state = atRest
			}
		}
	}
	return &pb.CleanupResponse{}, nil
}

func (t *toy) NodeGroups(context.Context, *pb.NodeGroupsRequest) (*pb.NodeGroupsResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer := &pb.NodeGroupsResponse{}
	for _, id := range slices.Sorted(maps.Keys(t.groups)) {
		switch g := t.groups[id]; {
		case g.Unsized && !t.listsWithoutTemplate:
		case !g.Broken:
			answer.NodeGroups = append(answer.NodeGroups, t.bounds(g))
		case t.brokenSpoilsAll:
			return nil, status.Errorf(codes.Internal, "group %s is broken", id)
		}
	}
	return answer, nil
}

func (t *toy) NodeGroupForNode(_ context.Context, request *pb.NodeGroupForNodeRequest) (*pb.NodeGroupForNodeResponse, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	node := request.GetNode()
	nobody := &pb.NodeGroupForNodeResponse{NodeGroup: &pb.NodeGroup{}}
	if node.GetName() == "" && node.GetProviderID() == "" {
		return nil, status.Error(codes.InvalidArgument, "no node")
	}
	if node.GetAnnotations()["cluster-autoscaler.k8s.io/upcoming-node"] != "" && !t.believesUpcoming {
		return nobody, nil
	}
	g, m := t.find(node)
	switch {
	case m == nil && t.strangersFail:
		return nil, status.Errorf(codes.NotFound, "no machine %s", node.GetName())
	case m == nil:
		return nobody, nil
	case node.GetName() == node.GetProviderID() && m.state != atRest && m.id() == node.GetProviderID():
	case m.state == running, m.state == booting && t.bootingBelongs:
	default:
		return nobody, nil
	}
	group := t.bounds(g)
	if t.noBoundsForNodes {
		group = &pb.NodeGroup{Id: g.id}
	}
	return &pb.NodeGroupForNodeResponse{NodeGroup: group}, nil
}

// find is the machine behind a node: by the id it carries or once had, by its name where no id is told.
func (t *toy) find(node *pb.ExternalGrpcNode) (*toyGroup, *toyMachine) {
	for _, g := range t.groups {
		for _, m := range g.machines {
			id, name := node.GetProviderID(), node.GetName()
			if id == m.id() || id == "toy:"+m.name || id == "" && name == m.name {
				return g, m
			}
		}
	}
	return nil, nil
}

func (t *toy) NodeGroupTargetSize(_ context.Context, request *pb.NodeGroupTargetSizeRequest) (*pb.NodeGroupTargetSizeResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	if err != nil {
		return nil, err
	}
	size := g.target()
	if t.countsGoingDown {
		size += g.in(goingDown)
	}
	return &pb.NodeGroupTargetSizeResponse{TargetSize: size}, nil
}

func (t *toy) NodeGroupNodes(_ context.Context, request *pb.NodeGroupNodesRequest) (*pb.NodeGroupNodesResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	if err != nil {
		return nil, err
	}
	states := map[toyState]pb.InstanceStatus_InstanceState{
		requested: pb.InstanceStatus_instanceCreating, booting: pb.InstanceStatus_instanceCreating, errored: pb.InstanceStatus_instanceCreating,
		running: pb.InstanceStatus_instanceRunning, goingDown: pb.InstanceStatus_instanceDeleting,
	}
	answer := &pb.NodeGroupNodesResponse{}
	for _, m := range g.machines {
		if m.state == atRest || t.listsLate && m.state == requested {
			continue
		}
		told := &pb.InstanceStatus{InstanceState: states[m.state]}
		if m.state == errored && !t.hidesErrors {
			told.ErrorInfo = &pb.InstanceErrorInfo{ErrorCode: "BOOT", ErrorMessage: "it did not come", InstanceErrorClass: 99}
		}
		id := m.id()
		if t.listsFirstID {
			id = "toy:" + m.name
		}
		answer.Instances = append(answer.Instances, &pb.Instance{Id: id, Status: told})
	}
	return answer, nil
}

func (t *toy) NodeGroupIncreaseSize(_ context.Context, request *pb.NodeGroupIncreaseSizeRequest) (*pb.NodeGroupIncreaseSizeResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	if err != nil {
		return nil, err
	}
	delta := request.GetDelta()
	free := slices.DeleteFunc(slices.Clone(g.machines), func(m *toyMachine) bool {
		if t.sellsForEver || t.sellsHeld {
			return m.state != atRest
		}
		return !m.free()
	})
	if !t.sellsFailedFirst {
		slices.SortStableFunc(free, func(a, b *toyMachine) int { return a.failures - b.failures })
	}
	switch {
	case delta <= 0:
		return nil, status.Errorf(codes.InvalidArgument, "an increase by %d", delta)
	case g.Broken:
		return nil, status.Errorf(codes.FailedPrecondition, "group %s is broken", g.id)
	case int(delta) > len(free) && !t.sellsWhatThereIs:
		return nil, status.Errorf(codes.FailedPrecondition, "%d machines of %s are free, not %d", len(free), g.id, delta)
	}
	for _, m := range free[:min(int(delta), len(free))] {
		m.state = requested
	}
	return &pb.NodeGroupIncreaseSizeResponse{}, nil
}

func (t *toy) NodeGroupDecreaseTargetSize(
	_ context.Context, request *pb.NodeGroupDecreaseTargetSizeRequest,
) (*pb.NodeGroupDecreaseTargetSizeResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	answer := &pb.NodeGroupDecreaseTargetSizeResponse{}
	if err != nil {
		return nil, err
	}
	if request.GetDelta() >= 0 {
		return nil, status.Errorf(codes.InvalidArgument, "a decrease by %d", request.GetDelta())
	}
	cancelable := func(m *toyMachine) bool {
		return m.state == requested || m.state == errored || t.decreaseCutsBoots && m.wanted()
	}
	n := min(-int64(request.GetDelta()), int64(g.count(cancelable)))
	switch {
	case g.target() == 0:
		return answer, nil
	case n == 0:
		return nil, status.Errorf(codes.Unavailable, "%d booting and %d ready", g.in(booting), g.in(running))
	case int64(g.target())-n < int64(g.MinSize) && !t.noFloor:
		return nil, status.Errorf(codes.FailedPrecondition, "the floor is %d", g.MinSize)
	}
	for _, m := range g.machines {
		if n > 0 && cancelable(m) {
			m.state = atRest
			n--
		}
	}
	return answer, nil
}

func (t *toy) NodeGroupDeleteNodes(_ context.Context, request *pb.NodeGroupDeleteNodesRequest) (*pb.NodeGroupDeleteNodesResponse, error) {
	g, release, err := t.group(request.GetId())
	defer release()
	if err == nil && len(request.GetNodes()) == 0 {
		err = status.Error(codes.InvalidArgument, "no nodes")
	}
	if err != nil {
		return nil, err
	}
	var machines []*toyMachine
	for _, node := range request.GetNodes() {
		of, m := t.find(node)
		if m == nil || of != g && !t.deletesAcrossGroups || t.isAnother(node.GetName(), m) && !t.trustsTheID {
			return nil, status.Errorf(codes.InvalidArgument, "node %s (%s) is not of %s, or is two", node.GetName(), node.GetProviderID(), g.id)
		}
		if t.deletesOneByOne {
			m.down()
		}
		machines = append(machines, m)
	}
	if err := t.mayGoDown(g, machines); err != nil {
		return nil, err
	}
	for _, m := range machines {
		if t.repetitionFails && m.state == goingDown {
			return nil, status.Errorf(codes.NotFound, "%s goes down already", m.name)
		}
		m.down()
	}
	return &pb.NodeGroupDeleteNodesResponse{}, nil
}

// mayGoDown is why not all of the machines may go down, or nil.
func (t *toy) mayGoDown(g *toyGroup, machines []*toyMachine) error {
	var up int32
	for _, m := range machines {
		if m.held && m.state == running {
			return status.Errorf(codes.FailedPrecondition, "%s is held", m.name)
		}
		if m.state == running {
			up++
		}
	}
	if up > 0 && g.target()-up < g.MinSize && !t.noFloor {
		return status.Errorf(codes.FailedPrecondition, "the floor is %d", g.MinSize)
	}
	return nil
}

// isAnother is whether a name is that of another machine than this one.
func (t *toy) isAnother(name string, m *toyMachine) bool {
	_, named := t.find(&pb.ExternalGrpcNode{Name: name})
	return named != nil && named != m
}

// down gives a machine back.
func (m *toyMachine) down() {
	switch m.state {
	case requested, errored:
		m.state = atRest
	case booting, running:
		m.state = goingDown
	case atRest, goingDown:
	}
}
