package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestAnAnsweringManager(t *testing.T) {
	h := newHome(t)
	h.manage(h.address)
	h.create(h.group())
	for _, name := range []string{"a", "b", "held"} {
		h.create(h.slot(name))
	}
	h.asked()
	for name, test := range map[string]func(*testing.T, *home){
		"fills in what a claim of four lines leaves out":          fillsIn,
		"refuses a second live claim and names the first":         refusesSecond,
		"refuses a claim for a slot that does not exist":          refusesUnknown,
		"refuses a second slot for one machine":                   refusesTwin,
		"keeps a machine's name while a claim has it":             keepsName,
		"refuses what the schema cannot see":                      refusesUnseen,
		"lets a claim wait that follows one which is being ended": letsWait,
		"warns of what is legal and unwise":                       warns,
	} {
		t.Run(name, func(t *testing.T) {
			inside := *h
			inside.t = t
			test(t, &inside)
		})
	}
}

func fillsIn(t *testing.T, h *home) {
	before := time.Now().Truncate(time.Second)
	claim := h.claim("four-lines", "a")
	if err := h.as("alice").Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	var slot v2.Node
	if err := h.client.Get(t.Context(), client.ObjectKey{Namespace: h.namespace, Name: "a"}, &slot); err != nil {
		t.Fatal(err)
	}
	if claim.Spec.RequestedBy != "alice" {
		t.Errorf("requested by %q", claim.Spec.RequestedBy)
	}
	if diff := cmp.Diff(map[string]string{"group": "pool", "infra.homecluster.dev/node": "a"}, claim.Labels); diff != "" {
		t.Error(diff)
	}
	owner := metav1.GetControllerOf(claim)
	if owner == nil || owner.UID != slot.UID || owner.Kind != "Node" {
		t.Errorf("owned by %v", claim.OwnerReferences)
	}
	if claim.Spec.RequestedAt == nil || claim.Spec.RequestedAt.Time.Before(before) || claim.Spec.RequestedAt.After(claim.CreationTimestamp.Time) {
		t.Errorf("requested at %v, made at %v", claim.Spec.RequestedAt, claim.CreationTimestamp)
	}
	if got := claim.Spec.DeadlineAt.Sub(claim.Spec.RequestedAt.Time); got != 12*time.Minute+10*time.Second {
		t.Errorf("the deadline is %s after the request", got)
	}
	told := claim.Spec.DeadlineAt.UTC().Format(time.RFC3339)
	h.told(claim, "alice asked", "deadline "+told)
	h.end(t, claim)
}

// told waits for what the controller tells of a claim when it first sees it.
func (h *home) told(claim *v2.NodeClaim, parts ...string) {
	h.t.Helper()
	h.eventually("the controller tells of the claim", func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := h.client.List(ctx, &list, client.InNamespace(h.namespace)); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Reason != v2.EventClaimCreated || event.Regarding.UID != claim.UID {
				continue
			}
			for _, part := range parts {
				if !strings.Contains(event.Note, part) {
					h.t.Errorf("the event says %q, not %q", event.Note, part)
				}
			}
			return nil
		}
		return fmt.Errorf("no such event among %d", len(list.Items))
	})
}

