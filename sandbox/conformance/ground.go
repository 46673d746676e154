package conformance

import (
	"context"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// Ground is the cluster's side of a provider: it makes pools, and moves their machines along as hardware and time would.
// Groups and instances are named by their ids on the wire. Each act has taken place, for whoever reads the cluster, when
// the call returns; the suite itself waits until the provider tells of it.
type Ground interface {
	// Pool makes a group of machines that are off and that nobody asks for, and returns its id.
	Pool(ctx context.Context, want Pool) (group string, err error)
	// Hold forbids every power operation on the machine, as a person does who opens its case.
	Hold(ctx context.Context, group, instance string) error
	// Commit starts the machine's boot: from here on the request cannot be taken back.
	Commit(ctx context.Context, group, instance string) error
	// Register has the kubelet of a committed boot register, Ready, while the boot is not through: the node as it is in
	// the cluster.
	Register(ctx context.Context, group, instance string) (*pb.ExternalGrpcNode, error)
	// Ready ends the boot well: the node as it is in the cluster.
	Ready(ctx context.Context, group, instance string) (*pb.ExternalGrpcNode, error)
	// Fail ends the boot badly; the machine is off afterwards.
	Fail(ctx context.Context, group, instance string) error
	// Off completes what a delete began: the machine is off and nothing is left to be done about it.
	Off(ctx context.Context, group, instance string) error
}

// Pool is what a case wants of a group. The zero value of each field asks for the plain thing.
type Pool struct {
	// Machines is how many there are.
	Machines int
	// MinSize is the floor.
	MinSize int32
	// Hourly is each machine's price for an hour, as a decimal; empty: none is declared.
	Hourly string
	// Accelerated gives each machine an accelerator: one of the extended resource nvidia.com/gpu.
	Accelerated bool
	// Unsized leaves out what the machines offer: the group must not be listed.
	Unsized bool
	// OwnIDs gives the kubelets providerIDs of their own making, as k3s does.
	OwnIDs bool
	// Unneeded overrides the option scaleDownUnneededTime by 42 seconds.
	Unneeded bool
	// Broken makes a group that cannot be understood; its id need not be listed.
	Broken bool
}
