package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/kube"
	pb "homecluster.dev/autoscaler/proto/externalgrpc"
)

const (
	// createsAtOnce bounds the creates in progress of one call.
	createsAtOnce = 8
	// createTries bounds how often a create whose answer is unknown is sent again under the same name.
	createTries = 3
	// answerReserve is what is kept of the call's deadline for taking back what it made.
	answerReserve = 500 * time.Millisecond
	// withdrawWithin bounds taking back, which goes on after the call's deadline: the client believes that it got nothing.
	withdrawWithin = 10 * time.Second
)

// NodeGroupIncreaseSize makes delta claims on delta offerable slots, or none.
func (s *Server) NodeGroupIncreaseSize(ctx context.Context, request *pb.NodeGroupIncreaseSizeRequest) (*pb.NodeGroupIncreaseSizeResponse, error) {
	view, release, err := s.begin(ctx, request.GetId())
	if err != nil {
		return nil, err
	}
	defer release()
	slots, err := pool.PlanIncrease(view, request.GetDelta())
	if err != nil {
		return nil, err
	}
	t := &taking{server: s, view: view, queue: slots, want: int(request.GetDelta()), ask: pool.Ask{
		Call: v2.CallIncreaseSize, Delta: request.GetDelta(), By: requester, CallID: callID(),
	}}
	if err := t.run(ctx); err != nil {
		return nil, err
	}
	return &pb.NodeGroupIncreaseSizeResponse{}, nil
}

// taking is one call's way through the offerable slots until it has as many as it wants.
//
// Creating a claim is taking the slot: its name follows from the slot and the episode, so that of two providers that race
// only one create wins, and the loser takes the next slot.
type taking struct {
	server *Server
	view   pool.View
	ask    pool.Ask
	want   int
	queue  []pool.Slot
	made   []*v2.NodeClaim
	// doubt are creates whose answer was never learned; they are looked for when taking back.
	doubt []*v2.NodeClaim
	// last is why the newest slot was not got.
	last error
}

func (t *taking) run(ctx context.Context) error {
	before, cancel := t.server.reserve(ctx)
	defer cancel()
	for len(t.made) < t.want && len(t.queue) > 0 && before.Err() == nil {
		batch := t.queue[:min(t.want-len(t.made), len(t.queue))]
		t.queue = t.queue[len(batch):]
		fresh := t.create(before, batch)
		kept, err := t.yieldToOlder(before, fresh)
		t.made = append(t.made, kept...)
		if err != nil {
			t.last = err
			break
		}
	}
	if len(t.made) == t.want && ctx.Err() == nil {
		logr.FromContextOrDiscard(ctx).Info("claims made", "group", t.view.Name, "claims", names(t.made))
		return nil
	}
	text := t.shortfall(t.takeBack(ctx))
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", text, ctx.Err())
	}
	if t.last != nil {
		text += ": " + t.last.Error()
	}
	return pool.Faultf(pool.Busy, "%s", text)
}

// shortfall says how far a call came that did not get all it wanted, once the rest was taken back.
func (t *taking) shortfall(left []string) string {
	text := fmt.Sprintf("group %s got %d of %d machines", t.view.Name, len(t.made), t.want)
	switch {
	case len(left) > 0:
		text += ", and could not take back every request for one; still asked for by " + strings.Join(left, ", ")
	case len(t.made) > 0:
		text += " and gave them back"
	}
	return text
}

// reserve is the context for the writes of a call: it ends early enough for an answer within the call's deadline.
func (s *Server) reserve(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	left := deadline.Sub(s.clock.Now())
	return context.WithTimeout(ctx, left-min(answerReserve, left/5))
}

// create takes the slots at once and returns the claims that won.
func (t *taking) create(ctx context.Context, batch []pool.Slot) []*v2.NodeClaim {
	type result struct {
		claim, asked *v2.NodeClaim
		err          error
	}
	results := make([]result, len(batch))
	var group errgroup.Group
	group.SetLimit(createsAtOnce)
	for i, slot := range batch {
		group.Go(func() error {
			asked := pool.NewClaim(t.view, slot, t.ask)
			claim, err := t.server.createOnce(ctx, asked)
			results[i] = result{claim: claim, asked: asked, err: err}
			return nil
		})
	}
	// The functions return nil; each has its own result.
	_ = group.Wait()
	var won []*v2.NodeClaim
	for _, r := range results {
		switch {
		case r.err == nil:
			t.server.store.Wrote(r.claim)
			won = append(won, r.claim)
		case errors.Is(r.err, errUnknown):
			t.doubt, t.last = append(t.doubt, r.asked), r.err
		default:
			t.last = r.err
		}
	}
	return won
}

