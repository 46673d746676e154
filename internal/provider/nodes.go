package provider

import (
	"context"
	"sync"

	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/provider/snapshot"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// errorClassOther is the client's class for every fault but a lack of resources.
const errorClassOther = 99

// instanceStates renders states. An errored machine is one that is being created, with the error.
var instanceStates = map[pool.State]pb.InstanceStatus_InstanceState{
	pool.Creating: pb.InstanceStatus_instanceCreating,
	pool.Errored:  pb.InstanceStatus_instanceCreating,
	pool.Running:  pb.InstanceStatus_instanceRunning,
	pool.Deleting: pb.InstanceStatus_instanceDeleting,
}

// NodeGroupNodes lists the group's machines that are up, coming up or going down.
func (s *Server) NodeGroupNodes(_ context.Context, request *pb.NodeGroupNodesRequest) (*pb.NodeGroupNodesResponse, error) {
	answer, err := s.group(request.GetId())
	if err != nil {
		return nil, err
	}
	return s.lists.of(answer), nil
}

// lists are the answers to NodeGroupNodes that were rendered last, by group. The client asks far more often than
// something changes, and nobody changes a response once it is made.
type lists struct{ last sync.Map }

type renderedList struct {
	from     *snapshot.Answer
	response *pb.NodeGroupNodesResponse
}

func (l *lists) of(answer *snapshot.Answer) *pb.NodeGroupNodesResponse {
	if last, ok := l.last.Load(answer.View.Name); ok {
		if kept, _ := last.(renderedList); kept.from == answer {
			return kept.response
		}
	}
	response := &pb.NodeGroupNodesResponse{Instances: renderInstances(answer.Instances())}
	l.last.Store(answer.View.Name, renderedList{answer, response})
	return response
}

// renderInstances allocates by the list and not by the machine.
func renderInstances(from []pool.Instance) []*pb.Instance {
	list := make([]*pb.Instance, len(from))
	instances, statuses := make([]pb.Instance, len(from)), make([]pb.InstanceStatus, len(from))
	for i, instance := range from {
		status := &statuses[i]
		status.InstanceState = instanceStates[instance.State]
		if instance.Fault != nil {
			status.ErrorInfo = &pb.InstanceErrorInfo{
				ErrorCode: instance.Fault.Code, ErrorMessage: instance.Fault.Message, InstanceErrorClass: errorClassOther,
			}
		}
		list[i] = &instances[i]
		list[i].Id, list[i].Status = instance.ID, status
	}
	return list
}
