package pool

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func floorOfOne(g *v2.Group) { g.Spec.MinSize = 1 }

// check compares a fault's kind and looks for words in its message.
func check(t *testing.T, err error, kind FaultKind, says string) {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) {
		fault = &Fault{}
	}
	if fault.Kind != kind {
		t.Fatalf("got fault %q (%v), want %q", fault.Kind, err, kind)
	}
	if !strings.Contains(fault.Message, says) {
		t.Errorf("message %q does not say %q", fault.Message, says)
	}
}

func TestPlanIncrease(t *testing.T) {
	used := func(ago time.Duration) func(*v2.Node) {
		return func(s *v2.Node) { s.Status.LastShutdownTime = at(-ago) }
	}
	for name, test := range map[string]struct {
		objects []metav1.Object
		delta   int32
		want    []string
		fault   FaultKind
		says    string
	}{
		"the cheapest first, one without a price last": {
			objects: []metav1.Object{group(), slot("a"), slot("b", price("0.3")), slot("c", price("0.05"))}, delta: 1, want: []string{"c", "b", "a"},
		},
		"a price is a number, not a text": {
			objects: []metav1.Object{group(), slot("a", price("9")), slot("b", price("10"))}, delta: 1, want: []string{"a", "b"},
		},
		"a failure outweighs the price": {
			objects: []metav1.Object{group(), slot("a", price("0.1"), failuresOf(1, time.Hour)), slot("b", price("0.9"))}, delta: 2, want: []string{"b", "a"},
		},
		"an old failure is forgotten": {
			objects: []metav1.Object{group(), slot("a", price("0.1"), failuresOf(1, 7*time.Hour)), slot("b", price("0.9"))}, delta: 1, want: []string{"a", "b"},
		},
		"then the least recently used, then by name": {
			objects: []metav1.Object{group(), slot("a", used(time.Minute)), slot("b", used(time.Hour)), slot("d"), slot("c")}, delta: 4,
			want: []string{"c", "d", "b", "a"},
		},
		"more than is offerable is refused with every reason": {
			objects: []metav1.Object{group(), slot("a"), slot("b", suspended), slot("c"), claim("c", 1, v2.ClaimBooting)}, delta: 2,
			fault: Refused, says: "no free node slot: group g is asked for 2 more, 1 of its 3 slots are offerable; b: held: spec.suspend is true; c: claim c-1 is booting",
		},
		"an absurd delta":    {objects: []metav1.Object{group(), slot("a")}, delta: math.MaxInt32, fault: Refused, says: "no free node slot"},
		"zero":               {objects: []metav1.Object{group(), slot("a")}, fault: Malformed, says: "is 0"},
		"the smallest delta": {objects: []metav1.Object{group(), slot("a")}, delta: math.MinInt32, fault: Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			slots, err := PlanIncrease(view(test.objects...), test.delta)
			check(t, err, test.fault, test.says)
			var got []string
			for _, s := range slots {
				got = append(got, s.Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPlanDecrease(t *testing.T) {
	for name, test := range map[string]struct {
		objects []metav1.Object
		delta   int32
		pending []string
		errored int
		fault   FaultKind
		says    string
	}{
		"nothing lives: already so":        {objects: []metav1.Object{group(), slot("a")}, delta: -1},
		"what goes down is not in the way": {objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady, marked)}, delta: -1},
		"the oldest pending first": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 2, ""), claim("b", 1, v2.ClaimPending)}, delta: -1, pending: []string{"b-1"},
		},
		"capped to what is pending": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), slot("c"), claim("a", 1, ""), claim("b", 1, v2.ClaimBooting), claim("c", 1, v2.ClaimReady)},
			delta:   -3, pending: []string{"a-1"},
		},
		"the smallest delta does not overflow": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "")}, delta: math.MinInt32, pending: []string{"a-1"},
		},
		"two pending claims of one slot are one unit": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 2, ""), claim("a", 1, "")}, delta: -1, pending: []string{"a-1", "a-2"},
		},
		"a newer pending claim beside a ready one is no unit": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), claim("a", 2, "")}, delta: -1,
			fault: Busy, says: "0 booting, 1 ready",
		},
		"a claim whose startup Job runs was bought, though its status is gone": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, ""), jobNamed("a-1-up-1", "a")}, delta: -1, fault: Busy, says: "1 booting",
		},
		"a claim that waits for another's Job was not": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, ""), jobNamed("a-0-down-1", "a")}, delta: -1, pending: []string{"a-1"},
		},
		"all committed": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), slot("c"), claim("a", 1, v2.ClaimBooting), claim("b", 1, v2.ClaimBooting), claim("c", 1, v2.ClaimReady)},
			delta:   -1, fault: Busy, says: "2 booting, 1 ready",
		},
		"the floor": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), claim("a", 1, "")}, delta: -1, fault: Refused, says: "would have 0 machines, below its minSize of 1",
		},
		"the floor is judged on the size the call can produce": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), slot("b"), claim("a", 1, ""), claim("b", 1, v2.ClaimReady)}, delta: -2, pending: []string{"a-1"},
		},
		"a failed boot goes first, and no floor keeps it": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded))}, delta: -1, errored: 1,
		},
		"zero":     {objects: []metav1.Object{group(), slot("a")}, fault: Malformed, says: "is 0"},
		"positive": {objects: []metav1.Object{group(), slot("a")}, delta: 1, fault: Malformed},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := PlanDecrease(view(test.objects...), test.delta)
			check(t, err, test.fault, test.says)
			var pending []string
			for _, unit := range plan.Pending {
				pending = append(pending, claimNames(unit)...)
			}
			if diff := cmp.Diff(test.pending, pending); diff != "" {
				t.Errorf("pending (-want +got):\n%s", diff)
			}
			if len(plan.Errored) != test.errored {
				t.Errorf("errored %v, want %d", claimNames(plan.Errored), test.errored)
			}
		})
	}
}

