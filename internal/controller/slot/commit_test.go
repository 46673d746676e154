package slot

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
)

const (
	ours = "/apis/infra.homecluster.dev/v2alpha1/namespaces/home/"
	jobs = "/apis/batch/v1/namespaces/home/jobs"
)

// everything is a decision with every kind of write in it.
func everything(w *wire) (slot.Input, slot.Decision) {
	w.objects, w.version = map[string]map[string]any{}, 1
	deadline := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	meta := metav1.ObjectMeta{Namespace: "home"}
	claim := add(w, ours+"nodeclaims", &v2.NodeClaim{ObjectMeta: meta, Spec: v2.NodeClaimSpec{DeadlineAt: &deadline}}, "claim")
	loser := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Finalizers: []string{"other", v2.FinalizerNodeClaim}}}
	add(w, ours+"nodeclaims", loser, "loser")
	expired := add(w, ours+"nodeclaims", &v2.NodeClaim{ObjectMeta: meta}, "expired")
	machine := add(w, ours+"nodes", &v2.Node{ObjectMeta: meta}, "slot")
	kubeNode := add(w, "/api/v1/nodes", &corev1.Node{}, "kubenode")
	after := kubeNode.DeepCopy()
	after.Spec.Unschedulable = true
	owner := []metav1.OwnerReference{{Kind: "NodeClaim", Name: "claim", UID: claim.UID, Controller: ptr.To(true)}}
	add(w, jobs, &batchv1.Job{ObjectMeta: meta}, "ended")
	in := slot.Input{Namespace: "home", Name: "slot", Slot: machine, Claims: []*v2.NodeClaim{claim}, KubeNode: kubeNode,
		Policy: policy.Default(), Now: deadline.Time}
	return in, slot.Decision{
		Assumes:    []slot.Absence{{Kind: slot.KindJob, Name: "claim-up-1"}, {Kind: slot.KindKubeNode, Name: "absent"}},
		Relies:     kubeNode,
		Brake:      true,
		Finalizers: []slot.AddFinalizer{{Claim: claim}, {Slot: machine}},
		Claims: []slot.ClaimStatus{
			{Claim: claim, Status: v2.NodeClaimStatus{Phase: v2.ClaimBooting}},
			{Claim: loser, Status: v2.NodeClaimStatus{Phase: v2.ClaimFailed}},
		},
		Slot: &slot.SlotStatus{Slot: machine, Status: v2.NodeStatus{Phase: v2.SlotBooting}},
		Actions: []slot.Action{
			slot.CreateJob{Job: &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "claim-up-1", OwnerReferences: owner}}},
			slot.DeleteJob{Name: "former", UID: "uid-former"},
			slot.SetJobTTL{Name: "ended", UID: "uid-ended", Seconds: 600},
			slot.Evict{Namespace: "apps", Name: "web", UID: "uid-web"},
			slot.PatchKubeNode{Before: kubeNode, After: after},
			slot.DeleteKubeNode{KubeNode: kubeNode},
			slot.CreateClaim{Claim: &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "adopted"}}},
		},
		Removals: []slot.Removal{
			slot.ClearDeadline{Claim: claim}, slot.DropFinalizer{Claim: loser}, slot.DeleteClaim{Claim: expired}, slot.DropFinalizer{Slot: machine},
		},
		Notes: []slot.Note{{Claim: claim, Reason: v2.EventClaimBooting}, {Slot: machine, Reason: v2.EventScaleUpRequested}},
	}
}

// told is what the commit of everything sends: the order of the law, each object's second write with the version that
// its first one returned.
var told = []string{
	"read jobs/claim-up-1",
	"read nodes/absent",
	"patch nodeclaims/claim uid=uid-claim resourceVersion=1 finalizers=[infra.homecluster.dev/nodeclaim-finalizer]",
	"patch nodes/slot uid=uid-slot resourceVersion=1 finalizers=[infra.homecluster.dev/slot-finalizer]",
	"read nodes/kubenode",
	"patch nodeclaims/claim/status uid=uid-claim resourceVersion=2 phase=booting",
	"read nodes/kubenode",
	"patch nodeclaims/loser/status uid=uid-loser resourceVersion=1 phase=failed",
	"read nodes/kubenode",
	"patch nodes/slot/status uid=uid-slot resourceVersion=3 phase=booting",
	"read nodeclaims/claim",
	"read jobs",
	"post jobs",
	"delete jobs/former uid=uid-former Foreground",
	"read jobs/ended",
	"patch jobs/ended uid=uid-ended resourceVersion=1 ttlSecondsAfterFinished=600",
	"post pods/web/eviction uid=uid-web",
	"patch nodes/kubenode uid=uid-kubenode resourceVersion=1 unschedulable=true",
	"delete nodes/kubenode uid=uid-kubenode resourceVersion=11",
	"post nodeclaims",
	"patch nodeclaims/claim uid=uid-claim resourceVersion=4 deadlineAt=<nil>",
	"patch nodeclaims/loser uid=uid-loser resourceVersion=5 finalizers=[other]",
	"delete nodeclaims/expired uid=uid-expired resourceVersion=1",
	"patch nodes/slot uid=uid-slot resourceVersion=6 finalizers=<nil>",
	"event ClaimBooting",
	"event ScaleUpRequested",
}

