package conformance

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

func objectNamed(name string) corev1.ObjectReference { return corev1.ObjectReference{Name: name} }

// TestTwoProvidersNeverShareASlot lets two servers with caches of their own, one of them two seconds late, hand out one
// pool to many callers at once, over and over. No slot ever has two claims, and as many calls succeed as there are slots.
func TestTwoProvidersNeverShareASlot(t *testing.T) {
	const slots, callers, rounds = 8, 24, 5
	h := newHouse(t)
	h.group("g", 0)
	h.slots(slots)
	providers := []pb.CloudProviderClient{h.serve(h.cp.Config(), 0), h.serve(h.cp.Config(), 2*time.Second)}
	for round := range rounds {
		var succeeded atomic.Int32
		var calls sync.WaitGroup
		for i := range callers {
			calls.Go(func() {
				switch err := increase(t, providers[i%2], "g", 1); status.Code(err) {
				case codes.OK:
					succeeded.Add(1)
				case codes.FailedPrecondition, codes.Unavailable:
				default:
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		calls.Wait()
		claims := h.claims()
		for slot, list := range claims {
			if len(list) != 1 {
				t.Errorf("round %d: slot %s has %d claims", round, slot, len(list))
			}
		}
		if got := int(succeeded.Load()); got != len(claims) || got > slots || got == 0 {
			t.Fatalf("round %d: %d calls succeeded, %d of %d slots are taken", round, got, len(claims), slots)
		}
		for _, list := range claims {
			for _, c := range list {
				if err := h.Delete(t.Context(), &c); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestAnOlderClaimOfAPersonKeepsItsSlot mixes hand-made claims in: a provider that meets an older one after its own
// create takes its own back.
func TestAnOlderClaimOfAPersonKeepsItsSlot(t *testing.T) {
	const slots = 12
	h := newHouse(t)
	h.group("g", 0)
	h.slots(slots)
	rpc := h.serve(h.cp.Config(), 0)
	var work sync.WaitGroup
	for i := range slots {
		work.Go(func() {
			by := "g-0" + string(rune('0'+i))
			if i > 9 {
				by = "g-1" + string(rune('0'+i-10))
			}
			claim := &v2.NodeClaim{Spec: v2.NodeClaimSpec{
				SlotRef: objectNamed(by), Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "g"}, RequestedBy: "somebody",
			}}
			claim.Name, claim.Namespace = by+"-manual", h.namespace
			if i%2 == 0 {
				if err := h.Create(t.Context(), claim); err != nil {
					t.Error(err)
				}
			}
		})
		work.Go(func() {
			err := increase(t, rpc, "g", 1)
			switch status.Code(err) {
			case codes.OK, codes.FailedPrecondition, codes.Unavailable:
			default:
				t.Error(err)
			}
		})
	}
	work.Wait()
	for slot, list := range h.claims() {
		if len(list) == 1 {
			continue
		}
		// Two can stay only where the person came second: that one supersedes ours.
		ours, theirs := list[0], list[1]
		if ours.Spec.RequestedBy == "somebody" {
			ours, theirs = theirs, ours
		}
		if len(list) > 2 || theirs.CreationTimestamp.Time.Before(ours.CreationTimestamp.Time) {
			t.Errorf("slot %s: ours %s is younger than the person's %s and stays", slot, ours.CreationTimestamp, theirs.CreationTimestamp)
		}
	}
}
