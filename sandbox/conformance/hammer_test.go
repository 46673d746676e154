package conformance

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

var hammerCalls = flag.Int("conformance.calls", 500, "how many `increases` two providers are hammered with (10000 for the full proof)")

const (
	// hammerSlots is how many machines all callers fight for.
	hammerSlots = 12
	// hammerRound is how many calls are made between two looks at what they left.
	hammerRound = 50
	// hammerCallers is how many of them are under way at once.
	hammerCallers = 8
	// increaseSize is the call that is counted.
	increaseSize = "IncreaseSize"
	// somebody is whom hand-made claims name as their author.
	somebody = "somebody"
)

// TestTwoProvidersUnderTheHammer has two providers with caches of their own, one of them two seconds late, serve one group
// to many callers at once, while people make and delete claims by hand and machines boot and go off. After each round
// everything is held still and judged: no slot was handed out twice, and nobody was sold a machine that was somebody's.
func TestTwoProvidersUnderTheHammer(t *testing.T) {
	h := newHouse(t)
	h.group("g", 0)
	h.slots(hammerSlots)
	hammer := &hammer{
		yard: newYard(h), answers: map[string]int{},
		rpc: []pb.CloudProviderClient{h.serve(h.cp.Config(), 0), h.serve(h.cp.Config(), 2*time.Second)},
	}
	hammer.watchArrivals()
	for round := 0; hammer.increases.Load() < int64(*hammerCalls) && !t.Failed(); round++ {
		hammer.sell(round)
		hammer.settle(round)
		hammer.mix(round)
		hammer.settle(round)
	}
	t.Logf("%d increases among %d calls, on %d machines: %d machines sold, %d claims made by hand, of which %d came second to one of a provider; answers: %v",
		hammer.increases.Load(), hammer.calls.Load(), hammerSlots, hammer.sold.Load(), hammer.byHand.Load(), hammer.second, hammer.answers)
	if hammer.sold.Load() == 0 || hammer.byHand.Load() == 0 {
		t.Error("nothing was sold, or nothing was made by hand")
	}
}

type hammer struct {
	*yard
	rpc []pb.CloudProviderClient

	calls, increases, sold, byHand atomic.Int64
	// second counts the hand-made claims that came to a slot after a provider's.
	second int

	mu      sync.Mutex
	answers map[string]int
	// arrivals are the revisions of the API server at which claims came to be: creation timestamps have whole seconds.
	arrivals map[types.UID]uint64
}

// watchArrivals notes when each claim came to be.
func (m *hammer) watchArrivals() {
	m.t.Helper()
	m.arrivals = map[types.UID]uint64{}
	watching, err := client.NewWithWatch(m.cp.Config(), client.Options{Scheme: m.Scheme()})
	if err != nil {
		m.t.Fatal(err)
	}
	events, err := watching.Watch(m.t.Context(), &v2.NodeClaimList{}, client.InNamespace(m.namespace))
	if err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			claim, ok := event.Object.(*v2.NodeClaim)
			if !ok || event.Type != watch.Added {
				continue
			}
			revision, err := strconv.ParseUint(claim.ResourceVersion, 10, 64)
			if err != nil {
				m.t.Errorf("reading the revision of claim %s: %v", claim.Name, err)
			}
			m.mu.Lock()
			m.arrivals[claim.UID] = revision
			m.mu.Unlock()
		}
	}()
}

// arrived is the revision at which a claim that exists came to be.
func (m *hammer) arrived(claim *v2.NodeClaim) (revision uint64) {
	m.t.Helper()
	m.until("the watch has told of claim "+claim.Name, func(context.Context) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		revision = m.arrivals[claim.UID]
		return revision > 0
	})
	return revision
}

// note counts an answer, and fails for one that no caller may get.
func (m *hammer) note(rpc string, err error) {
	code := status.Code(err)
	m.calls.Add(1)
	if rpc == increaseSize {
		m.increases.Add(1)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answers[rpc+" "+code.String()]++
	switch code {
	case codes.OK, codes.FailedPrecondition, codes.Unavailable:
	default:
		m.t.Errorf("%s: %v", rpc, err)
	}
}

// round makes the calls of a round, so many at once.
func (m *hammer) round(call func(random *rand.Rand, rpc pb.CloudProviderClient)) {
	var callers sync.WaitGroup
	var left atomic.Int64
	left.Store(hammerRound)
	for i := range hammerCallers {
		callers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(m.calls.Load()), uint64(i)))
			for left.Add(-1) >= 0 {
				call(random, m.rpc[random.IntN(len(m.rpc))])
			}
		})
	}
	callers.Wait()
}