func TestCommitWritesInTheOrderOfTheLaw(t *testing.T) {
	w := &wire{}
	in, d := everything(w)
	if _, err := w.committer(t).Commit(t.Context(), in, d); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(told, w.sent); diff != "" {
		t.Error(diff)
	}
}

// toldUntil is what is sent when the write at that line is refused: nothing after it but the event of a claim whose new
// status was saved before. That will not be decided again, so nobody else would tell of it.
func toldUntil(at int) []string {
	sent := slices.Clone(told[:at+1])
	if slices.ContainsFunc(told[:at], func(line string) bool { return strings.HasPrefix(line, "patch nodeclaims/claim/status") }) {
		sent = append(sent, "event ClaimBooting")
	}
	return sent
}

func TestTheFirstRefusedWriteEndsTheCommit(t *testing.T) {
	var writes []int // where in told the writes stand
	for i, line := range told {
		if !strings.HasPrefix(line, "read ") && !strings.HasPrefix(line, "event ") {
			writes = append(writes, i)
		}
	}
	for n, at := range writes {
		t.Run(told[at], func(t *testing.T) {
			w := &wire{refuse: n + 1, status: http.StatusConflict}
			in, d := everything(w)
			c := w.committer(t)
			_, err := c.Commit(t.Context(), in, d)
			if strings.Contains(told[at], "/eviction") {
				// A pod that is another one now is as good as evicted.
				if err != nil {
					t.Error(err)
				}
				return
			}
			if !kube.DecideAgain(err) {
				t.Errorf("a conflict is %v", err)
			}
			if diff := cmp.Diff(toldUntil(at), w.sent); diff != "" {
				t.Error(diff)
			}
			saved := slices.ContainsFunc(told[:at], func(line string) bool { return strings.HasPrefix(line, "patch nodeclaims/loser/status") })
			if counted := w.ended(t); (counted == 1) != saved {
				t.Errorf("%d claims are counted as ended; that one has is saved: %t", counted, saved)
			}
			if free, _ := c.Brake.Take(in.Now, time.Hour); free != (n == 0) {
				t.Errorf("token free again: %t; it is spent once something was written", free)
			}
		})
	}
}

// TestAnEvictionThatIsRefusedEndsNothing whether a budget refuses it, a webhook, or a namespace on its way out.
func TestAnEvictionThatIsRefusedEndsNothing(t *testing.T) {
	for _, code := range []int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusForbidden, http.StatusNotFound} {
		w := &wire{refuse: 9, status: code}
		in, d := everything(w)
		if _, err := w.committer(t).Commit(t.Context(), in, d); err != nil {
			t.Errorf("%d: %v", code, err)
		}
		if len(w.sent) != len(told) {
			t.Errorf("%d: %s", code, cmp.Diff(told, w.sent))
		}
	}
}

// TestOfMachinesLostAtOnceOneIsGivenUpInEachBudget is a switch that died: eight machines seem to be gone. Of each that has
// to wait nothing is written, and somebody is told.
func TestOfMachinesLostAtOnceOneIsGivenUpInEachBudget(t *testing.T) {
	w := &wire{}
	c := w.committer(t)
	budget := policy.Default().EffectiveBudget()
	for round := range 3 {
		var givenUp int
		for range 8 {
			in, d := everything(w)
			in.Now = in.Now.Add(time.Duration(round) * budget)
			w.sent = nil
			again, err := c.Commit(t.Context(), in, d)
			if err != nil {
				t.Fatal(err)
			}
			if again.IsZero() {
				givenUp++
				continue
			}
			if diff := cmp.Diff([]string{told[0], told[1], "event ObservationSuspended"}, w.sent); diff != "" {
				t.Error(diff)
			}
			if want := in.Now.Add(budget); !again.Equal(want) {
				t.Errorf("it is tried again at %s, want %s", again, want)
			}
		}
		if givenUp != 1 {
			t.Errorf("%d machines of 8 were given up in budget %d", givenUp, round+1)
		}
	}
}

func TestAnAbsenceThatIsNoneStopsTheCommit(t *testing.T) {
	for name, test := range map[string]struct {
		uid     string
		stopped bool
	}{
		"an object of that name":             {"", true},
		"the very object":                    {"uid-claim-up-1", true},
		"another object has taken that name": {"uid-former", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{}
			in, d := everything(w)
			add(w, jobs, &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "home"}}, "claim-up-1")
			d.Assumes = []slot.Absence{{Kind: slot.KindJob, Name: "claim-up-1", UID: types.UID(test.uid)}}
			c := w.committer(t)
			_, err := c.Commit(t.Context(), in, d)
			if stopped := kube.DecideAgain(err); stopped != test.stopped || stopped != (w.writes == 0) {
				t.Errorf("stopped: %t after %d writes (%v), want %t", stopped, w.writes, err, test.stopped)
			}
			if free, _ := c.Brake.Take(in.Now, time.Hour); free != test.stopped {
				t.Errorf("token free: %t, want %t", free, test.stopped)
			}
		})
	}
}

