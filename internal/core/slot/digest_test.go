package slot

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

const toldClaim = "worker-01-a"

// TestTheDigestTellsTheWholeStory compares every field of the digest along lives of one claim.
func TestTheDigestTellsTheWholeStory(t *testing.T) {
	start := newWorld(t).now
	at := func(after time.Duration) *metav1.Time { return new(metav1.NewTime(start.Add(after))) }
	asked := v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "workers", Delta: 1}
	story := func(change func(*v2.ClaimDigest)) *v2.ClaimDigest {
		d := &v2.ClaimDigest{
			Name: toldClaim, Slot: worldNode, Attempt: 1, Request: asked, RequestedBy: "cluster-autoscaler", RequestedAt: at(0),
		}
		change(d)
		return d
	}
	boot := func(w *world) { w.newClaim(toldClaim); w.settle() }
	serve := func(w *world) {
		boot(w)
		w.now = w.now.Add(2 * time.Minute)
		w.jobEnds("startup", batchv1.JobComplete, "", 0, "")
		w.kubelet("True")
		w.settle()
	}
	goOff := func(w *world) {
		w.now = w.now.Add(time.Hour)
		w.settle()
		w.jobEnds("shutdown", batchv1.JobComplete, "", 0, "")
		w.kubelet("Unknown")
		w.settle()
		w.now = w.now.Add(2 * time.Minute)
		w.settle()
	}
	ended := at(2*time.Minute + time.Hour + 2*time.Minute)
	tests := map[string]struct {
		live func(w *world)
		want *v2.ClaimDigest
	}{
		"it boots": {boot, story(func(d *v2.ClaimDigest) { d.Phase, d.DeadlineAt = v2.ClaimBooting, at(730*time.Second) })},
		"it serves, and its window is closed": {serve, story(func(d *v2.ClaimDigest) {
			d.Phase, d.ReadyAt = v2.ClaimReady, at(2*time.Minute)
		})},
		"its boot failed": {func(w *world) {
			boot(w)
			w.now = w.now.Add(time.Minute)
			w.jobEnds("startup", batchv1.JobFailed, "BackoffLimitExceeded", 1, "no answer")
			w.settle()
		}, story(func(d *v2.ClaimDigest) {
			d.Phase, d.Reason, d.DeadlineAt, d.FinishedAt = v2.ClaimFailed, v2.ReasonStartupJobFailed, at(730*time.Second), at(time.Minute)
		})},
		"it was given back: who asked first stays, and who ended it comes to it": {func(w *world) {
			serve(w)
			request := &w.claim(toldClaim).Spec.Request
			request.Call, request.Nodes = v2.CallDeleteNodes, []string{worldNode}
			w.delete(w.claim(toldClaim))
			goOff(w)
		}, story(func(d *v2.ClaimDigest) {
			d.Request.Nodes = []string{worldNode}
			d.Phase, d.Reason, d.ReadyAt, d.FinishedAt = v2.ClaimCompleted, v2.ReasonNodeDeleted, at(2*time.Minute), ended
			d.EndedBy = &v2.ClaimEnd{Call: v2.CallDeleteNodes, Nodes: []string{worldNode}, By: "cluster-autoscaler"}
		})},
		"a person deleted it": {func(w *world) {
			serve(w)
			w.delete(w.claim(toldClaim))
			goOff(w)
		}, story(func(d *v2.ClaimDigest) {
			d.Phase, d.Reason, d.ReadyAt, d.FinishedAt = v2.ClaimCompleted, v2.ReasonDeletedByHand, at(2*time.Minute), ended
			d.EndedBy = &v2.ClaimEnd{Call: v2.CallDelete, By: "deletion of the claim"}
		})},
		"its slot was deleted": {func(w *world) {
			serve(w)
			w.delete(w.slot)
			w.now = w.now.Add(time.Hour)
			w.settle()
		}, story(func(d *v2.ClaimDigest) {
			d.Phase, d.ReadyAt = v2.ClaimReady, at(2*time.Minute)
			d.EndedBy = &v2.ClaimEnd{Call: v2.CallDelete, By: "deletion of slot " + worldNode}
		})},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.live(w)
			if diff := cmp.Diff(test.want, w.slot.Status.LastClaim); diff != "" {
				t.Errorf("digest (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheFirstEntrySaysWhoAsked also where the claim was marked before anybody made that entry.
func TestTheFirstEntrySaysWhoAsked(t *testing.T) {
	origin := func(call v2.Call, delta int32) *v2.ClaimOrigin {
		return &v2.ClaimOrigin{Call: call, Group: "workers", Delta: delta}
	}
	tests := map[string]struct {
		request v2.ClaimRequest
		want    *v2.ClaimOrigin
	}{
		"the client": {v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "workers", Delta: 3}, origin(v2.CallIncreaseSize, 3)},
		"a person":   {v2.ClaimRequest{Call: v2.CallCreate, Group: "workers"}, origin(v2.CallCreate, 0)},
		"the client, which changed its mind": {v2.ClaimRequest{Call: v2.CallDeleteNodes, Group: "workers", Delta: 1, Nodes: []string{worldNode}},
			origin(v2.CallIncreaseSize, 1)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			c := w.newClaim(toldClaim)
			c.Spec.Request = test.request
			d := w.step()
			if len(d.Claims) != 1 {
				t.Fatalf("%d claims change", len(d.Claims))
			}
			if diff := cmp.Diff(test.want, d.Claims[0].Status.CreatedBy); diff != "" {
				t.Errorf("createdBy (-want +got):\n%s", diff)
			}
			if got := d.Claims[0].Status.ObservedGeneration; got != c.Generation {
				t.Errorf("observedGeneration %d, want %d", got, c.Generation)
			}
		})
	}
}

// TestAClaimMadeAgainUnderItsNameIsAnotherEpisode as where Git makes anew, an hour later, what failed and was collected.
func TestAClaimMadeAgainUnderItsNameIsAnotherEpisode(t *testing.T) {
	w := newWorld(t)
	w.settle()
	for attempt := int32(1); attempt <= 3; attempt++ {
		c := w.newClaim(toldClaim)
		w.settle()
		if c.Status.Attempt != attempt || w.slot.Status.Episode != int64(attempt) {
			t.Fatalf("attempt %d is counted as %d, in episode %d", attempt, c.Status.Attempt, w.slot.Status.Episode)
		}
		w.jobEnds("startup", batchv1.JobFailed, "BackoffLimitExceeded", 1, "no answer")
		w.settle()
		w.now = w.now.Add(13 * time.Minute)
		w.settle()
		w.jobEnds("shutdown", batchv1.JobComplete, "", 0, "")
		w.settle()
		w.now = w.now.Add(2 * time.Minute)
		w.settle()
		w.claims, w.jobs = nil, nil
		w.now = w.now.Add(time.Second)
		w.settle()
	}
	c := w.newClaim(toldClaim)
	w.settle()
	if c.Status.Reason != v2.ReasonAttemptLimitExceeded {
		t.Errorf("the fourth claim is %s (%s): the slot does not cool off", c.Status.Phase, c.Status.Reason)
	}
}

// TestTheDigestOfAClaimThatVanishedIsClosed also when another of its name is there by then.
func TestTheDigestOfAClaimThatVanishedIsClosed(t *testing.T) {
	w := newWorld(t)
	w.serves(toldClaim)
	w.claims, w.kubeNode = nil, nil
	w.now = w.now.Add(time.Second)
	w.newClaim(toldClaim)
	d := w.step()
	if digest := d.Slot.Status.LastClaim; digest.Phase != v2.ClaimBooting || digest.ReadyAt != nil {
		t.Errorf("it still tells of the former: %+v", digest)
	}
	w.claims = nil
	w.newClaim(toldClaim)
	w.slot.Annotations = map[string]string{v2.AnnotationHold: "so that it does not boot"}
	if digest := w.step().Slot.Status.LastClaim; digest.Phase != v2.ClaimFailed || digest.Reason != v2.ReasonDeletedByHand {
		t.Errorf("it is %s (%s)", digest.Phase, digest.Reason)
	}
}
