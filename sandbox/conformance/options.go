package conformance

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

// The options that every client here starts from: those of cluster-autoscaler's flags.
const (
	unneeded  = 10 * time.Minute
	unready   = 20 * time.Minute
	provision = 15 * time.Minute
)

// optionsSent are the defaults as each generation of clients puts them into the request.
var optionsSent = map[string]func() *pb.NodeGroupAutoscalingOptions{
	"a client from 1.29 to 1.34.1": olderOptions,
	"a client from 1.34.2 to 1.34": func() *pb.NodeGroupAutoscalingOptions {
		both, newer := olderOptions(), newerOptions()
		both.ScaleDownUnneededDuration, both.ScaleDownUnreadyDuration = newer.ScaleDownUnneededDuration, newer.ScaleDownUnreadyDuration
		both.MaxNodeProvisionDuration = newer.MaxNodeProvisionDuration
		return both
	},
	"a client from 1.35": newerOptions,
}

func thresholds() *pb.NodeGroupAutoscalingOptions {
	return &pb.NodeGroupAutoscalingOptions{ScaleDownUtilizationThreshold: 0.5, ScaleDownGpuUtilizationThreshold: 0.25}
}

func olderOptions() *pb.NodeGroupAutoscalingOptions {
	options := thresholds()
	options.ScaleDownUnneededTime = &pb.KubernetesDuration{Duration: int64(unneeded)}
	options.ScaleDownUnreadyTime = &pb.KubernetesDuration{Duration: int64(unready)}
	options.MaxNodeProvisionTime = &pb.KubernetesDuration{Duration: int64(provision)}
	return options
}

func newerOptions() *pb.NodeGroupAutoscalingOptions {
	options := thresholds()
	options.ScaleDownUnneededDuration, options.ScaleDownUnreadyDuration = durationpb.New(unneeded), durationpb.New(unready)
	options.MaxNodeProvisionDuration = durationpb.New(provision)
	return options
}

func optionCases() []Case {
	return []Case{
		{RPC: "NodeGroupGetOptions", Name: "options come whole for every client, or not at all",
			Traps: []Trap{TrapHalfOptions, TrapAllOrNothing}, judge: judgeOptions},
		{RPC: "NodeGroupGetOptions", Name: "absurd defaults are refused", judge: judgeAbsurdOptions},
		{RPC: "NodeGroupGetOptions", Name: "a group that says nothing leaves its options to the client", Traps: []Trap{TrapHalfOptions},
			Need: Cluster, judge: judgeSilentOptions},
		{RPC: "NodeGroupGetOptions", Name: "what a group says comes in both generations' fields, the rest as it was sent",
			Traps: []Trap{TrapHalfOptions}, Need: Cluster, judge: judgeOverride},
	}
}

func (r *run) options(group string, defaults *pb.NodeGroupAutoscalingOptions) (*pb.NodeGroupAutoscalingOptions, error) {
	answer, err := r.rpc.NodeGroupGetOptions(r.ctx, &pb.NodeGroupAutoscalingOptionsRequest{Id: group, Defaults: defaults})
	return answer.GetNodeGroupAutoscalingOptions(), err
}

func judgeOptions(r *run) error {
	groups, err := r.someGroups()
	for id, group := range groups {
		for client, sent := range optionsSent {
			options, err := r.options(id, sent())
			r.oneOf(client, err, codes.OK, codes.Unimplemented)
			if err != nil || options == nil {
				continue
			}
			r.whole(client, options)
			if options.GetZeroOrMaxNodeScaling() && group.GetMaxSize() > 1 {
				r.differ("group %q wants zeroOrMaxNodeScaling, under which the client never scales it down", id)
			}
		}
	}
	r.refusesGroups(func(id string) error {
		_, err := r.options(id, newerOptions())
		return err
	})
	return err
}

// whole demands durations over which no client panics, and which none takes for zero.
func (r *run) whole(client string, o *pb.NodeGroupAutoscalingOptions) {
	for name, pair := range map[string]struct {
		older *pb.KubernetesDuration
		newer *durationpb.Duration
	}{
		"unneeded":  {o.GetScaleDownUnneededTime(), o.GetScaleDownUnneededDuration()},
		"unready":   {o.GetScaleDownUnreadyTime(), o.GetScaleDownUnreadyDuration()},
		"provision": {o.GetMaxNodeProvisionTime(), o.GetMaxNodeProvisionDuration()},
	} {
		older, newer := time.Duration(pair.older.GetDuration()), pair.newer.AsDuration()
		if pair.older == nil || pair.newer == nil || older != newer || newer <= 0 {
			r.differ("%s: the %s time is %s for clients up to 1.34 and %s for those after", client, name, pair.older, pair.newer)
		}
	}
}

func judgeAbsurdOptions(r *run) error {
	groups, err := r.someGroups()
	for id := range groups {
		absurd := newerOptions()
		absurd.ScaleDownUnreadyDuration = &durationpb.Duration{Seconds: 1, Nanos: -1}
		_, err := r.options(id, absurd)
		r.code("a duration that is none", err, codes.InvalidArgument)
		_, err = r.options(id, nil)
		r.code("a request without defaults", err, codes.InvalidArgument)
	}
	return err
}

func judgeSilentOptions(r *run) error {
	group, err := r.pool(Pool{Machines: 1})
	if err != nil {
		return err
	}
	for client, sent := range optionsSent {
		options, err := r.options(group, sent())
		if status.Code(err) != codes.Unimplemented && options != nil {
			r.differ("%s: answered %s, which takes its nodes' start-up time from it", client, options)
		}
	}
	return nil
}

func judgeOverride(r *run) error {
	group, err := r.pool(Pool{Machines: 1, Unneeded: true})
	if err != nil {
		return err
	}
	for client, sent := range optionsSent {
		o, err := r.options(group, sent())
		if err != nil {
			return fmt.Errorf("%s: %w", client, err)
		}
		r.whole(client, o)
		if got := o.GetScaleDownUnneededDuration().AsDuration(); got != overriddenUnneeded {
			r.differ("%s: the unneeded time is %s, want the group's %s", client, got, overriddenUnneeded)
		}
		if o.GetScaleDownUnreadyDuration().AsDuration() != unready || o.GetScaleDownUtilizationThreshold() != 0.5 ||
			o.GetScaleDownGpuUtilizationThreshold() != 0.25 || o.GetMaxNodeProvisionDuration().AsDuration() < provision {
			r.differ("%s: what the group leaves alone is not as it was sent: %s", client, o)
		}
	}
	return nil
}

// overriddenUnneeded is what a pool with Unneeded wants.
const overriddenUnneeded = 42 * time.Second
