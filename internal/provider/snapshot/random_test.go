package snapshot

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// history is a store, and beside it the objects it was told of.
type history struct {
	store  *Store
	clock  *clocktesting.FakePassiveClock
	random *rand.Rand
	groups map[string]*v2.Group
	slots  map[string]*v2.Node
	claims map[string]*v2.NodeClaim
	nodes  map[string]*corev1.Node
	jobs   map[string]*batchv1.Job
}

// TestWhatIsCountedIsWhatASummaryOfEverythingSays compares the numbers, which follow changes one by one, with a summary of
// all objects, after every step of random histories.
func TestWhatIsCountedIsWhatASummaryOfEverythingSays(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(noon)
			h := history{
				store: New("home", policy.Default(), clock), clock: clock, random: rand.New(rand.NewPCG(seed, 1)),
				groups: map[string]*v2.Group{}, slots: map[string]*v2.Node{}, claims: map[string]*v2.NodeClaim{},
				nodes: map[string]*corev1.Node{}, jobs: map[string]*batchv1.Job{},
			}
			for step := range 400 {
				what := h.step(step)
				for _, group := range []string{"g", "h"} {
					if diff := h.compare(group); diff != "" {
						t.Fatalf("step %d, %s, group %s (-summary +answer):\n%s", step, what, group, diff)
					}
				}
			}
		})
	}
}

// compare reads a part of the answer, so that lists are made at some changes and not at others.
func (h history) compare(name string) string {
	answer, exists := h.store.Group(name)
	if group := h.groups[name]; group == nil || !exists {
		return cmp.Diff(group != nil, exists)
	}
	view := pool.Assemble(h.clock.Now(), "home", name, policy.Default(), pool.Objects{
		Group: h.groups[name], KubeNodes: h.nodes, Slots: slices.Collect(maps.Values(h.slots)),
		Claims: slices.Collect(maps.Values(h.claims)), Jobs: slices.Collect(maps.Values(h.jobs)),
	})
	sum := pool.Summarize(view)
	want := []int32{sum.Target, sum.Ready, int32(len(sum.Offerable)), sum.Min, sum.Max, int32(len(view.Slots))}
	got := []int32{answer.Target, answer.Ready, answer.Offerable, answer.Min, answer.Max, answer.Slots}
	diff := cmp.Diff(want, got)
	if _, err := pool.Blueprint(view); (err == nil) != answer.Shaped {
		diff += fmt.Sprintf("shaped: %t, the blueprint: %v", answer.Shaped, err)
	}
	if h.random.IntN(3) == 0 {
		diff += cmp.Diff(sum.Instances, answer.Instances())
	}
	if h.random.IntN(3) == 0 {
		diff += h.compareTemplate(view, sum, answer)
	}
	for _, slot := range view.Slots {
		_, listed := sum.InstanceOf(slot.Name)
		if _, found := h.store.Instance(name, slot.Name); found != listed {
			diff += fmt.Sprintf("slot %s: listed = %t, found = %t", slot.Name, listed, found)
		}
	}
	return diff
}

func (h history) compareTemplate(view pool.View, sum *pool.Summary, answer *Answer) string {
	got, err := answer.Template()
	want, fault := pool.Template(view, sum)
	if fault != nil || err != nil {
		return cmp.Diff(fmt.Sprint(fault), fmt.Sprint(err))
	}
	var node corev1.Node
	if err := node.Unmarshal(got); err != nil {
		return err.Error()
	}
	// A kept blueprint is as old as the machines it was made from; only its heartbeats tell.
	node.Status.Conditions, want.Status.Conditions = nil, nil
	gotText, errGot := node.Marshal()
	wantText, errWant := want.Marshal()
	if errGot != nil || errWant != nil || !bytes.Equal(gotText, wantText) {
		return cmp.Diff(want.String(), node.String())
	}
	return ""
}

// step changes one thing, as an informer or the time would.
func (h history) step(n int) string {
	name := string(rune('a' + h.random.IntN(6)))
	switch h.random.IntN(10) {
	case 0:
		return h.group()
	case 1, 2:
		return h.slot(name)
	case 3, 4, 5:
		return h.claim(name, n)
	case 6, 7:
		return h.kubeNode(name)
	case 8:
		return h.job(name)
	}
	h.clock.SetTime(h.clock.Now().Add(time.Duration(h.random.IntN(90)) * time.Second))
	return "time"
}

