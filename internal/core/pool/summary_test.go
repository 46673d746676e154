package pool

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// line is an instance in short.
type line struct {
	ID    string
	State State
	Fault string
}

func lines(sum *Summary) (list []line) {
	for _, i := range sum.Instances {
		l := line{ID: i.ID, State: i.State}
		if i.Fault != nil {
			l.Fault = i.Fault.Code
		}
		list = append(list, l)
	}
	return list
}

func TestSummary(t *testing.T) {
	answered := func(c *v2.NodeClaim) { c.Status.EndedBy = &v2.ClaimEnd{Call: v2.CallDeleteNodes} }
	neverRan := func(c *v2.NodeClaim) {
		c.Status.Jobs = []v2.JobRecord{{Operation: v2.OperationStartup, Outcome: v2.JobNeverStarted}}
	}
	floor := func(n int32) func(*v2.Group) { return func(g *v2.Group) { g.Spec.MinSize = n } }
	for name, test := range map[string]struct {
		objects               []metav1.Object
		want                  []line
		target, minimum, most int32
	}{
		"nothing wanted": {objects: []metav1.Object{group(), slot("a"), slot("b")}, most: 2},
		"pending and booting are creating, ready is running": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), slot("c"), slot("d"),
				claim("a", 1, ""), claim("b", 1, v2.ClaimBooting), claim("c", 1, v2.ClaimReady)},
			want:   []line{{"homelab://a", Creating, ""}, {"homelab://b", Creating, ""}, {"homelab://c", Running, ""}},
			target: 3, most: 4,
		},
		"what goes down is listed and not counted": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, v2.ClaimReady, marked),
				claim("b", 1, v2.ClaimBooting, deleted)},
			want: []line{{"homelab://a", Deleting, ""}, {"homelab://b", Deleting, ""}},
		},
		"a pending claim that is going is not listed": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimPending, deleted)},
		},
		"the id is what the kubeNode carries": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), kubeNode("a", "True", "k3s://k-a")},
			want:    []line{{"k3s://k-a", Running, ""}}, target: 1, most: 1,
		},
		"the id is the declared one until there is a kubeNode": {
			objects: []metav1.Object{group(), slot("a", func(s *v2.Node) { s.Spec.ProviderID = "k3s://a" }), claim("a", 1, "")},
			want:    []line{{"k3s://a", Creating, ""}}, target: 1, most: 1,
		},
		"a machine that goes down keeps its id when its kubeNode is removed": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady, deleted,
				func(c *v2.NodeClaim) { c.Status.ProviderID = "k3s://a" })},
			want: []line{{"k3s://a", Deleting, ""}},
		},
		"a claim whose slot is gone is not wanted": {
			objects: []metav1.Object{group(), claim("a", 1, v2.ClaimReady)},
			want:    []line{{"homelab://a", Deleting, ""}},
		},
		"two live claims are one machine, as far along as the further one": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), claim("a", 2, "")},
			want:    []line{{"homelab://a", Running, ""}}, target: 1, most: 1,
		},
		"the newer claim's group has the machine": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, v2.ClaimReady), claim("a", 2, "", of("h"))},
		},
		"a slot that moved counts where its claim was made": {
			objects: []metav1.Object{group(), slot("a", moved), claim("a", 1, v2.ClaimReady)},
			want:    []line{{"homelab://a", Running, ""}}, target: 1, most: 1,
		},
		"a failed boot leaves the target while another slot can serve": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded))},
			most:    2,
		},
		"a failed boot that is being reversed is going down while another slot can serve": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), stillReversing)},
			want:    []line{{"homelab://a", Deleting, ""}}, most: 1,
		},
		"a failed boot stays in the target when no other slot can serve": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), stillReversing)},
			want:    []line{{"homelab://a", Errored, "DeadlineExceeded"}}, target: 1, most: 1,
		},
		"an errored slot is not offered at the same time": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonStartupJobFailed))},
			want:    []line{{"homelab://a", Errored, "StartupJobFailed"}}, target: 1, most: 1,
		},
		"a fault of the pool stays in the target though another slot is free": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, "", failed(v2.ReasonStartupJobTimeout), neverRan)},
			want:    []line{{"homelab://a", Errored, "StartupJobTimeout"}}, target: 1, most: 2,
		},
		"a failed boot of a pool that no client asks for is out at once": {
			objects: []metav1.Object{group(func(g *v2.Group) { g.Spec.Engine = v2.EngineNone }), slot("a"),
				claim("a", 1, "", failed(v2.ReasonDeadlineExceeded))}, most: 1,
		},
		"an answered failure is out": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded), answered)}, most: 1,
		},
		"a failure of more than two minutes ago is out": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded),
				func(c *v2.NodeClaim) { c.Status.FinishedAt = at(-2 * time.Minute) })}, most: 1,
		},
		"a claim made since then answers the failure": {
			objects: []metav1.Object{group(), slot("a"), slot("b"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded)),
				claim("b", 2, "", func(c *v2.NodeClaim) { c.CreationTimestamp = *at(-5 * time.Second) })},
			want: []line{{"homelab://b", Creating, ""}}, target: 1, most: 2,
		},
		"a failure within the second of its own request is shown": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonStartupJobFailed),
				func(c *v2.NodeClaim) { c.CreationTimestamp = *c.Status.FinishedAt })},
			want: []line{{"homelab://a", Errored, "StartupJobFailed"}}, target: 1, most: 1,
		},
		"a claim that lost its slot is no failed boot": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonSuperseded))}, most: 1,
		},
		"a machine that was ready and is gone is no failed boot": {
			objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonMachineGone))}, most: 1,
		},
		"the floor told is never above the ceiling": {
			objects: []metav1.Object{group(floor(5)), slot("a"), slot("b", suspended), claim("a", 1, v2.ClaimReady)},
			want:    []line{{"homelab://a", Running, ""}}, target: 1, minimum: 1, most: 1,
		},
		"the floor is the group's where it can be kept": {
			objects: []metav1.Object{group(floor(1)), slot("a"), slot("b")}, minimum: 1, most: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			sum := Summarize(view(test.objects...))
			if diff := cmp.Diff(test.want, lines(sum)); diff != "" {
				t.Errorf("instances (-want +got):\n%s", diff)
			}
			got := [3]int32{sum.Target, sum.Min, sum.Max}
			if want := [3]int32{test.target, test.minimum, test.most}; got != want {
				t.Errorf("target, min, max = %v, want %v", got, want)
			}
		})
	}
}

