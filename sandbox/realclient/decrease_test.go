package realclient

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// TestDecreaseTargetSize goes through every answer to a call that the client hardly ever makes of us: our own deadline comes
// before its patience ends, and what is asked for is listed at once. So it is made here. The manager is whole, its
// controller at work, and claims stay pending because their slots are held.
func TestDecreaseTargetSize(t *testing.T) {
	o := newHome(t)
	o.workers("worker-1", "worker-2", "worker-3")
	o.refused("a group that nobody has", "nobody", -1, codes.NotFound)
	o.refused("no group at all", "", -1, codes.InvalidArgument)
	o.refused("an increase", "workers", 1, codes.InvalidArgument)
	o.refused("nothing", "workers", 0, codes.InvalidArgument)
	o.accepted("no live claim", "workers", -1, 0)

	if _, err := o.rpc.NodeGroupIncreaseSize(t.Context(), &pb.NodeGroupIncreaseSizeRequest{Id: "workers", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	o.await("worker-1", machineroom.PoweredOn)
	o.refused("one that boots", "workers", -1, codes.Unavailable)
	o.ready("worker-1")
	o.refused("one that is ready", "workers", -1, codes.Unavailable)

	o.wait("worker-2")
	o.wait("worker-3")
	o.eventually("both count", func(ctx context.Context) string { return o.missingTarget(ctx, "workers", 3) })
	o.floor(3)
	o.eventually("the floor is known", func(ctx context.Context) string {
		answer, err := o.rpc.NodeGroups(ctx, &pb.NodeGroupsRequest{})
		if err != nil || len(answer.GetNodeGroups()) != 1 || answer.GetNodeGroups()[0].GetMinSize() != 3 {
			return fmt.Sprintf("told are %v: %v", answer, err)
		}
		return ""
	})
	o.refused("one below the floor", "workers", -1, codes.FailedPrecondition)
	o.floor(0)
	o.eventually("the floor has gone", func(ctx context.Context) string {
		return o.missingDecrease(ctx, "workers", -1, 2)
	})
	// Judged on what it can come to: two are asked for, and one can be taken back.
	o.accepted("one that waits and one that is ready", "workers", -2, 1)
	o.refused("nothing but one that is ready", "workers", -1, codes.Unavailable)
	o.boots(map[string]int{"worker-1": 1})
	if !o.room.IsOn("worker-1") {
		t.Error("worker-1 is off: a decrease must never cost a machine that is there")
	}
	for _, slot := range []string{"worker-2", "worker-3"} {
		o.eventually(slot+" has no live claim", func(ctx context.Context) string {
			claim, err := o.liveClaim(ctx, slot)
			if err != nil {
				return err.Error()
			}
			return claim
		})
	}
}

// wait makes a claim that stays pending, since its slot is held.
func (o *home) wait(slot string) {
	o.t.Helper()
	object, err := o.slot(o.t.Context(), slot)
	if err != nil {
		o.t.Fatal(err)
	}
	patch := client.MergeFrom(object.DeepCopy())
	object.Spec.Suspend = true
	if err := o.Patch(o.t.Context(), object, patch); err != nil {
		o.t.Fatal(err)
	}
	claim := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: slot + "-by-hand", Namespace: o.namespace},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: slot}, Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "workers"},
		},
	}
	if err := o.Create(o.t.Context(), claim); err != nil {
		o.t.Fatal(err)
	}
}

func (o *home) decrease(ctx context.Context, group string, delta int32) error {
	_, err := o.rpc.NodeGroupDecreaseTargetSize(ctx, &pb.NodeGroupDecreaseTargetSizeRequest{Id: group, Delta: delta})
	return err
}

// refused checks the code of a refusal, and that it names the group and changes no target.
func (o *home) refused(what, group string, delta int32, code codes.Code) {
	o.t.Helper()
	before := o.target(o.t.Context(), group)
	err := o.decrease(o.t.Context(), group, delta)
	if status.Code(err) != code {
		o.t.Errorf("%s: answered %v, want %s", what, err, code)
	}
	o.t.Logf("%s: %v", what, err)
	if after := o.target(o.t.Context(), group); after != before {
		o.t.Errorf("%s: the target went from %s to %s", what, before, after)
	}
}

// accepted checks that a decrease is answered well and leaves this target.
func (o *home) accepted(what, group string, delta, target int32) {
	o.t.Helper()
	if err := o.decrease(o.t.Context(), group, delta); err != nil {
		o.t.Errorf("%s: %v", what, err)
	}
	if missing := o.missingTarget(o.t.Context(), group, target); missing != "" {
		o.t.Errorf("%s: %s", what, missing)
	}
}

func (o *home) missingDecrease(ctx context.Context, group string, delta, target int32) string {
	if err := o.decrease(ctx, group, delta); err != nil {
		return err.Error()
	}
	return o.missingTarget(ctx, group, target)
}

func (o *home) missingTarget(ctx context.Context, group string, want int32) string {
	if target := o.target(ctx, group); target != fmt.Sprint(want) {
		return fmt.Sprintf("the target is %s, want %d", target, want)
	}
	return ""
}

// target is what the client would be told, or why not.
func (o *home) target(ctx context.Context, group string) string {
	answer, err := o.rpc.NodeGroupTargetSize(ctx, &pb.NodeGroupTargetSizeRequest{Id: group})
	if err != nil {
		return err.Error()
	}
	return fmt.Sprint(answer.GetTargetSize())
}