// sell asks for machines only, against people who take slots by hand. What the calls that succeeded asked for is to the
// machine what the providers' claims are more: nothing is sold twice, nothing is left behind by a call that failed.
func (m *hammer) sell(round int) {
	before := m.census()
	var sold atomic.Int64
	m.round(func(random *rand.Rand, rpc pb.CloudProviderClient) {
		if random.IntN(8) == 0 {
			m.takeByHand(random)
			return
		}
		delta := 1 + random.Int32N(2)
		err := increase(m.t, rpc, "g", delta)
		m.note(increaseSize, err)
		if err == nil {
			sold.Add(int64(delta))
		}
	})
	after := m.census()
	m.sold.Add(sold.Load())
	if got := after.providers - before.providers; int64(got) != sold.Load() {
		m.t.Errorf("round %d: %d machines were sold, and the providers have %d claims more", round, sold.Load(), got)
	}
	if after.slots > hammerSlots || after.providers > hammerSlots {
		m.t.Errorf("round %d: %d claims of the providers on %d slots", round, after.providers, after.slots)
	}
}

// mix makes calls of every kind while machines move and people meddle.
func (m *hammer) mix(round int) {
	ctx, cancel := context.WithCancel(m.t.Context())
	var moving sync.WaitGroup
	moving.Go(func() { m.moveMachines(ctx, uint64(round)) })
	m.round(func(random *rand.Rand, rpc pb.CloudProviderClient) {
		switch random.IntN(8) {
		case 0:
			m.meddle(random)
		case 1, 2, 3:
			delta := 1 + random.Int32N(3)
			err := increase(m.t, rpc, "g", delta)
			m.note(increaseSize, err)
			if err == nil {
				m.sold.Add(int64(delta))
			}
		case 4, 5:
			m.note("DecreaseTargetSize", decrease(m.t, rpc, "g", -1-random.Int32N(3)))
		default:
			m.note("DeleteNodes", remove(m.t, rpc, "g", slotAt(random), slotAt(random)))
		}
	})
	cancel()
	moving.Wait()
}

func slotAt(random *rand.Rand) string { return fmt.Sprintf("g-%02d", random.IntN(hammerSlots)) }

// takeByHand makes a person's claim where a slot looks free, as far as the webhook would let it pass.
func (m *hammer) takeByHand(random *rand.Rand) {
	slot := slotAt(random)
	if slices.ContainsFunc(m.peek(m.t.Context())[slot], facts.Live) {
		return
	}
	m.byHand.Add(1)
	if err := m.Client.Create(m.t.Context(), &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: slot + "-by-hand-" + string(uuid.NewUUID())[:5], Namespace: m.namespace},
		Spec: v2.NodeClaimSpec{SlotRef: objectNamed(slot), RequestedBy: somebody,
			Request: v2.ClaimRequest{Call: v2.CallCreate, Group: "g"}},
	}); err != nil {
		m.t.Errorf("making a claim by hand: %v", err)
	}
}

// meddle takes a slot by hand, or deletes whatever claim is on it.
func (m *hammer) meddle(random *rand.Rand) {
	claims := m.peek(m.t.Context())[slotAt(random)]
	if random.IntN(2) == 0 || len(claims) == 0 {
		m.takeByHand(random)
		return
	}
	if err := client.IgnoreNotFound(m.Delete(m.t.Context(), claims[random.IntN(len(claims))])); err != nil {
		m.t.Errorf("deleting a claim by hand: %v", err)
	}
}

// moveMachines boots what is asked for and switches off what is given back, as the controller would, one slot after
// another: it writes on what it saw, and starts nothing while two claims name a slot. Calls and people are in its way at
// every step, and whatever they won is looked at again.
func (m *hammer) moveMachines(ctx context.Context, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 0xfeed))
	for ctx.Err() == nil {
		for slot, claims := range m.peek(ctx) {
			for _, c := range claims {
				var err error
				switch phase := facts.Phase(c); {
				case c.DeletionTimestamp != nil:
					err = m.letGo(ctx, c)
				case len(claims) == 1 && phase == v2.ClaimPending && random.IntN(3) == 0:
					err = m.commit(ctx, slot, c)
				case len(claims) == 1 && phase == v2.ClaimBooting:
					c.Status.Phase = v2.ClaimReady
					err = m.Status().Update(ctx, c)
				}
				if err != nil && ctx.Err() == nil && !lost(err) {
					m.t.Errorf("moving slot %s: %v", slot, err)
				}
			}
		}
	}
}