func (h history) one(of ...string) string { return of[h.random.IntN(len(of))] }

func (h history) group() string {
	name := h.one("g", "g", "h")
	if before := h.groups[name]; before != nil && h.random.IntN(4) == 0 {
		delete(h.groups, name)
		h.store.Forget(before)
		return "group gone"
	}
	group := &v2.Group{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "home"}}
	group.Spec.MinSize, group.Status.Ready = int32(h.random.IntN(3)), int32(h.random.IntN(9))
	h.groups[name] = group
	h.store.Observe(group)
	return "group"
}

func (h history) slot(name string) string {
	if before := h.slots[name]; before != nil && h.random.IntN(5) == 0 {
		delete(h.slots, name)
		h.store.Forget(before)
		return "slot gone"
	}
	now := h.clock.Now()
	slot := slot(name, func(o *v2.Node) {
		o.Labels[v2.LabelGroup] = h.one("g", "g", "h")
		o.Spec.NodeCapacity = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(h.one("2", "4")), corev1.ResourceMemory: resource.MustParse("8Gi"),
		}
		switch h.random.IntN(8) {
		case 6, 7:
			o.Spec.NodeCapacity = nil
		case 0:
			o.Spec.Suspend = true
		case 1:
			o.Annotations = map[string]string{v2.AnnotationHold: "me", v2.AnnotationHoldUntil: now.Add(time.Minute).UTC().Format(time.RFC3339)}
		case 2:
			o.Status.LastClaim = &v2.ClaimDigest{Phase: v2.ClaimFailed, Attempt: 3, Reason: v2.ReasonDeadlineExceeded,
				FinishedAt: &metav1.Time{Time: now.Add(-30 * time.Minute)}}
		}
	})
	h.slots[name] = slot
	h.store.Observe(slot)
	return "slot"
}

func (h history) claim(slot string, n int) string {
	for name, before := range h.claims {
		if before.Spec.SlotRef.Name == slot && h.random.IntN(2) == 0 {
			delete(h.claims, name)
			h.store.Forget(before)
			return "claim gone"
		}
	}
	now := h.clock.Now()
	claim := claim(fmt.Sprint("u", n), fmt.Sprint(n+1), func(c *v2.NodeClaim) {
		c.Name, c.CreationTimestamp = fmt.Sprintf("%s-%d", slot, n), metav1.NewTime(now.Add(-time.Minute).Truncate(time.Second))
		c.Spec.SlotRef.Name, c.Spec.Request.Group = slot, h.one("g", "g", "h")
		c.Status.Phase = v2.ClaimPhase(h.one("", "pending", "booting", "ready", "completed", "failed", "failed"))
		if c.Status.Phase == v2.ClaimFailed {
			c.Status.Reason, c.Status.FinishedAt = v2.ReasonDeadlineExceeded, &metav1.Time{Time: now.Add(-10 * time.Second)}
		}
		if h.random.IntN(4) == 0 {
			marked(c)
		}
	})
	h.claims[claim.Name] = claim
	h.store.Observe(claim)
	return "claim " + string(claim.Status.Phase)
}

func (h history) kubeNode(slot string) string {
	name := "k-" + slot
	if before := h.nodes[name]; before != nil && h.random.IntN(3) == 0 {
		delete(h.nodes, name)
		h.store.Forget(before)
		return "kubeNode gone"
	}
	kubeNode := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: h.one("", "k3s://"+name)}}
	kubeNode.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionStatus(h.one("True", "Unknown"))}}
	h.nodes[name] = kubeNode
	h.store.Observe(kubeNode)
	return "kubeNode"
}

func (h history) job(slot string) string {
	if before := h.jobs[slot]; before != nil {
		delete(h.jobs, slot)
		h.store.Forget(before)
		return "Job gone"
	}
	h.jobs[slot] = &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: slot + "-up", Labels: map[string]string{v2.LabelNode: slot}}}
	h.store.Observe(h.jobs[slot])
	return "Job"
}
