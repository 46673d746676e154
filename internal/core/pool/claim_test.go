package pool

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestNewClaim(t *testing.T) {
	g := group(func(g *v2.Group) { g.Spec.MaxNodeProvisionTime = &metav1.Duration{Duration: 15 * time.Minute} })
	s := slot("a", func(s *v2.Node) { s.Status.Episode = 4 })
	v := view(g, s, claim("a", 1, v2.ClaimCompleted, func(c *v2.NodeClaim) { c.Spec.Episode = 6 }))
	v.Now = noon.Add(300 * time.Millisecond)
	got := NewClaim(v, v.Slots[0], Ask{Call: v2.CallIncreaseSize, Delta: 2, By: "cluster-autoscaler", CallID: "id"})
	want := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "home", Name: ClaimName(s, 7),
			Labels:      map[string]string{"group": "g", "infra.homecluster.dev/node": "a"},
			Annotations: map[string]string{v2.AnnotationCallID: "id"},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "infra.homecluster.dev/v2alpha1", Kind: "Node", Name: "a", UID: "uid-a", Controller: new(true),
			}},
		},
		Spec: v2.NodeClaimSpec{
			SlotRef:     corev1.ObjectReference{Name: "a"},
			Request:     v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "g", Delta: 2},
			RequestedAt: at(0), RequestedBy: "cluster-autoscaler", DeadlineAt: at(15 * time.Minute),
			MaxNodeProvisionTime: &metav1.Duration{Duration: 15 * time.Minute}, Episode: 7,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("claim (-want +got):\n%s", diff)
	}
}

func TestClaimNames(t *testing.T) {
	a, again := slot("a"), slot("a", func(s *v2.Node) { s.UID = "another" })
	name := ClaimName(a, 1)
	if !strings.HasPrefix(name, "a-") || len(name) != len("a-")+6 {
		t.Errorf("name %q is not <slot>-<6 hex>", name)
	}
	if name != ClaimName(a, 1) {
		t.Error("the same slot and episode have two names")
	}
	if name == ClaimName(a, 2) || name == ClaimName(again, 1) {
		t.Error("another episode, or another slot of the same name, has the same claim")
	}
}