func TestSummaryKnowsHowLongItHolds(t *testing.T) {
	for name, test := range map[string]struct {
		objects []metav1.Object
		want    time.Time
	}{
		"only a change ends it":          {objects: []metav1.Object{group(), slot("a"), claim("a", 1, "")}},
		"a hold ends":                    {objects: []metav1.Object{group(), slot("a", heldUntil("2026-03-04T12:05:00Z"))}, want: noon.Add(5 * time.Minute)},
		"the first of two ends counts":   {objects: []metav1.Object{group(), slot("a", heldUntil("2026-03-04T12:45:00Z")), slot("b", failuresOf(3, 0))}, want: noon.Add(30 * time.Minute)},
		"an errored boot leaves by then": {objects: []metav1.Object{group(), slot("a"), claim("a", 1, "", failed(v2.ReasonDeadlineExceeded))}, want: noon.Add(110 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Summarize(view(test.objects...)).ValidUntil; !got.Equal(test.want) {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestTargetIsWhatIsListed draws random pools and holds the sums that the client lives by. The counts are made from the
// claims themselves, not from the listing.
func TestTargetIsWhatIsListed(t *testing.T) {
	for seed := range uint64(3000) {
		v := randomView(rand.New(rand.NewPCG(seed, 1)))
		sum := Summarize(v)
		states := map[State]int32{}
		ids := map[string]bool{}
		for _, i := range sum.Instances {
			states[i.State]++
			if ids[i.ID] {
				t.Fatalf("seed %d: id %s is listed twice", seed, i.ID)
			}
			ids[i.ID] = true
		}
		if sum.Target != states[Creating]+states[Errored]+states[Running] {
			t.Fatalf("seed %d: target %d, listed %v", seed, sum.Target, states)
		}
		if wanted := wantedSlots(v); sum.Target-states[Errored] != wanted {
			t.Fatalf("seed %d: target %d with %d errored, but %d slots are wanted", seed, sum.Target, states[Errored], wanted)
		}
		if sum.Min > sum.Max || sum.Max > int32(len(v.Slots)) || sum.Target > sum.Max {
			t.Fatalf("seed %d: min %d, target %d, max %d of %d slots", seed, sum.Min, sum.Target, sum.Max, len(v.Slots))
		}
		if len(sum.Offerable)+len(sum.Unoffered) != len(v.Slots) {
			t.Fatalf("seed %d: %d offerable, %d refused, %d slots", seed, len(sum.Offerable), len(sum.Unoffered), len(v.Slots))
		}
		if registered := registeredIn(v); registered > sum.Target {
			t.Fatalf("seed %d: %d nodes of the group, target %d", seed, registered, sum.Target)
		}
	}
}

func wantedSlots(v View) (n int32) {
	for _, s := range v.Slots {
		var newest *v2.NodeClaim
		for _, c := range s.Claims {
			ended := c.Status.Phase == v2.ClaimFailed || c.Status.Phase == v2.ClaimCompleted
			unwanted := c.DeletionTimestamp != nil || c.Spec.Request.Call == v2.CallDeleteNodes || s.Object == nil || s.Object.DeletionTimestamp != nil
			if !ended && !unwanted && (newest == nil || newest.CreationTimestamp.Before(&c.CreationTimestamp)) {
				newest = c
			}
		}
		if newest != nil && newest.Spec.Request.Group == "g" {
			n++
		}
	}
	return n
}

func registeredIn(v View) (n int32) {
	for _, s := range v.Slots {
		if s.KubeNode != nil && s.GroupOfKubeNode(v.Now) == "g" {
			n++
		}
	}
	return n
}

func randomView(r *rand.Rand) View {
	objects := []metav1.Object{group(func(g *v2.Group) { g.Spec.MinSize = int32(r.IntN(4)) })}
	phases := []v2.ClaimPhase{"", v2.ClaimPending, v2.ClaimBooting, v2.ClaimReady, v2.ClaimFailed, v2.ClaimCompleted}
	maybe := func(n int) bool { return r.IntN(n) == 0 }
	for i := range r.IntN(6) {
		name := string(rune('a' + i))
		if !maybe(8) {
			objects = append(objects, slot(name, func(s *v2.Node) {
				s.Spec.Suspend = maybe(5)
				if maybe(6) {
					moved(s)
				}
				if maybe(8) {
					s.DeletionTimestamp = at(0)
				}
				if maybe(4) {
					failuresOf(int32(r.IntN(5)), time.Duration(r.IntN(90))*time.Minute)(s)
				}
			}))
		}
		if maybe(3) {
			states := []corev1.ConditionStatus{corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown}
			objects = append(objects, kubeNode(name, states[r.IntN(3)], []string{"", "k3s://" + name}[r.IntN(2)]))
		}
		if maybe(6) {
			objects = append(objects, job(name))
		}
		for n := range r.IntN(4) {
			objects = append(objects, claim(name, n, phases[r.IntN(len(phases))], func(c *v2.NodeClaim) {
				if maybe(4) {
					c.Spec.Request.Group = "h"
				}
				if maybe(4) {
					marked(c)
				}
				if maybe(4) {
					deleted(c)
				}
				if c.Status.Phase == v2.ClaimFailed {
					failed(bootFailures[r.IntN(len(bootFailures))])(c)
					if maybe(2) {
						stillReversing(c)
					}
				}
			}))
		}
	}
	return view(objects...)
}