// commit starts the boot of the claim that was seen: the slot knows its episode before the claim can go.
func (m *hammer) commit(ctx context.Context, slot string, claim *v2.NodeClaim) error {
	committed("")(claim)
	if err := m.Update(ctx, claim); err != nil {
		return err
	}
	if err := m.changeStatus(ctx, slot, func(slot *v2.Node) {
		slot.Status.Episode = max(slot.Status.Episode, claim.Spec.Episode)
	}); err != nil {
		return err
	}
	claim.Status.Phase = v2.ClaimBooting
	return m.Status().Update(ctx, claim)
}

// peek reads the claims and cares for no failure: the next look repeats it.
func (m *hammer) peek(ctx context.Context) map[string][]*v2.NodeClaim {
	var list v2.NodeClaimList
	if err := m.List(ctx, &list, client.InNamespace(m.namespace)); err != nil {
		return nil
	}
	bySlot := map[string][]*v2.NodeClaim{}
	for i := range list.Items {
		slot := list.Items[i].Spec.SlotRef.Name
		bySlot[slot] = append(bySlot[slot], &list.Items[i])
	}
	return bySlot
}

// lost is whether somebody else got to an object first.
func lost(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsInvalid(err) || apierrors.IsForbidden(err)
}

// letGo drops the finalizer of a claim.
func (m *hammer) letGo(ctx context.Context, claim *v2.NodeClaim) error {
	return retryConflict(func() error {
		fresh := &v2.NodeClaim{}
		if err := m.Get(ctx, client.ObjectKeyFromObject(claim), fresh); err != nil {
			return err
		}
		fresh.Finalizers = nil
		return m.Update(ctx, fresh)
	})
}

// census is what stands on the API server while nothing moves.
type census struct {
	// providers counts the live claims of the providers, and slots those that any live claim names.
	providers, slots int
}

func (m *hammer) census() census {
	var c census
	for _, claims := range m.claims() {
		taken := false
		for i := range claims {
			if !facts.Live(&claims[i]) {
				continue
			}
			taken = true
			if claims[i].Spec.RequestedBy != somebody {
				c.providers++
			}
		}
		if taken {
			c.slots++
		}
	}
	return c
}

// settle judges what a round left, with every call answered: one live claim on a slot at most. Two are left only by a
// person who came second, whom no provider can see coming; the controller gives the slot to the newer, and so does this.
// Then about half of the pool is emptied, so that the next round finds something to sell.
func (m *hammer) settle(round int) {
	ctx := m.t.Context()
	all := m.claims()
	for _, slot := range slices.Sorted(maps.Keys(all)) {
		var live []*v2.NodeClaim
		for i := range all[slot] {
			if claim := &all[slot][i]; facts.Live(claim) && claim.DeletionTimestamp == nil {
				live = append(live, claim)
			}
		}
		m.alone(round, slot, live)
		if len(live) <= 1 && (round+int(slot[len(slot)-1]))%2 != 0 {
			continue
		}
		for i := range all[slot] {
			claim := &all[slot][i]
			if err := client.IgnoreNotFound(m.Delete(ctx, claim)); err != nil {
				m.t.Errorf("emptying slot %s: %v", slot, err)
			}
			if err := client.IgnoreNotFound(m.letGo(ctx, claim)); err != nil {
				m.t.Errorf("emptying slot %s: %v", slot, err)
			}
		}
	}
}

// alone holds a slot's live claims to the law.
func (m *hammer) alone(round int, slot string, live []*v2.NodeClaim) {
	var sold []*v2.NodeClaim
	for _, claim := range live {
		if claim.Spec.RequestedBy != somebody {
			sold = append(sold, claim)
		}
	}
	if len(sold) > 1 {
		m.t.Errorf("round %d: slot %s was sold %d times: %v", round, slot, len(sold), m.told(live))
	}
	if len(sold) == 0 || len(live) == 1 {
		return
	}
	for _, claim := range live {
		switch {
		case claim.Spec.RequestedBy != somebody:
		case m.arrived(claim) < m.arrived(sold[0]):
			m.t.Errorf("round %d: slot %s was a person's and was sold: %v", round, slot, m.told(live))
		default:
			m.second++
		}
	}
}

func (m *hammer) told(claims []*v2.NodeClaim) []string {
	list := make([]string, len(claims))
	for i, c := range claims {
		list[i] = fmt.Sprintf("%s (arrived at %d, episode %d, %s)", c.Name, m.arrived(c), c.Spec.Episode, facts.Phase(c))
	}
	return list
}