func claimNames(claims []*v2.NodeClaim) (list []string) {
	for _, c := range claims {
		list = append(list, c.Name)
	}
	return list
}

func TestPlanDelete(t *testing.T) {
	byName := func(names ...string) (refs []NodeRef) {
		for _, name := range names {
			refs = append(refs, NodeRef{Name: "k-" + name})
		}
		return refs
	}
	id := func(id string) []NodeRef { return []NodeRef{{ProviderID: id, Name: id}} }
	for name, test := range map[string]struct {
		objects []metav1.Object
		nodes   []NodeRef
		claims  []string
		errored []string
		fault   FaultKind
		says    string
	}{
		"a running machine by its kubelet's name": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady)}, nodes: byName("a"), claims: []string{"a-1"},
		},
		"an invented node by the id": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimBooting)}, nodes: id("homelab://a"), claims: []string{"a-1"},
		},
		"the id its kubeNode carries": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), kubeNode("a", "True", "k3s://x")}, nodes: id("k3s://x"), claims: []string{"a-1"},
		},
		"our id though the kubeNode carries another": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), kubeNode("a", "True", "k3s://x")}, nodes: id("homelab://a"), claims: []string{"a-1"},
		},
		"the id of one and the name of another": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, v2.ClaimReady), claim("b", 1, v2.ClaimReady)},
			nodes:   []NodeRef{{ProviderID: "homelab://a", Name: "k-b"}},
			fault:   Malformed, says: "node k-b (homelab://a) is two machines: its providerID is that of slot a, its name that of slot b",
		},
		"its own name, and an id that its kubeNode carries though another slot is called so": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, v2.ClaimReady), claim("b", 1, v2.ClaimReady), kubeNode("a", "True", "homelab://b")},
			nodes:   []NodeRef{{ProviderID: "homelab://b", Name: "k-a"}}, claims: []string{"a-1"},
		},
		"the id, with a name that is nobody's": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady)},
			nodes:   []NodeRef{{ProviderID: "homelab://a", Name: "renamed"}}, claims: []string{"a-1"},
		},
		"the name, with an id that is nobody's": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady)},
			nodes:   []NodeRef{{ProviderID: "k3s://a", Name: "k-a"}}, claims: []string{"a-1"},
		},
		"both claims of a slot end": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), claim("a", 2, "")}, nodes: byName("a"), claims: []string{"a-1", "a-2"},
		},
		"named twice, ended once": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady)}, nodes: append(byName("a"), id("homelab://a")...), claims: []string{"a-1"},
		},
		"asked again: the delete is finished": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), claim("a", 1, v2.ClaimReady, marked)}, nodes: byName("a"), claims: []string{"a-1"},
		},
		"no live claim: already so": {objects: []metav1.Object{group(), slot("a")}, nodes: byName("a")},
		"a failed boot is answered and not deleted": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), stillReversing)},
			nodes:   id("homelab://a"), errored: []string{"a-1"},
		},
		"one stranger spoils the batch": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady)}, nodes: append(byName("a"), NodeRef{Name: "stranger"}),
			fault: Malformed, says: "node stranger",
		},
		"a machine that another group's claim owns": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady, of("h"))}, nodes: byName("a"), fault: Malformed,
		},
		"a slot that moved is still of the group of its newest claim": {
			objects: []metav1.Object{group(), slot("a", moved), claim("a", 1, v2.ClaimCompleted)}, nodes: byName("a"),
		},
		"a held machine stays": {
			objects: []metav1.Object{group(), slot("a", heldUntil("soon")), claim("a", 1, v2.ClaimReady)}, nodes: byName("a"), fault: Refused, says: "me: new fan",
		},
		"a held pending claim goes": {
			objects: []metav1.Object{group(), slot("a", suspended), claim("a", 1, "")}, nodes: id("homelab://a"), claims: []string{"a-1"},
		},
		"the floor keeps a running machine": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), claim("a", 1, v2.ClaimReady)}, nodes: byName("a"), fault: Refused, says: "below its minSize of 1",
		},
		"the floor keeps no machine that does not run": {
			objects: []metav1.Object{group(floorOfOne), slot("a"), claim("a", 1, v2.ClaimBooting)}, nodes: byName("a"), claims: []string{"a-1"},
		},
		"nobody":   {objects: []metav1.Object{group(), slot("a")}, fault: Malformed},
		"nameless": {objects: []metav1.Object{group(), slot("a")}, nodes: []NodeRef{{}}, fault: Malformed, says: "neither"},
	} {
		t.Run(name, func(t *testing.T) {
			plan, err := PlanDelete(view(test.objects...), test.nodes)
			check(t, err, test.fault, test.says)
			if test.fault != "" {
				return
			}
			if diff := cmp.Diff(test.claims, claimNames(plan.Claims)); diff != "" {
				t.Errorf("claims (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.errored, claimNames(plan.Errored)); diff != "" {
				t.Errorf("errored (-want +got):\n%s", diff)
			}
		})
	}
}
