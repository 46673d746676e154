package snapshot

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	clocktesting "k8s.io/utils/clock/testing"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

func newStore() (*Store, *clocktesting.FakePassiveClock) {
	clock := clocktesting.NewFakePassiveClock(noon)
	s := New("home", policy.Default(), clock)
	s.Observe(&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "home"}})
	return s, clock
}

func slot(name string, edits ...func(*v2.Node)) *v2.Node {
	o := &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "home", Labels: map[string]string{v2.LabelGroup: "g"}}}
	o.Spec.KubernetesNodeName = "k-" + name
	for _, edit := range edits {
		edit(o)
	}
	return o
}

func claim(uid, version string, edits ...func(*v2.NodeClaim)) *v2.NodeClaim {
	o := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "a-1", Namespace: "home", UID: types.UID(uid), ResourceVersion: version, CreationTimestamp: metav1.NewTime(noon),
	}}
	o.Spec.SlotRef.Name, o.Spec.Request = "a", v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "g"}
	for _, edit := range edits {
		edit(o)
	}
	return o
}

func marked(c *v2.NodeClaim) { c.Spec.Request.Call = v2.CallDeleteNodes }

func going(c *v2.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: noon} }

// numbers are target and offerable, the pair that own writes must show at once.
func numbers(t *testing.T, s *Store) [2]int {
	t.Helper()
	answer, ok := s.Group("g")
	if !ok {
		t.Fatal("the group is unknown")
	}
	return [2]int{int(answer.Target), int(answer.Offerable)}
}

func TestOwnWritesAreReadAtOnce(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*Store, *clocktesting.FakePassiveClock)
		want [2]int
	}{
		"a create": {
			do:   func(s *Store, _ *clocktesting.FakePassiveClock) { s.Wrote(claim("u", "10")) },
			want: [2]int{1, 0},
		},
		"a create that the informer confirms": {
			do: func(s *Store, clock *clocktesting.FakePassiveClock) {
				s.Wrote(claim("u", "10"))
				s.Observe(claim("u", "10"))
				clock.SetTime(noon.Add(time.Hour))
			},
			want: [2]int{1, 0},
		},
		"a create that no informer ever confirms is forgotten": {
			do: func(s *Store, clock *clocktesting.FakePassiveClock) {
				s.Wrote(claim("u", "10"))
				clock.SetTime(noon.Add(ownWriteFor))
			},
			want: [2]int{0, 1},
		},
		"a mark": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Wrote(claim("u", "11", marked))
			},
			want: [2]int{0, 0},
		},
		"a late event of the time before the mark does not lift it": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "9"))
				s.Wrote(claim("u", "11", marked))
				s.Observe(claim("u", "10"))
			},
			want: [2]int{0, 0},
		},
		"a version is a number, not a text": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "99"))
				s.Wrote(claim("u", "100", marked))
			},
			want: [2]int{0, 0},
		},
		"a write whose answer came later than a newer event is outdated": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "12"))
				s.Wrote(claim("u", "11", marked))
			},
			want: [2]int{1, 0},
		},
		"a delete counts off at once and frees nothing yet": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Deleted(claim("u", "10"))
			},
			want: [2]int{0, 0},
		},
		"a late event does not raise the deleted": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Deleted(claim("u", "10"))
				s.Observe(claim("u", "11"))
			},
			want: [2]int{0, 0},
		},
		"a confirmed delete frees the slot": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Deleted(claim("u", "10"))
				s.Forget(claim("u", "11"))
			},
			want: [2]int{0, 1},
		},
		"a finalizer that keeps the deleted is confirmation too": {
			do: func(s *Store, clock *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Deleted(claim("u", "10"))
				s.Observe(claim("u", "11", going))
				clock.SetTime(noon.Add(time.Hour))
			},
			want: [2]int{0, 0},
		},
		"a create deleted again before the informer told of it": {
			do: func(s *Store, clock *clocktesting.FakePassiveClock) {
				s.Wrote(claim("u", "10"))
				s.Deleted(claim("u", "10"))
				clock.SetTime(noon.Add(ownWriteFor))
			},
			want: [2]int{0, 1},
		},
		"an answer to a write that comes after the end raises nobody": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Forget(claim("u", "12"))
				s.Wrote(claim("u", "11", marked))
			},
			want: [2]int{0, 1},
		},
		"another claim of the same name is another": {
			do: func(s *Store, _ *clocktesting.FakePassiveClock) {
				s.Observe(claim("u", "10"))
				s.Forget(claim("u", "11"))
				s.Observe(claim("v", "12"))
			},
			want: [2]int{1, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := newStore()
			s.Observe(slot("a"))
			test.do(s, clock)
			if got := numbers(t, s); got != test.want {
				t.Errorf("target, offerable = %v, want %v", got, test.want)
			}
		})
	}
}

