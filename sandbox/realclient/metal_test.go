package realclient

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"k8s.io/client-go/rest"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// TestAnUnreadyMachineWaitsForTheClient has a kubelet that dies with the power on. Nobody switches the machine off before the
// client's time for unready nodes, and then it goes, although no operating system answers. Its silence says nothing of
// its power, so that the kubeNode stays, and the next boot takes it over.
//
// To a client before 1.36 a node that is not ready is starting for its first 15 minutes, and is left alone. There our own
// clock ends the claim.
func TestAnUnreadyMachineWaitsForTheClient(t *testing.T) {
	o := newAutoscaledHome(t)
	o.group("workers")
	o.machine("workers", machineroom.Machine{Name: "worker-1"}, byPlug)
	const unready = 25 * time.Second
	o.autoscale("--scale-down-unneeded-time=10m", "--scale-down-unready-time="+unready.String())
	o.run("pod", most)
	machine := o.running("pod")
	o.end("pod")
	o.room.Machine(machine).Panic()
	dead := o.await(machine, machineroom.Panicked)
	if o.before(36) {
		o.isGivenUp(machine)
		return
	}
	off := o.await(machine, machineroom.PoweredOff)
	if waited := off.Time.Sub(dead.Time); waited < unready {
		t.Errorf("the machine was switched off %s after its kubelet died, before the client's %s", waited, unready)
	}
	o.eventually(machine+" is believed to be off", func(ctx context.Context) string { return o.missingFree(ctx, machine) })
	o.digest(machine, v2.ClaimCompleted, v2.ReasonNodeDeleted, 1)
	o.run("again", most)
	if again := o.running("again"); again != machine {
		t.Errorf("the next pod runs on %s", again)
	}
	o.await(machine, machineroom.Rejoined)
	o.boots(map[string]int{machine: 2})
	o.allAccepted(increaseSize, deleteNodes)
}

// isGivenUp waits until a machine that fell silent is given up without the client: its claim fails, its slot is free, and the
// kubeNode stays, as nobody knows whether the machine is off.
func (o *home) isGivenUp(machine string) {
	o.t.Helper()
	o.eventually("the silent machine is given up", func(ctx context.Context) string {
		slot, err := o.slot(ctx, machine)
		if err != nil || slot.Status.LastClaim == nil || slot.Status.LastClaim.Phase != v2.ClaimFailed {
			return fmt.Sprintf("the digest is %+v: %v", slot.Status.LastClaim, err)
		}
		return ""
	})
	o.digest(machine, v2.ClaimFailed, v2.ReasonMachineGone, 1)
	if made := o.tap.made(deleteNodes, decreaseTargetSize); len(made) > 0 {
		o.t.Errorf("the client took part in it: %s", made[0])
	}
	if kubeNode, err := o.kubeNode(o.t.Context(), machine); err != nil || kubeNode == nil {
		o.t.Errorf("the kubeNode is gone: %v", err)
	}
	o.boots(map[string]int{machine: 1})
}

// TestASlowAPIServerDoublesNothing lets the creates of claims take long until the client's first increase was answered:
// however that ended, three machines are bought in the end and no more.
func TestASlowAPIServerDoublesNothing(t *testing.T) {
	tests := map[string]struct {
		slow   *slowCreates
		inTime bool
	}{
		"but in time":                     {&slowCreates{by: 3 * time.Second}, true},
		"and late for the client's limit": {&slowCreates{by: 8 * time.Second}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slow := test.slow
			o := newAutoscaledHomeBehind(t, slow.slowDown)
			o.workers("worker-1", "worker-2", "worker-3", "worker-4", "worker-5", "worker-6")
			o.patienceOfCalls = 5 * time.Second
			o.autoscale("--initial-node-group-backoff-duration=30s")
			pods := []string{"pod-1", "pod-2", "pod-3"}
			for _, pod := range pods {
				o.run(pod, most)
			}
			o.called(increaseSize)
			slow.off.Store(true)
			if first := o.tap.made(increaseSize)[0]; (first.code == codes.OK) != test.inTime {
				t.Errorf("the scenario misses its point: the first answer is %s", first)
			}
			want := map[string]int{}
			for _, pod := range pods {
				want[o.running(pod)] = 1
			}
			o.stays(2*delayAfterAdd, func() string {
				if on := o.on(); len(on) > len(pods) {
					return "too many are on: " + strings.Join(on, ", ")
				}
				return ""
			})
			o.boots(want)
			if slow.delayed.Load() == 0 {
				t.Error("no create was slow: the scenario misses its point")
			}
		})
	}
}

