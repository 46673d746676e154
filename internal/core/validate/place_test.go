package validate

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func newClaim(name string, change ...func(*v2.NodeClaim)) *v2.NodeClaim {
	c := &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "home"},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: "worker-01"}, RequestedBy: "alice",
			Request: v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "g"},
		},
	}
	for _, change := range change {
		change(c)
	}
	return c
}

func phase(phase v2.ClaimPhase) func(*v2.NodeClaim) {
	return func(c *v2.NodeClaim) { c.Status.Phase = phase }
}

func committed(c *v2.NodeClaim) {
	c.Status.Phase, c.Finalizers = v2.ClaimReady, []string{v2.FinalizerNodeClaim}
}

func deleted(c *v2.NodeClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func messages(faults field.ErrorList) []string {
	var messages []string
	for _, fault := range faults {
		messages = append(messages, fault.Error())
	}
	return messages
}

func TestANewClaimNeedsASlotOfItsOwn(t *testing.T) {
	const at = `spec.slotRef.name: Invalid value: "worker-01": `
	going := goodSlot()
	going.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	other := goodSlot()
	other.Name = "worker-02"
	var many []*v2.Node
	for _, letter := range "abcdefghijklmn" {
		slot := goodSlot()
		slot.Name = string(letter)
		many = append(many, slot)
	}
	const second = "slot has one live claim; delete that one first, or name another slot"
	tests := map[string]struct {
		place Place
		want  []string
	}{
		"a free slot":      {Place{Slot: goodSlot()}, nil},
		"ended claims":     {Place{Slot: goodSlot(), Claims: []*v2.NodeClaim{newClaim("a", phase(v2.ClaimFailed)), newClaim("b", phase(v2.ClaimCompleted))}}, nil},
		"no slot at all":   {Place{}, []string{at + "there is no slot of this name in namespace home; there are no slots in it"}},
		"no such slot":     {Place{Slots: []*v2.Node{other}}, []string{at + "there is no slot of this name in namespace home; the slots are worker-02"}},
		"among many":       {Place{Slots: many}, []string{at + "there is no slot of this name in namespace home; the slots are a, b, c, d, e, f, g, h, i, j, k, l and 2 more"}},
		"a slot that goes": {Place{Slot: going}, []string{at + "slot worker-01 is being deleted, and its machine switched off with it"}},
		"a pending claim": {Place{Slot: goodSlot(), Claims: []*v2.NodeClaim{newClaim("first")}},
			[]string{at + "slot worker-01 is taken by claim first (pending, requested by alice): a " + second}},
		"a ready claim of somebody": {Place{Slot: goodSlot(), Claims: []*v2.NodeClaim{newClaim("first", committed, func(c *v2.NodeClaim) { c.Spec.RequestedBy = "" })}},
			[]string{at + "slot worker-01 is taken by claim first (ready, requested by somebody): a " + second}},
		"a claim that is being reversed":  {Place{Slot: goodSlot(), Claims: []*v2.NodeClaim{newClaim("first", committed, deleted)}}, nil},
		"a claim that DeleteNodes marked": {Place{Slot: goodSlot(), Claims: []*v2.NodeClaim{newClaim("first", committed, func(c *v2.NodeClaim) { c.Spec.Request.Call = v2.CallDeleteNodes })}}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, messages(ClaimPlace(newClaim("mine"), test.place))); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
	if faults := ClaimPlace(newClaim("mine", func(c *v2.NodeClaim) { c.Spec.SlotRef.Name = "" }), Place{}); faults != nil {
		t.Errorf("a claim without a name is told twice: %v", faults)
	}
}

func TestAMachineHasOneSlot(t *testing.T) {
	other, same := goodSlot(), goodSlot()
	other.Name, other.Spec.KubernetesNodeName = "worker-02", "worker-02.lan"
	if faults := SlotPlace(goodSlot(), []*v2.Node{same, other}); faults != nil {
		t.Errorf("itself and another machine: %v", faults)
	}
	other.Spec.KubernetesNodeName = "worker-01.lan"
	want := []string{`spec.kubernetesNodeName: Invalid value: "worker-01.lan": slot worker-02 has this name already: a machine has one slot`}
	if diff := cmp.Diff(want, messages(SlotPlace(goodSlot(), []*v2.Node{other}))); diff != "" {
		t.Error(diff)
	}
}

func TestTheKubeNodeStaysWhileAClaimHasTheMachine(t *testing.T) {
	renamed := goodSlot()
	renamed.Spec.KubernetesNodeName = "worker-09.lan"
	const cannot = `spec.kubernetesNodeName: Invalid value: "worker-09.lan": cannot change from worker-01.lan while claim c (`
	for name, test := range map[string]struct {
		after *v2.Node
		claim *v2.NodeClaim
		want  []string
	}{
		"nothing changes":     {goodSlot(), newClaim("c"), nil},
		"an ended claim":      {renamed, newClaim("c", phase(v2.ClaimFailed)), nil},
		"a pending claim":     {renamed, newClaim("c"), []string{cannot + "pending) has the machine: delete the claim, and wait until it is gone"}},
		"a reversal is owed":  {renamed, newClaim("c", committed, deleted), []string{cannot + "ready) has the machine: delete the claim, and wait until it is gone"}},
		"a failed boot is on": {renamed, newClaim("c", phase(v2.ClaimFailed), owing), []string{cannot + "failed) has the machine: delete the claim, and wait until it is gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, messages(SlotChange(goodSlot(), test.after, []*v2.NodeClaim{test.claim}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func owing(c *v2.NodeClaim) {
	c.Finalizers = []string{v2.FinalizerNodeClaim}
	c.Status.Conditions = []metav1.Condition{{Type: v2.ConditionMachineCommitted, Status: metav1.ConditionTrue}}
}

func TestOnlyNewFaultsCount(t *testing.T) {
	a := field.Required(field.NewPath("a"), "")
	b := field.Invalid(field.NewPath("b"), 1, "no")
	again := field.Invalid(field.NewPath("b"), 2, "no")
	if diff := cmp.Diff([]string{again.Error()}, messages(Newly(field.ErrorList{a, b}, field.ErrorList{a, again}))); diff != "" {
		t.Error(diff)
	}
	if got := Newly(nil, field.ErrorList{b}); !strings.Contains(got.ToAggregate().Error(), "b: ") {
		t.Errorf("got %v", got)
	}
}