// errUnknown is a create of which nobody can say whether it took place.
var errUnknown = errors.New("the create's outcome is unknown")

// createOnce creates the claim, or finds the one that this very call created. A create without an answer is sent again
// under its name, which can succeed only once; what then exists is ours if it carries the call's id.
func (s *Server) createOnce(ctx context.Context, asked *v2.NodeClaim) (*v2.NodeClaim, error) {
	var last error
	for range createTries {
		claim, err := s.writer.CreateClaim(ctx, asked)
		switch kube.Classify(err) {
		case kube.None:
			return claim, nil
		case kube.Exists:
			there, readErr := s.live.Claim(ctx, asked.Namespace, asked.Name)
			if readErr == nil && there != nil && ours(there, asked) {
				return there, nil
			}
			if readErr == nil {
				return nil, err
			}
			last = readErr
		case kube.Transient:
			last = err
		default:
			return nil, err
		}
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("%w: %w", errUnknown, last)
}

func ours(there, asked *v2.NodeClaim) bool {
	id := asked.Annotations[v2.AnnotationCallID]
	return id != "" && there.Annotations[v2.AnnotationCallID] == id
}

// yieldToOlder reads the claims again and withdraws each fresh one that must give way to another live claim of its slot. It
// returns those that stay.
func (t *taking) yieldToOlder(ctx context.Context, fresh []*v2.NodeClaim) ([]*v2.NodeClaim, error) {
	if len(fresh) == 0 {
		return nil, nil
	}
	all, err := t.server.live.Claims(ctx, t.server.namespace)
	if err != nil {
		return fresh, err
	}
	var kept []*v2.NodeClaim
	for _, mine := range fresh {
		rival := slices.IndexFunc(all, func(c *v2.NodeClaim) bool { return givesWay(mine, c) })
		if rival < 0 {
			kept = append(kept, mine)
			continue
		}
		t.last = fmt.Errorf("slot %s was taken by claim %s", mine.Spec.SlotRef.Name, all[rival].Name)
		if gone, err := t.server.withdraw(ctx, mine); err != nil || !gone {
			kept = append(kept, mine)
		}
	}
	return kept, nil
}

// givesWay is whether our claim, made a moment ago, must be withdrawn for another one of its slot. Of any two claims that
// wait, and of which one at least is a provider's, exactly one gives way, whichever replica looks; one whose boot has begun
// gives way to none.
func givesWay(mine, other *v2.NodeClaim) bool {
	if other.UID == mine.UID || other.Spec.SlotRef.Name != mine.Spec.SlotRef.Name || !facts.Live(other) {
		return false
	}
	return facts.Phase(other) != v2.ClaimPending || precedence(other, mine) < 0
}

// precedence orders the claims of one slot, the one that stays first. Whoever creates later sees the other claim when it
// reads again, so the older one stays. Times of creation are whole seconds. Within one, a person's claim, which is of no
// episode, stays; of two providers' claims (a pause of one can leave it with the name of an episode that is over) the one
// of the higher episode stays, since it was made on the newer reading; and where a slot was made anew in between, so that
// both are of one episode, their names decide, which differ.
func precedence(a, b *v2.NodeClaim) int {
	return cmp.Or(
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(min(a.Spec.Episode, 1), min(b.Spec.Episode, 1)),
		cmp.Compare(b.Spec.Episode, a.Spec.Episode),
		cmp.Compare(a.Name, b.Name),
	)
}

// takeBack withdraws what the call made, as far as it is still pending, and returns the names of the claims that stay or
// may. A create of unknown outcome that took place after all is among what was made from then on.
func (t *taking) takeBack(ctx context.Context) (left []string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawWithin)
	defer cancel()
	log := logr.FromContextOrDiscard(ctx)
	for _, asked := range t.doubt {
		there, err := t.server.live.Claim(ctx, asked.Namespace, asked.Name)
		if err != nil {
			log.Error(err, "a create of unknown outcome could not be looked up", "claim", asked.Name)
			left = append(left, asked.Name)
		} else if there != nil && ours(there, asked) {
			t.made = append(t.made, there)
		}
	}
	for _, claim := range t.made {
		gone, err := t.server.withdraw(ctx, claim)
		if err != nil {
			log.Error(err, "a claim could not be withdrawn", "claim", claim.Name)
		}
		if !gone {
			left = append(left, claim.Name)
		}
	}
	return left
}

func names(claims []*v2.NodeClaim) []string {
	list := make([]string, len(claims))
	for i, claim := range claims {
		list[i] = claim.Name
	}
	return list
}
