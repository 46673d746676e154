package conformance

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
)

// want holds an error to a code and to words.
func want(t *testing.T, err error, code codes.Code, says ...string) {
	t.Helper()
	if status.Code(err) != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	for _, words := range says {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("%q does not say %q", err, words)
		}
	}
}

func TestIncreaseMakesClaimsThatSayWhoAsked(t *testing.T) {
	h := newHouse(t)
	h.group("g", 0)
	h.slots(3)
	rpc := h.serve(h.cp.Config(), 0)
	want(t, increase(t, rpc, "g", 2), codes.OK)
	if got := target(t, rpc); got != 2 {
		t.Errorf("the next read sees a target of %d", got)
	}
	claims := h.claims()
	if len(claims) != 2 {
		t.Fatalf("claims on %d slots", len(claims))
	}
	for slot, list := range claims {
		c := list[0]
		if c.Labels[v2.LabelGroup] != "g" || c.Labels[v2.LabelNode] != slot || c.Spec.RequestedBy != "cluster-autoscaler" ||
			c.Spec.Episode != 1 || c.Annotations[v2.AnnotationCallID] == "" || !metav1.IsControlledBy(&c, h.slot(slot)) {
			t.Errorf("claim %+v", c)
		}
		if diff := cmp.Diff(v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "g", Delta: 2}, c.Spec.Request); diff != "" {
			t.Errorf("request (-want +got):\n%s", diff)
		}
		if got := c.Spec.DeadlineAt.Sub(c.Spec.RequestedAt.Time); got != 12*time.Minute+10*time.Second {
			t.Errorf("the budget is %s", got)
		}
	}
}

func (h house) slot(name string) *v2.Node {
	h.t.Helper()
	slot := &v2.Node{}
	if err := h.Get(h.t.Context(), client.ObjectKey{Namespace: h.namespace, Name: name}, slot); err != nil {
		h.t.Fatal(err)
	}
	return slot
}

func TestOwnWritesAreReadAtOnceThroughALateCache(t *testing.T) {
	h := newHouse(t)
	h.group("g", 0)
	h.slots(5)
	rpc := h.serve(h.cp.Config(), 2*time.Second)
	h.until("the late cache knows the slots", func(ctx context.Context) bool {
		groups, err := rpc.NodeGroups(ctx, &pb.NodeGroupsRequest{})
		return err == nil && len(groups.GetNodeGroups()) == 1 && groups.GetNodeGroups()[0].GetMaxSize() == 5
	})
	for n := range int32(5) {
		want(t, increase(t, rpc, "g", 1), codes.OK)
		if got := target(t, rpc); got != n+1 {
			t.Fatalf("after %d increases the target is %d", n+1, got)
		}
	}
	want(t, increase(t, rpc, "g", 1), codes.FailedPrecondition, "no free node slot")
	for n := range int32(5) {
		want(t, decrease(t, rpc, "g", -1), codes.OK)
		if got := target(t, rpc); got != 4-n {
			t.Fatalf("after %d decreases the target is %d", n+1, got)
		}
	}
}

func TestCodesOfMutations(t *testing.T) {
	h := newHouse(t)
	h.group("g", 1)
	h.group("empty", 0)
	h.create(&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "people"}, Spec: v2.GroupSpec{Engine: v2.EngineNone}})
	h.slots(2)
	rpc := h.serve(h.cp.Config(), 0)
	want(t, increase(t, rpc, "g", 1), codes.OK)

	for name, test := range map[string]struct {
		err  error
		code codes.Code
		says string
	}{
		"increase without id":                {increase(t, rpc, "", 1), codes.InvalidArgument, "empty"},
		"increase an unknown group":          {increase(t, rpc, "nobody", 1), codes.NotFound, "nobody"},
		"increase a name no group can have":  {increase(t, rpc, "../../secrets", 1), codes.NotFound, "secrets"},
		"increase a group of people's":       {increase(t, rpc, "people", 1), codes.NotFound, "people"},
		"increase by nothing":                {increase(t, rpc, "g", 0), codes.InvalidArgument, "0"},
		"increase by less":                   {increase(t, rpc, "g", math.MinInt32), codes.InvalidArgument, "-2147483648"},
		"increase by more than there is":     {increase(t, rpc, "g", 2), codes.FailedPrecondition, "no free node slot"},
		"increase a group without slots":     {increase(t, rpc, "empty", 1), codes.FailedPrecondition, "0 of its 0"},
		"decrease an unknown group":          {decrease(t, rpc, "nobody", -1), codes.NotFound, "nobody"},
		"decrease by nothing":                {decrease(t, rpc, "g", 0), codes.InvalidArgument, "0"},
		"decrease a group at nothing":        {decrease(t, rpc, "empty", -1), codes.OK, ""},
		"decrease below the floor":           {decrease(t, rpc, "g", -1), codes.FailedPrecondition, "minSize of 1"},
		"delete from an unknown group":       {remove(t, rpc, "nobody", "g-00"), codes.NotFound, "nobody"},
		"delete nobody":                      {remove(t, rpc, "g"), codes.InvalidArgument, "no node"},
		"delete a stranger":                  {remove(t, rpc, "g", "stranger"), codes.InvalidArgument, "stranger"},
		"delete a slot that nobody asked of": {remove(t, rpc, "g", "g-01"), codes.OK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if test.code == codes.OK {
				want(t, test.err, codes.OK)
				return
			}
			want(t, test.err, test.code, test.says)
		})
	}
}

