package realclient

import (
	"context"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// ask asks for machines as the client does.
func (o *home) ask(group string, delta int32) {
	o.t.Helper()
	if _, err := o.rpc.NodeGroupIncreaseSize(o.t.Context(), &pb.NodeGroupIncreaseSizeRequest{Id: group, Delta: delta}); err != nil {
		o.t.Fatal(err)
	}
}

// TestABootThatOutlastsTheClientsPatience is what a client does whose own time for a boot is shorter than ours: it takes the
// request back while the machine boots. The boot goes on untouched to its own deadline, and only then the target falls.
func TestABootThatOutlastsTheClientsPatience(t *testing.T) {
	o := newHome(t)
	o.group("workers", func(spec *v2.GroupSpec) {
		spec.Timeouts.StartupJob, spec.Timeouts.Registration = duration(10*time.Second), duration(2*time.Second)
		spec.Timeouts.ReadinessGate = duration(5 * time.Second)
	})
	o.machine("workers", machineroom.Machine{Name: "worker-1", Temperament: machineroom.Temperament{NeverBoots: true}}, byPlug)
	o.machine("workers", machineroom.Machine{Name: "worker-2"})
	o.ask("workers", 1)
	o.await("worker-1", machineroom.PoweredOn)
	before, err := o.claims(t.Context())
	if err != nil || len(before) != 1 {
		t.Fatalf("there are %d claims, want 1: %v", len(before), err)
	}
	for range 3 {
		o.refused("a boot under way", "workers", -1, codes.Unavailable)
	}
	after, err := o.claims(t.Context())
	if err != nil || len(after) != 1 || after[0].UID != before[0].UID || after[0].Generation != before[0].Generation ||
		after[0].Status.Phase != v2.ClaimBooting || after[0].DeletionTimestamp != nil {
		t.Fatalf("the claim was touched: %+v, %v", after, err)
	}
	o.off("worker-1")
	o.digest("worker-1", v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
	o.eventually("the target has fallen", func(ctx context.Context) string { return o.missingTarget(ctx, "workers", 0) })
	o.accepted("nothing any more", "workers", -1, 0)
	o.boots(map[string]int{"worker-1": 1})
}

// TestTheManagerGoesDownWithItsMachine has the manager's own pod on a machine that is given back: it is evicted by its own
// drain, and whoever runs next, elsewhere, takes the machine down. The slot is as good as any afterwards.
func TestTheManagerGoesDownWithItsMachine(t *testing.T) {
	o := newHome(t)
	o.workers("worker-1")
	o.ask("workers", 1)
	o.ready("worker-1")
	o.run("manager", "100m", func(spec *corev1.PodSpec) { spec.NodeName = "worker-1" })
	o.running("manager")
	if _, err := o.rpc.NodeGroupDeleteNodes(t.Context(), &pb.NodeGroupDeleteNodesRequest{
		Id: "workers", Nodes: []*pb.ExternalGrpcNode{{Name: "worker-1", ProviderID: v2.ProviderIDPrefix + "worker-1"}},
	}); err != nil {
		t.Fatal(err)
	}
	o.eventually("the manager's pod is evicted", func(ctx context.Context) string {
		pod := &corev1.Pod{}
		switch err := o.Get(ctx, o.key("manager"), pod); {
		case apierrors.IsNotFound(err), err == nil && pod.DeletionTimestamp != nil:
			return ""
		default:
			return fmt.Sprintf("it is %s: %v", pod.Status.Phase, err)
		}
	})
	o.stop()
	o.dial(o.manage(o.cp.Config()))
	o.off("worker-1")
	o.digest("worker-1", v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	if asked := len(o.room.Log(machineroom.Is(machineroom.SoftOffRequested))); asked != 1 {
		t.Errorf("the machine was asked to shut down %d times", asked)
	}
	o.ask("workers", 1)
	o.ready("worker-1")
	o.boots(map[string]int{"worker-1": 2})
}
