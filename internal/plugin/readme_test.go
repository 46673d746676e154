package plugin

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clock "k8s.io/utils/clock/testing"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// TestTheFirstPageShowsWhatStatusPrints: the README begins with a pool; this is what it looks like.
func TestTheFirstPageShowsWhatStatusPrints(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "$ kubectl homelab status\n")
	shown, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		t.Fatal("the README does not show kubectl homelab status")
	}
	now := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	p := &pool{groups: []v2.Group{{ObjectMeta: metav1.ObjectMeta{Name: "workers"},
		Status: v2.GroupStatus{Ready: 1, TargetSize: 2, Offerable: 1, Slots: 4}}}, claims: map[string][]*v2.NodeClaim{}}
	for _, s := range []struct {
		name  string
		phase v2.SlotPhase
		power v2.PowerState
		since time.Duration
		claim string
		odd   string
	}{
		{"worker-01", v2.SlotReady, v2.PowerOn, 3 * time.Hour, "worker-01-7f4b9c", ""},
		{"worker-02", v2.SlotBooting, v2.PowerOff, 42 * time.Second, "worker-02-093c84", ""},
		{"worker-03", v2.SlotOff, v2.PowerOff, 48 * time.Hour, "", ""},
		{"worker-04", v2.SlotOff, v2.PowerOff, 9 * time.Minute, "", v2.ConditionCoolingOff},
	} {
		slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: s.name, Labels: map[string]string{v2.LabelGroup: "workers"}}}
		slot.Status.Phase, slot.Status.PowerState, slot.Status.PowerStateSince = s.phase, s.power, new(metav1.NewTime(now.Add(-s.since)))
		if s.odd != "" {
			slot.Status.Conditions = []metav1.Condition{{Type: s.odd, Status: metav1.ConditionTrue}}
		}
		p.slots = append(p.slots, slot)
		if s.claim != "" {
			p.claims[s.name] = []*v2.NodeClaim{{ObjectMeta: metav1.ObjectMeta{Name: s.claim}}}
		}
	}
	var printed bytes.Buffer
	shell := &session{out: &printer{Writer: &printed}, clock: clock.NewFakePassiveClock(now)}
	if err := shell.printStatus(p); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printed.String(), shown); diff != "" {
		t.Errorf("the README shows what status does not print (-printed +shown):\n%s", diff)
	}
}
