package provider

import (
	"context"
	"fmt"

	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/provider/snapshot"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// NodeGroups lists the groups that are offered and sound. Another is left out, and its condition says why.
func (s *Server) NodeGroups(context.Context, *pb.NodeGroupsRequest) (*pb.NodeGroupsResponse, error) {
	response := &pb.NodeGroupsResponse{}
	for _, answer := range s.store.Groups() {
		if told(answer) {
			response.NodeGroups = append(response.NodeGroups, nodeGroup(answer))
		}
	}
	return response, nil
}

// NodeGroupForNode names the group of a node, or none. It fails for no node that has a name: an error here stops every
// scale-up of the client.
func (s *Server) NodeGroupForNode(_ context.Context, request *pb.NodeGroupForNodeRequest) (*pb.NodeGroupForNodeResponse, error) {
	ref, err := nodeRef(request.GetNode())
	if err != nil {
		return nil, err
	}
	answer := s.groupOf(ref, request.GetNode())
	if answer == nil || !told(answer) {
		return &pb.NodeGroupForNodeResponse{NodeGroup: &pb.NodeGroup{}}, nil
	}
	return &pb.NodeGroupForNodeResponse{NodeGroup: nodeGroup(answer)}, nil
}

// told is whether the client hears of a group: it is the client's to scale, nothing is wrong with it, and it has a
// template. A client before 1.36 scales nothing up while it knows of one group without, and any client stops while such a
// group is thought to have a machine on its way.
func told(answer *snapshot.Answer) bool {
	return answer.Offered() && answer.Broken == nil && answer.Shaped
}

// groupOf is the answer of the node's group, or nil.
func (s *Server) groupOf(ref pool.NodeRef, node *pb.ExternalGrpcNode) *snapshot.Answer {
	kind := pool.KindOf(ref, node.GetLabels(), node.GetAnnotations())
	if kind == pool.UpcomingNode {
		return nil
	}
	slot, ok := s.store.SlotFor(ref)
	if !ok {
		return nil
	}
	if kind == pool.InventedNode {
		return s.listing(slot, ref.ProviderID)
	}
	answer, _ := s.store.Group(slot.GroupOfKubeNode(s.clock.Now()))
	return answer
}

// listing is the answer of the group that lists the slot's machine under that id, or nil.
func (s *Server) listing(slot pool.Slot, id string) *snapshot.Answer {
	for _, group := range slot.Groups() {
		if instance, listed := s.store.Instance(group, slot.Name); listed && instance.ID == id {
			answer, _ := s.store.Group(group)
			return answer
		}
	}
	return nil
}

// NodeGroupTargetSize is how many machines the group is meant to have.
func (s *Server) NodeGroupTargetSize(_ context.Context, request *pb.NodeGroupTargetSizeRequest) (*pb.NodeGroupTargetSizeResponse, error) {
	answer, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	return &pb.NodeGroupTargetSizeResponse{TargetSize: answer.Target}, nil
}

// group is the answer of a group that is offered, or a fault that names it.
func (s *Server) group(id string) (*snapshot.Answer, error) {
	if id == "" {
		return nil, pool.Faultf(pool.Malformed, "the group's id is empty")
	}
	answer, ok := s.store.Group(id)
	if !ok {
		return nil, pool.Faultf(pool.Unknown, "group %s does not exist", quoted(id))
	}
	if !answer.Offered() {
		return nil, otherEngine(id)
	}
	return answer, nil
}

func otherEngine(id string) error {
	return pool.Faultf(pool.Unknown, "group %s is not cluster-autoscaler's (spec.engine)", quoted(id))
}

func nodeGroup(answer *snapshot.Answer) *pb.NodeGroup {
	return &pb.NodeGroup{
		Id: answer.View.Name, MinSize: answer.Min, MaxSize: answer.Max,
		Debug: fmt.Sprintf("%s: %d wanted, %d ready, %d offerable of %d slots", answer.View.Name, answer.Target,
			answer.Ready, answer.Offerable, answer.Slots),
	}
}