func TestDecreaseTakesOnlyWhatIsPending(t *testing.T) {
	h := newHouse(t)
	h.group("g", 0)
	h.slots(3)
	rpc := h.serve(h.cp.Config(), 0)
	want(t, increase(t, rpc, "g", 3), codes.OK)
	h.advance("g-00", committed(v2.ClaimBooting))
	h.advance("g-01", committed(v2.ClaimReady))
	want(t, decrease(t, rpc, "g", -3), codes.OK)
	if got := len(h.claims()); got != 2 {
		t.Fatalf("claims on %d slots stay, want the two that are committed", got)
	}
	want(t, decrease(t, rpc, "g", -1), codes.Unavailable, "1 booting", "1 ready")
}

func TestDeleteNodesMarksAndDeletes(t *testing.T) {
	h := newHouse(t)
	h.group("g", 0)
	h.slots(2)
	rpc := h.serve(h.cp.Config(), 0)
	want(t, increase(t, rpc, "g", 2), codes.OK)
	h.advance("g-00", committed(v2.ClaimReady))
	before := h.claims()

	want(t, remove(t, rpc, "g", "g-00", "stranger"), codes.InvalidArgument, "stranger")
	if diff := cmp.Diff(before, h.claims()); diff != "" {
		t.Fatalf("a refused batch wrote:\n%s", diff)
	}
	for range 2 {
		want(t, remove(t, rpc, "g", "g-00", "g-01"), codes.OK)
	}
	claims := h.claims()
	if len(claims["g-01"]) != 0 {
		t.Error("a pending claim was not deleted")
	}
	ready := claims["g-00"][0]
	wanted := v2.ClaimRequest{Call: v2.CallDeleteNodes, Group: "g", Delta: 2, Nodes: []string{"g-00", "g-01"}}
	if diff := cmp.Diff(wanted, ready.Spec.Request); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	if ready.DeletionTimestamp == nil {
		t.Error("the ready claim was marked and not deleted")
	}
	if got := target(t, rpc); got != 0 {
		t.Errorf("the target is still %d", got)
	}
}

func TestAFailedBootIsAnsweredByDeleteNodes(t *testing.T) {
	h := newHouse(t)
	h.group("g", 1)
	h.slots(1)
	rpc := h.serve(h.cp.Config(), 0)
	want(t, increase(t, rpc, "g", 1), codes.OK)
	h.advance("g-00", func(c *v2.NodeClaim) {
		now := metav1.Now()
		c.Status.Phase, c.Status.Reason, c.Status.FinishedAt = v2.ClaimFailed, v2.ReasonDeadlineExceeded, &now
	})
	var shown *pb.Instance
	h.until("the client is told of the failure", func(ctx context.Context) bool {
		list, err := rpc.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: "g"})
		if err != nil || len(list.GetInstances()) != 1 {
			return false
		}
		shown = list.GetInstances()[0]
		return shown.GetStatus().GetErrorInfo().GetErrorCode() == "DeadlineExceeded"
	})
	_, err := rpc.NodeGroupDeleteNodes(t.Context(), &pb.NodeGroupDeleteNodesRequest{Id: "g", Nodes: []*pb.ExternalGrpcNode{
		{Name: shown.GetId(), ProviderID: shown.GetId(), Annotations: map[string]string{"k8s.io/cluster-autoscaler/fake-node-reason": "create-error"}},
	}})
	want(t, err, codes.OK)
	if got := target(t, rpc); got != 0 {
		t.Errorf("the target is still %d", got)
	}
	claim := h.claims()["g-00"][0]
	if claim.Status.EndedBy == nil || claim.Status.EndedBy.Call != v2.CallDeleteNodes || claim.DeletionTimestamp != nil || claim.Spec.Request.Call != v2.CallIncreaseSize {
		t.Errorf("the failed claim is %+v", claim)
	}
}

func TestASlotTakenByAnotherLeadsToTheNext(t *testing.T) {
	h := newHouse(t)
	h.group("g", 0)
	h.slots(2)
	first := h.slot("g-00")
	// Somebody else holds the very name, as a provider does that was faster.
	h.create(&v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: pool.ClaimName(first, 1)},
		Spec: v2.NodeClaimSpec{SlotRef: objectNamed("elsewhere"),
			Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "elsewhere"}},
	})
	rpc := h.serve(h.cp.Config(), 0)
	want(t, increase(t, rpc, "g", 1), codes.OK)
	if claims := h.claims(); len(claims["g-01"]) != 1 || len(claims["g-00"]) != 0 {
		t.Errorf("claims are %v", claims)
	}
	want(t, increase(t, rpc, "g", 1), codes.Unavailable, "0 of 1")
}