// slowCreates delays the creates of claims. Whoever gives up waiting does not stop them.
type slowCreates struct {
	by      time.Duration
	off     atomic.Bool
	delayed atomic.Int32
}

func (s *slowCreates) slowDown(config *rest.Config) {
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return slowRoad{s, next} })
}

type slowRoad struct {
	*slowCreates
	next http.RoundTripper
}

func (r slowRoad) RoundTrip(request *http.Request) (*http.Response, error) {
	if request.Method != http.MethodPost || !strings.HasSuffix(request.URL.Path, "/nodeclaims") || r.off.Load() {
		return r.next.RoundTrip(request)
	}
	r.delayed.Add(1)
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	onItsWay := request.Clone(context.WithoutCancel(request.Context()))
	onItsWay.Body = io.NopCloser(bytes.NewReader(body))
	type answer struct {
		response *http.Response
		err      error
	}
	answered := make(chan answer, 1)
	go func() {
		time.Sleep(r.by)
		response, err := r.next.RoundTrip(onItsWay)
		answered <- answer{response, err}
	}()
	select {
	case a := <-answered:
		return a.response, a.err
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
}

// TestOneForeignNodeSpoilsTheBatch asks for a ready machine and a node that nobody knows in one call: it is refused before
// anything is written, and nothing goes down. Asked for alone, twice, the machine goes down once.
func TestOneForeignNodeSpoilsTheBatch(t *testing.T) {
	o := newHome(t)
	o.workers("worker-1")
	if _, err := o.rpc.NodeGroupIncreaseSize(t.Context(), &pb.NodeGroupIncreaseSizeRequest{Id: "workers", Delta: 1}); err != nil {
		t.Fatal(err)
	}
	o.ready("worker-1")
	mine := &pb.ExternalGrpcNode{Name: "worker-1", ProviderID: v2.ProviderIDPrefix + "worker-1"}
	foreign := &pb.ExternalGrpcNode{Name: "stranger", ProviderID: "aws:///stranger"}
	_, err := o.rpc.NodeGroupDeleteNodes(t.Context(), &pb.NodeGroupDeleteNodesRequest{Id: "workers", Nodes: []*pb.ExternalGrpcNode{mine, foreign}})
	if status.Code(err) != codes.InvalidArgument {
		t.Errorf("answered %v, want InvalidArgument", err)
	}
	o.stays(3*time.Second, func() string {
		kubeNode, err := o.kubeNode(t.Context(), "worker-1")
		switch {
		case err != nil || kubeNode == nil || kubeNode.Spec.Unschedulable:
			return "the kubeNode is gone or cordoned"
		case len(o.room.Log(machineroom.Is(machineroom.SoftOffRequested))) > 0:
			return "the machine was asked to shut down"
		}
		return ""
	})
	for range 2 {
		if _, err := o.rpc.NodeGroupDeleteNodes(t.Context(), &pb.NodeGroupDeleteNodesRequest{
			Id: "workers", Nodes: []*pb.ExternalGrpcNode{mine},
		}); err != nil {
			t.Error(err)
		}
	}
	o.off("worker-1")
	o.boots(map[string]int{"worker-1": 1})
	if asked := len(o.room.Log(machineroom.Is(machineroom.SoftOffRequested))); asked != 1 {
		t.Errorf("the machine was asked to shut down %d times", asked)
	}
}