// end deletes a claim and waits until it is gone. No machine answers here, so what it bought is let go by hand.
func (h *home) end(t *testing.T, claims ...*v2.NodeClaim) {
	t.Helper()
	for _, claim := range claims {
		if err := h.client.Delete(t.Context(), claim); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		h.eventually("the claim ends", func(ctx context.Context) error {
			_ = h.client.Patch(ctx, claim, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
			return h.gone(ctx, claim)
		})
	}
}

func refusesSecond(t *testing.T, h *home) {
	first := h.claim("first", "b")
	h.create(first)
	err := h.client.Create(t.Context(), h.claim("second", "b"))
	refused(t, err, `spec.slotRef.name: Invalid value: "b": slot b is taken by claim first (`, "delete that one first")
	h.end(t, first)
	second := h.claim("second", "b")
	h.create(second)
	h.end(t, second)
}

func refusesUnknown(t *testing.T, h *home) {
	err := h.client.Create(t.Context(), h.claim("lost", "z"))
	refused(t, err, `spec.slotRef.name: Invalid value: "z": there is no slot of this name in namespace `+h.namespace, "the slots are ")
}

func refusesTwin(t *testing.T, h *home) {
	err := h.client.Create(t.Context(), h.slot("twin", func(s *v2.Node) { s.Spec.KubernetesNodeName = "a.lan" }))
	refused(t, err, `spec.kubernetesNodeName: Invalid value: "a.lan": slot a has this name already`)
}

func keepsName(t *testing.T, h *home) {
	h.create(h.slot("named"))
	claim := h.claim("of-named", "named")
	h.create(claim)
	rename := func(to string) error {
		slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: "named", Namespace: h.namespace}}
		return h.client.Patch(t.Context(), slot, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"kubernetesNodeName":%q}}`, to)))
	}
	// The schema goes by the slot's status, and the webhook by the claims themselves where that says nothing yet.
	refused(t, rename("other.lan"), "spec.kubernetesNodeName", "cannot change")
	h.end(t, claim)
	h.eventually("the name is judged beside others", func(context.Context) error {
		return saying(rename("a.lan"), "slot a has this name already")
	})
	if err := rename("other.lan"); err != nil {
		t.Errorf("without a claim: %v", err)
	}
}

func refusesUnseen(t *testing.T, h *home) {
	err := h.client.Create(t.Context(), h.slot("odd", func(s *v2.Node) { s.Spec.NodeLabels = map[string]string{"a b": "c"} }))
	refused(t, err, "spec.nodeLabels")
}

func letsWait(t *testing.T, h *home) {
	former := h.claim("former", "b")
	former.Finalizers = []string{"example.com/slow"}
	h.create(former)
	if err := h.client.Delete(t.Context(), former); err != nil {
		t.Fatal(err)
	}
	next := h.claim("next", "b")
	h.create(next)
	h.end(t, former, next)
}

func warns(t *testing.T, h *home) {
	h.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: h.namespace, Labels: map[string]string{"node-role.kubernetes.io/control-plane": ""}}})
	h.warnings.take()
	for name, test := range map[string]struct {
		object client.Object
		want   []string
	}{
		"a good slot":              {h.slot("good"), nil},
		"a slot of no known group": {h.slot("x1", func(s *v2.Node) { s.Labels[v2.LabelGroup] = "nobody" }), []string{`there is no Group "nobody"`}},
		"a control-plane node":     {h.slot("x2", func(s *v2.Node) { s.Spec.KubernetesNodeName = h.namespace }), []string{"is a control-plane node"}},
		"a password": {h.slot("x3", func(s *v2.Node) {
			s.Spec.StartupPodSpec.Command = []string{"ipmitool", "-P", "hunter2"}
		}), []string{"spec.startupPodSpec.args: what follows -P looks like a secret"}},
		"a group that scales as a whole": {&v2.Group{ObjectMeta: metav1.ObjectMeta{Name: "whole", Namespace: h.namespace}, Spec: v2.GroupSpec{ZeroOrMaxNodeScaling: new(true)}}, nil},
	} {
		if err := h.client.Create(t.Context(), test.object, client.DryRunAll); err != nil {
			t.Errorf("%s is refused: %v", name, err)
		}
		told := h.warnings.take()
		if len(told) != len(test.want) {
			t.Errorf("%s: warned of %q, want %q", name, told, test.want)
			continue
		}
		for i := range told {
			if !strings.Contains(told[i], test.want[i]) {
				t.Errorf("%s: warned of %q, want %q", name, told, test.want)
			}
		}
	}
}