func TestNothingIsSaidOnTheWordOfAKubeNodeThatHasChanged(t *testing.T) {
	for name, change := range map[string]func(*wire){
		"it went silent since": func(w *wire) {
			w.objects["/api/v1/nodes/kubenode"]["metadata"].(map[string]any)["resourceVersion"] = "2"
		},
		"it is gone": func(w *wire) { delete(w.objects, "/api/v1/nodes/kubenode") },
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{}
			in, d := everything(w)
			change(w)
			_, err := w.committer(t).Commit(t.Context(), in, d)
			if !kube.DecideAgain(err) {
				t.Errorf("the commit ended with %v", err)
			}
			if diff := cmp.Diff(told[:5], w.sent); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAJobIsNotCreatedByALeaderThatSleptSinceItSavedTheClaim has the successor write the claim between the two.
func TestAJobIsNotCreatedByALeaderThatSleptSinceItSavedTheClaim(t *testing.T) {
	w := &wire{}
	in, d := everything(w)
	w.meanwhile = map[string]func(){"patch nodes/slot/status": func() {
		w.objects[ours+"nodeclaims/claim"]["metadata"].(map[string]any)["resourceVersion"] = "99"
	}}
	_, err := w.committer(t).Commit(t.Context(), in, d)
	if !kube.DecideAgain(err) {
		t.Errorf("the commit ended with %v", err)
	}
	at := slices.Index(told, "read nodeclaims/claim")
	if diff := cmp.Diff(append(slices.Clone(told[:at+1]), "event ClaimBooting"), w.sent); diff != "" {
		t.Error(diff)
	}
}

func TestTheBrakeLetsOneMachineGoPerBudget(t *testing.T) {
	w := &wire{}
	in, d := everything(w)
	c := w.committer(t)
	c.Brake.Take(in.Now.Add(-time.Minute), time.Hour)
	next, err := c.Commit(t.Context(), in, d)
	if err != nil {
		t.Fatal(err)
	}
	if want := in.Now.Add(-time.Minute).Add(in.Policy.EffectiveBudget()); !next.Equal(want) {
		t.Errorf("comes back at %s, want %s", next, want)
	}
	if diff := cmp.Diff([]string{told[0], told[1], "event ObservationSuspended"}, w.sent); diff != "" {
		t.Error(diff)
	}
}

func TestANameTakenByAnotherOwnersJobIsRefused(t *testing.T) {
	job := func(owner string) *batchv1.Job {
		controller := true
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "j",
			OwnerReferences: []metav1.OwnerReference{{UID: types.UID(owner), Controller: &controller}}}}
	}
	for name, test := range map[string]struct {
		found *batchv1.Job
		ours  bool
	}{
		"our own create, whose answer was lost": {job("uid-us"), true},
		"somebody else's":                       {job("uid-them"), false},
		"nobody's":                              {&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "home"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{objects: map[string]map[string]any{}, refuse: 1, status: http.StatusConflict, exists: true}
			add(w, jobs, test.found, "j")
			us := add(w, ours+"nodes", &v2.Node{ObjectMeta: metav1.ObjectMeta{Namespace: "home"}}, "us")
			in := slot.Input{Namespace: "home", Name: "us", Slot: us}
			_, err := w.committer(t).Commit(t.Context(), in, slot.Decision{Actions: []slot.Action{slot.CreateJob{Job: job("uid-us")}}})
			if ours := err == nil; ours != test.ours || !ours && kube.Classify(err) != kube.Exists {
				t.Errorf("taken for ours: %t (%v), want %t", ours, err, test.ours)
			}
		})
	}
}

func TestAJobIsCreatedOnlyOnWhatStillHolds(t *testing.T) {
	running := map[string]any{"metadata": map[string]any{"name": "other-down-1"}}
	ended := map[string]any{"metadata": map[string]any{"name": "other-down-1"}, "status": map[string]any{
		"conditions": []any{map[string]any{"type": "Complete", "status": "True"}},
	}}
	same := map[string]any{"metadata": map[string]any{"name": "claim-up-1"}}
	for name, test := range map[string]struct {
		version string
		listed  []any
		created bool
	}{
		"nothing else works the switch":         {"1", []any{ended, same}, true},
		"the claim has changed since":           {"0", nil, false},
		"another Job of the slot has not ended": {"1", []any{running}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{objects: map[string]map[string]any{}, listed: test.listed}
			claim := add(w, ours+"nodeclaims", &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "home"}}, "claim")
			claim.ResourceVersion = test.version
			controller := true
			job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "claim-up-1",
				OwnerReferences: []metav1.OwnerReference{{UID: claim.UID, Controller: &controller}}}}
			in := slot.Input{Namespace: "home", Name: "slot", Claims: []*v2.NodeClaim{claim}}
			_, err := w.committer(t).Commit(t.Context(), in, slot.Decision{Actions: []slot.Action{slot.CreateJob{Job: job}}})
			if created := w.writes == 1; created != test.created || kube.DecideAgain(err) == test.created {
				t.Errorf("created: %t (%v), want %t", created, err, test.created)
			}
		})
	}
}