func TestAnAnswerIsKeptUntilSomethingOfItChanges(t *testing.T) {
	s, clock := newStore()
	s.Observe(&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "h", Namespace: "home"}})
	s.Observe(slot("a"))
	kubeNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "k-a"}}
	s.Observe(kubeNode)
	same := func(why string, want bool, change func()) {
		t.Helper()
		before, _ := s.Group("g")
		change()
		if after, _ := s.Group("g"); (before == after) != want {
			t.Errorf("%s: kept = %t, want %t", why, before == after, want)
		}
	}
	heartbeat := kubeNode.DeepCopy()
	heartbeat.ResourceVersion = "2"
	heartbeat.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure}}
	ready := heartbeat.DeepCopy()
	ready.Status.Conditions = append(ready.Status.Conditions, corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue})
	unfinished := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "j", Labels: map[string]string{v2.LabelNode: "a"}}}

	same("nothing happened", true, func() {})
	same("a heartbeat", true, func() { s.Observe(heartbeat) })
	same("another group's slot", true, func() {
		s.Observe(slot("b", func(o *v2.Node) { o.Labels[v2.LabelGroup] = "h" }))
	})
	same("time alone", true, func() { clock.SetTime(noon.Add(time.Hour)) })
	same("its kubelet turned Ready", false, func() { s.Observe(ready) })
	same("a Job began", false, func() { s.Observe(unfinished) })
	same("a Job ended", false, func() { s.Forget(unfinished) })
	same("a Job that was over ended again", true, func() { s.Forget(unfinished) })
	same("a slot came", false, func() { s.Observe(slot("c")) })
	same("a slot left for another group", false, func() {
		s.Observe(slot("c", func(o *v2.Node) { o.Labels[v2.LabelGroup] = "h" }))
	})
	same("a hold began", false, func() {
		s.Observe(slot("a", func(o *v2.Node) {
			o.Annotations = map[string]string{v2.AnnotationHold: "me", v2.AnnotationHoldUntil: noon.Add(2 * time.Hour).Format(time.RFC3339)}
		}))
	})
	same("the hold ended by itself", false, func() { clock.SetTime(noon.Add(2 * time.Hour)) })
}

func TestSlotFor(t *testing.T) {
	s, _ := newStore()
	s.Observe(slot("a"))
	s.Observe(slot("b", func(o *v2.Node) { o.Spec.ProviderID = "k3s://b" }))
	s.Observe(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "k-a"}, Spec: corev1.NodeSpec{ProviderID: "k3s://a"}})
	find := func(id, name string) string {
		found, _ := s.SlotFor(pool.NodeRef{ProviderID: id, Name: name})
		return found.Name
	}
	got := []string{
		find("k3s://a", "k-a"), find("homelab://a", ""), find("", "k-a"), find("k3s://b", "k-b"), find("homelab://b", ""),
		find("k3s://a", "k-b"), find("", ""), find("k3s://x", "x"),
	}
	want := []string{"a", "a", "a", "b", "b", "a", "", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slots (-want +got):\n%s", diff)
	}
	s.Forget(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "k-a"}})
	if got := find("k3s://a", ""); got != "" {
		t.Errorf("the id of a kubeNode that is gone finds %q", got)
	}
	s.Forget(slot("a"))
	if got := find("homelab://a", "k-a"); got != "" {
		t.Errorf("a slot that is gone is found: %q", got)
	}
	if len(s.slots) != 1 {
		t.Errorf("%d entries stay for one slot", len(s.slots))
	}
}

func TestEventsOfOtherNamespacesAreNotTaken(t *testing.T) {
	s, _ := newStore()
	foreign := slot("a")
	foreign.Namespace = "elsewhere"
	s.handler().OnAdd(foreign, true)
	if len(s.slots) != 0 {
		t.Error("a slot of another namespace was taken")
	}
	s.handler().OnAdd(slot("a"), true)
	s.handler().OnDelete(toolscache.DeletedFinalStateUnknown{Key: "home/a", Obj: slot("a")})
	if len(s.slots) != 0 {
		t.Error("a slot whose end was missed stays")
	}
}

func TestWorld(t *testing.T) {
	s, _ := newStore()
	cheap := func(o *v2.Node) { o.Spec.Pricing = &v2.Pricing{HourlyRate: "0.1", PodRate: "0"} }
	s.Observe(slot("a", cheap))
	s.Observe(slot("b", cheap))
	before := s.World()
	if len(before.Prices) != 1 {
		t.Errorf("%d prices of two slots alike", len(before.Prices))
	}
	s.Observe(claim("u", "1"))
	if s.World() != before {
		t.Error("a claim made the world anew")
	}
	s.Observe(slot("c", func(o *v2.Node) { o.Spec.Pricing = &v2.Pricing{HourlyRate: "0.2", PodRate: "0"} }))
	if got := s.World().Prices; len(got) != 2 || !slices.ContainsFunc(got, func(p pool.Price) bool { return p.Hourly == 0.2 }) {
		t.Errorf("prices %v", got)
	}
}
