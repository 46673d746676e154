package pool

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// short is what a person writes who wants a machine.
func short(change ...func(*v2.NodeClaim)) *v2.NodeClaim {
	c := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "home", Name: "mine"},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: "a"}, Request: v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "g"},
		},
	}
	for _, change := range change {
		change(c)
	}
	return c
}

func TestCompleteFillsInWhatAClaimLeavesOut(t *testing.T) {
	ours := []metav1.OwnerReference{{
		APIVersion: "infra.homecluster.dev/v2alpha1", Kind: "Node", Name: "a", UID: "uid-a", Controller: new(true),
	}}
	full := func(change ...func(*v2.NodeClaim)) *v2.NodeClaim {
		c := short()
		c.Labels = map[string]string{"group": "g", "infra.homecluster.dev/node": "a"}
		c.OwnerReferences = ours
		c.Spec.RequestedBy, c.Spec.RequestedAt, c.Spec.DeadlineAt = "alice", at(0), at(730*time.Second)
		for _, change := range change {
			change(c)
		}
		return c
	}
	patient := group(func(g *v2.Group) { g.Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: 15 * time.Minute} })
	other := []metav1.OwnerReference{{Kind: "Other", UID: "o", Controller: new(true)}}
	for name, test := range map[string]struct {
		claim *v2.NodeClaim
		group *v2.Group
		slot  *v2.Node
		want  *v2.NodeClaim
	}{
		"four lines": {short(), group(), slot("a"), full()},
		"the group allows more than the budget": {short(), patient, slot("a"), full(func(c *v2.NodeClaim) {
			c.Spec.MaxNodeProvisionTime, c.Spec.DeadlineAt = &metav1.Duration{Duration: 15 * time.Minute}, at(15*time.Minute)
		})},
		"what is said stays": {
			full(func(c *v2.NodeClaim) {
				c.Labels = map[string]string{"group": "x", "mine": "1"}
				c.OwnerReferences = other
				c.Spec.RequestedBy, c.Spec.RequestedAt, c.Spec.DeadlineAt = "bob", at(-time.Minute), at(time.Hour)
				c.Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: time.Minute}
			}), patient, slot("a"),
			full(func(c *v2.NodeClaim) {
				c.Labels = map[string]string{"group": "x", "mine": "1", "infra.homecluster.dev/node": "a"}
				c.OwnerReferences = other
				c.Spec.RequestedBy, c.Spec.RequestedAt, c.Spec.DeadlineAt = "bob", at(-time.Minute), at(time.Hour)
				c.Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: time.Minute}
			}),
		},
		"a request of the past has its deadline from there": {
			short(func(c *v2.NodeClaim) { c.Spec.RequestedAt = at(-10 * time.Minute) }), group(), slot("a"),
			full(func(c *v2.NodeClaim) {
				c.Spec.RequestedAt, c.Spec.DeadlineAt = at(-10*time.Minute), at(130*time.Second)
			}),
		},
		"a request of a near future counts from now": {
			short(func(c *v2.NodeClaim) { c.Spec.RequestedAt = at(time.Minute) }), group(), slot("a"),
			full(func(c *v2.NodeClaim) { c.Spec.RequestedAt = at(time.Minute) }),
		},
		"a request of a far future has no deadline": {
			short(func(c *v2.NodeClaim) { c.Spec.RequestedAt = at(time.Hour) }), group(), slot("a"),
			full(func(c *v2.NodeClaim) { c.Spec.RequestedAt, c.Spec.DeadlineAt = at(time.Hour), nil }),
		},
		"an owner that is there is not there twice": {
			short(func(c *v2.NodeClaim) { c.OwnerReferences = []metav1.OwnerReference{{UID: "uid-a"}} }), group(), slot("a"),
			full(func(c *v2.NodeClaim) { c.OwnerReferences = []metav1.OwnerReference{{UID: "uid-a"}} }),
		},
		"neither slot nor group exist": {short(), nil, nil, full(func(c *v2.NodeClaim) { c.OwnerReferences = nil })},
	} {
		t.Run(name, func(t *testing.T) {
			Complete(test.claim, Asked{Slot: test.slot, Group: test.group, Policy: policy.For(policy.Default(), test.group),
				By: "alice", Now: noon.Add(300 * time.Millisecond)})
			if diff := cmp.Diff(test.want, test.claim); diff != "" {
				t.Errorf("claim (-want +got):\n%s", diff)
			}
		})
	}
}

func TestALongNameIsCutBetweenLetters(t *testing.T) {
	c := short()
	Complete(c, Asked{By: strings.Repeat("ü", 300), Policy: policy.Default(), Now: noon})
	if want := strings.Repeat("ü", 256); c.Spec.RequestedBy != want {
		t.Errorf("requestedBy is %q", c.Spec.RequestedBy)
	}
}