// TestEveryWriteMeetsEveryMisfortune refuses each write of a call once, and loses the answer to each once. Whatever
// happens, a call that says OK has done all, and one that fails has left nothing behind.
func TestEveryWriteMeetsEveryMisfortune(t *testing.T) {
	h := newHouse(t)
	between, err := proxy.Start(h.cp.Config(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(between.Close)
	h.group("g", 0)
	h.slots(3)
	m := misfortune{house: h, between: between, rpc: h.serve(between.Config(), 0)}
	for _, fault := range []proxy.Fault{
		{Kind: proxy.Refuse, Status: 409}, {Kind: proxy.Refuse, Status: 500}, {Kind: proxy.Refuse, Status: 403}, {Kind: proxy.LoseAnswer},
	} {
		for fault.At = 1; fault.At <= 2; fault.At++ {
			t.Run(fmt.Sprintf("increase, %s (%d)", fault, fault.Status), func(t *testing.T) { m.increase(t, fault) })
		}
		for fault.At = 1; fault.At <= 4; fault.At++ {
			t.Run(fmt.Sprintf("delete, %s (%d)", fault, fault.Status), func(t *testing.T) { m.remove(t, fault) })
		}
		fault.At = 1
		t.Run(fmt.Sprintf("decrease, %s (%d)", fault, fault.Status), func(t *testing.T) { m.decrease(t, fault) })
	}
}

// misfortune is a provider whose writes pass through a proxy.
type misfortune struct {
	house   house
	between *proxy.Proxy
	rpc     pb.CloudProviderClient
}

// clear takes every claim away and waits until the provider has seen it.
func (m misfortune) clear(t *testing.T) {
	t.Helper()
	for _, list := range m.house.claims() {
		for _, c := range list {
			c.Finalizers = nil
			if err := client.IgnoreNotFound(m.house.Update(t.Context(), &c)); err != nil {
				t.Fatal(err)
			}
			if err := client.IgnoreNotFound(m.house.Delete(t.Context(), &c)); err != nil {
				t.Fatal(err)
			}
		}
	}
	m.house.until("the provider sees the pool empty", func(ctx context.Context) bool {
		groups, err := m.rpc.NodeGroups(ctx, &pb.NodeGroupsRequest{})
		list, listErr := m.rpc.NodeGroupNodes(ctx, &pb.NodeGroupNodesRequest{Id: "g"})
		return err == nil && listErr == nil && groups.GetNodeGroups()[0].GetMaxSize() == 3 && len(list.GetInstances()) == 0
	})
}

// meets makes a call that meets the fault.
func (m misfortune) meets(fault proxy.Fault, call func() error) error {
	m.between.Arm(fault)
	defer m.between.Arm(proxy.Fault{})
	return call()
}

func (m misfortune) increase(t *testing.T, fault proxy.Fault) {
	m.clear(t)
	err := m.meets(fault, func() error { return increase(t, m.rpc, "g", 2) })
	left := len(m.house.claims())
	if err == nil && left != 2 || err != nil && left != 0 {
		t.Errorf("answered %v and left %d claims", err, left)
	}
	if fault.Kind == proxy.LoseAnswer && err != nil {
		t.Errorf("a lost answer was not found out: %v", err)
	}
}

func (m misfortune) remove(t *testing.T, fault proxy.Fault) {
	m.clear(t)
	want(t, increase(t, m.rpc, "g", 2), codes.OK)
	slots := make([]string, 0, 2)
	for slot := range m.house.claims() {
		slots = append(slots, slot)
		m.house.advance(slot, committed(v2.ClaimReady))
	}
	err := m.meets(fault, func() error { return remove(t, m.rpc, "g", slots...) })
	if fault.Status == 403 {
		want(t, err, codes.Internal)
		want(t, remove(t, m.rpc, "g", slots...), codes.OK)
	} else {
		want(t, err, codes.OK)
	}
	for slot, list := range m.house.claims() {
		if c := list[0]; c.Spec.Request.Call != v2.CallDeleteNodes || c.DeletionTimestamp == nil {
			t.Errorf("slot %s: claim is %s, deleted %v", slot, c.Spec.Request.Call, c.DeletionTimestamp)
		}
	}
}

func (m misfortune) decrease(t *testing.T, fault proxy.Fault) {
	m.clear(t)
	want(t, increase(t, m.rpc, "g", 2), codes.OK)
	want(t, m.meets(fault, func() error { return decrease(t, m.rpc, "g", -2) }), codes.OK)
	left := len(m.house.claims())
	if fault.Status != 403 && left != 0 || fault.Status == 403 && left != 1 {
		t.Errorf("%d claims stay", left)
	}
}
