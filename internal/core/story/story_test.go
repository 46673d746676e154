package story

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func at(minutes int) *metav1.Time {
	return new(metav1.NewTime(noon.Add(time.Duration(minutes) * time.Minute)))
}

func slotWith(edit func(*v2.Node)) *v2.Node {
	slot := &v2.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	slot.Status.Phase, slot.Status.PowerState = v2.SlotOff, v2.PowerOff
	if edit != nil {
		edit(slot)
	}
	return slot
}

func claimWith(phase v2.ClaimPhase, edit func(*v2.NodeClaim)) *v2.NodeClaim {
	claim := &v2.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "n1-abc", CreationTimestamp: *at(0)}}
	claim.Spec.SlotRef.Name, claim.Spec.RequestedBy, claim.Spec.DeadlineAt = "n1", "cluster-autoscaler", at(12)
	claim.Spec.Request = v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "arm", Delta: 1}
	claim.Status.Phase, claim.Status.Attempt, claim.Status.NodeName = phase, 1, "worker-1"
	if phase != v2.ClaimPending {
		claim.Finalizers = []string{v2.FinalizerNodeClaim}
		claim.Status.Conditions = []metav1.Condition{{Type: v2.ConditionMachineCommitted, Status: metav1.ConditionTrue}}
	}
	if edit != nil {
		edit(claim)
	}
	return claim
}

func with(c *v2.NodeClaim, kind string, status metav1.ConditionStatus, minutes int, message string) {
	c.Status.Conditions = append(c.Status.Conditions, metav1.Condition{Type: kind, Status: status, LastTransitionTime: *at(minutes), Message: message})
}

func failedJob(c *v2.NodeClaim) {
	c.Status.Jobs = []v2.JobRecord{{Operation: v2.OperationStartup, N: 1, Name: "n1-abc-up-1", CreatedAt: at(0), FinishedAt: at(1),
		Outcome: v2.JobFailed, ExitCode: new(int32(3)), Message: "wrong password"}}
}

func TestStories(t *testing.T) {
	tests := map[string]struct {
		slot  *v2.Node
		claim *v2.NodeClaim
		want  string
	}{
		"nobody asked": {slotWith(nil), nil, `
n1 is off. Nobody has asked for it yet.`},
		"a boot that has not started": {
			slotWith(func(s *v2.Node) { s.Status.Phase = v2.SlotPending }),
			claimWith(v2.ClaimPending, func(c *v2.NodeClaim) {
				with(c, v2.ConditionLaunched, metav1.ConditionFalse, 0, "lifecycle Job x has not ended")
			}), `
n1 is wanted and pending; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
waiting for its boot to start: lifecycle Job x has not ended, until 12:12
to take it back: kubectl homelab down n1`},
		"a claim that was made a moment ago": {
			slotWith(func(s *v2.Node) { s.Status.Phase = v2.SlotOff }), claimWith("", nil), `
n1 is wanted and off; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
waiting for its boot to start: the operator has not looked at it yet, until 12:12
to take it back: kubectl homelab down n1`},
		"a claim that joins a machine that is up": {
			slotWith(func(s *v2.Node) { s.Status.Phase, s.Status.PowerState = v2.SlotPending, v2.PowerOn }),
			claimWith(v2.ClaimPending, func(c *v2.NodeClaim) {
				with(c, v2.ConditionLaunched, metav1.ConditionFalse, 0, "the machine is still being switched off for an earlier request")
				with(c, v2.ConditionInitialized, metav1.ConditionFalse, 3, "it is cordoned")
			}), `
n1 is wanted and pending; its power is on.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
waiting for the kubeNode to pass the gate: it is cordoned, until 12:12
to take it back: kubectl homelab down n1`},
		"a startup Job that runs": {
			slotWith(func(s *v2.Node) { s.Status.Phase = v2.SlotBooting }),
			claimWith(v2.ClaimBooting, func(c *v2.NodeClaim) { c.Status.Attempt = 2 }), `
n1 is wanted and booting; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z; it is boot 2 in a row, and none before it became ready
12:00 a machine of group arm was asked for
waiting for the startup Job, until 12:12
kubectl get jobs,pods -l infra.homecluster.dev/nodeclaim=n1-abc`},
		"a kubelet that does not come": {
			slotWith(func(s *v2.Node) { s.Status.Phase = v2.SlotBooting }),
			claimWith(v2.ClaimBooting, func(c *v2.NodeClaim) { with(c, v2.ConditionLaunched, metav1.ConditionTrue, 1, "") }), `
n1 is wanted and booting; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
waiting for the kubelet to report, until 12:12
look at the machine's screen, or at its BMC: the power command was accepted and no kubelet came yet`},
		"a taint that stays": {
			slotWith(func(s *v2.Node) { s.Status.Phase = v2.SlotBooting }),
			claimWith(v2.ClaimBooting, func(c *v2.NodeClaim) {
				with(c, v2.ConditionLaunched, metav1.ConditionTrue, 1, "")
				with(c, v2.ConditionRegistered, metav1.ConditionTrue, 3, "")
				with(c, v2.ConditionInitialized, metav1.ConditionFalse, 3, "taint node.cilium.io/agent-not-ready")
			}), `
n1 is wanted and booting; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
12:03 the kubelet reported
waiting for the kubeNode to pass the gate: taint node.cilium.io/agent-not-ready, until 12:12
kubectl describe node worker-1`},
		"a machine in use": {
			slotWith(func(s *v2.Node) { s.Status.Phase, s.Status.PowerState = v2.SlotReady, v2.PowerOn }),
			claimWith(v2.ClaimReady, func(c *v2.NodeClaim) { c.Status.ReadyAt = at(4) }), `
n1 is wanted and ready; its power is on.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
12:04 ready after 4m0s`},
		"a drain that is held back": {
			slotWith(func(s *v2.Node) { s.Status.Phase, s.Status.PowerState = v2.SlotDraining, v2.PowerOn }),
			claimWith(v2.ClaimReady, func(c *v2.NodeClaim) {
				c.DeletionTimestamp, c.Status.ReadyAt = at(9), at(4)
				with(c, v2.ConditionRegistered, metav1.ConditionTrue, 3, "")
				with(c, v2.ConditionDrained, metav1.ConditionFalse, 9, "pod web/1 is covered by a budget that allows no disruption")
			}), `
n1 is being switched off; its power is on.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
12:03 the kubelet reported
12:04 ready after 4m0s
waiting for its pods to leave: pod web/1 is covered by a budget that allows no disruption`},
		"a machine that is sent off with pods left": {
			slotWith(func(s *v2.Node) { s.Status.Phase, s.Status.PowerState = v2.SlotDraining, v2.PowerOn }),
			claimWith(v2.ClaimReady, func(c *v2.NodeClaim) {
				c.DeletionTimestamp, c.Status.Jobs = at(9), []v2.JobRecord{{Operation: v2.OperationShutdown, N: 1, Name: "n1-abc-down-1", CreatedAt: at(14)}}
				with(c, v2.ConditionRegistered, metav1.ConditionTrue, 3, "")
				with(c, v2.ConditionDrained, metav1.ConditionFalse, 9, "gave up draining after 5m0s with pods left: web/1")
			}), `
n1 is being switched off; its power is on.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
12:03 the kubelet reported
12:14 shutdown Job n1-abc-down-1 was made
waiting for the machine to be off`},
		"a shutdown that fails": {
			slotWith(func(s *v2.Node) { s.Status.Phase, s.Status.PowerState = v2.SlotDraining, v2.PowerOn }),
			claimWith(v2.ClaimReady, func(c *v2.NodeClaim) {
				c.DeletionTimestamp, c.Status.Reason = at(9), v2.ReasonShutdownJobFailed
				with(c, v2.ConditionRegistered, metav1.ConditionTrue, 3, "")
			}), `
n1 is being switched off; its power is on.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
12:03 the kubelet reported
waiting for the machine to be off
mend the shutdown command, then go on at once: kubectl homelab reset n1`},
		"a boot that failed, and whose machine may be on": {
			slotWith(func(s *v2.Node) { s.Status.Phase = v2.SlotDraining }),
			claimWith(v2.ClaimFailed, func(c *v2.NodeClaim) {
				failedJob(c)
				c.Status.Reason, c.Status.FinishedAt = v2.ReasonStartupJobFailed, at(1)
				with(c, v2.ConditionDrained, metav1.ConditionUnknown, 1, "a machine that never served is not drained")
			}), `
n1 is being switched off; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
12:00 startup Job n1-abc-up-1 was made
12:01 startup Job n1-abc-up-1: failed, exit code 3: wrong password
12:01 the claim failed: StartupJobFailed
waiting for its kubelet to report, or the deadline: a machine in its firmware cannot be told to stop, until 12:12
the power command failed: its last line is above`},
		"a boot that failed, on a slot that cools off": {
			slotWith(func(s *v2.Node) {
				s.Status.Conditions = []metav1.Condition{{Type: v2.ConditionCoolingOff, Status: metav1.ConditionTrue, Message: "until 12:31"}}
			}),
			claimWith(v2.ClaimFailed, func(c *v2.NodeClaim) {
				failedJob(c)
				c.Finalizers, c.Status.Reason, c.Status.FinishedAt, c.Status.Attempt = nil, v2.ReasonStartupJobFailed, at(1), 3
			}), `
n1 is off; its newest claim failed: StartupJobFailed.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z; it is boot 3 in a row, and none before it became ready
12:00 a machine of group arm was asked for
12:00 startup Job n1-abc-up-1 was made
12:01 startup Job n1-abc-up-1: failed, exit code 3: wrong password
12:01 the claim failed: StartupJobFailed
waiting for the end of the cool-off: until 12:31
the power command failed: its last line is above
when the cause is mended, offer the slot at once: kubectl homelab reset n1`},
		"a claim that is only remembered": {
			slotWith(func(s *v2.Node) {
				s.Status.LastClaim = &v2.ClaimDigest{Name: "n1-old", Phase: v2.ClaimCompleted, Reason: v2.ReasonNodeDeleted, Attempt: 1,
					Request: v2.ClaimRequest{Call: v2.CallIncreaseSize, Group: "arm"}, RequestedBy: "cluster-autoscaler",
					EndedBy: &v2.ClaimEnd{Call: v2.CallDeleteNodes, By: "cluster-autoscaler"}, RequestedAt: at(-60), ReadyAt: at(-55), FinishedAt: at(-5)}
			}), nil, `
n1 rests. Its last claim completed: NodeDeleted, asked for by cluster-autoscaler.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T11:00:00Z
11:00 a machine of group arm was asked for
11:05 ready after 5m0s
11:55 the claim completed: NodeDeleted, asked for by cluster-autoscaler`},
		"a machine that nobody wants": {
			slotWith(func(s *v2.Node) {
				s.Status.PowerState, s.Status.Unclaimed = v2.PowerOn, &v2.UnclaimedRecord{Since: *at(0)}
				s.Status.Conditions = []metav1.Condition{{Type: v2.ConditionUnclaimedMachine, Status: metav1.ConditionTrue, Message: "shut down at 12:02"}}
			}), nil, `
n1 is on, and no claim wants it.
12:00 the machine was seen on though no claim wants it
waiting for what the group does with unclaimed machines: shut down at 12:02
to keep it on for a while: kubectl homelab hold n1 --reason WHY
to keep it on for the pool: kubectl homelab up n1`},
		"a hold comes before everything else": {
			slotWith(func(s *v2.Node) {
				s.Annotations = map[string]string{v2.AnnotationHold: "me: a new disk", v2.AnnotationHoldUntil: noon.Add(time.Hour).Format(time.RFC3339)}
			}),
			claimWith(v2.ClaimPending, nil), `
n1 is wanted and off; its power is off.
cluster-autoscaler asked with IncreaseSize at 2026-01-01T12:00:00Z
12:00 a machine of group arm was asked for
waiting for the end of a hold: me: a new disk, until 13:00
to take it back: kubectl homelab down n1
to end the hold: kubectl homelab release n1`},
		"a hold from Git is released in Git": {
			slotWith(func(s *v2.Node) { s.Spec.Suspend = true }), nil, `
n1 is off. Nobody has asked for it yet.
waiting for the end of a hold: spec.suspend is true
set spec.suspend of the slot to false, where it comes from`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var claims []*v2.NodeClaim
			if tt.claim != nil {
				claims = append(claims, tt.claim)
			}
			if diff := cmp.Diff(strings.TrimSpace(tt.want), inLines(Of(tt.slot, claims, nil, noon))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// inLines is a story in lines.
func inLines(s Story) string {
	lines := []string{s.Headline}
	if s.Asked != "" {
		lines = append(lines, s.Asked)
	}
	for _, step := range s.Happened {
		lines = append(lines, step.At.Format("15:04")+" "+step.What)
	}
	if s.Waiting != "" {
		until := ""
		if s.Until != nil {
			until = ", until " + s.Until.Format("15:04")
		}
		lines = append(lines, fmt.Sprintf("waiting for %s%s", s.Waiting, until))
	}
	return strings.Join(append(lines, s.Do...), "\n")
}

func TestALiveClaimIsToldBeforeOneThatEnded(t *testing.T) {
	ended := claimWith(v2.ClaimFailed, func(c *v2.NodeClaim) { c.Name, c.CreationTimestamp = "n1-new", *at(5) })
	if got := Of(slotWith(nil), []*v2.NodeClaim{ended, claimWith(v2.ClaimReady, nil)}, nil, noon).Claim; got != "n1-abc" {
		t.Errorf("told of %s", got)
	}
}

func TestAStoryHasTheSwitchThatTheSlotReports(t *testing.T) {
	report := &v2.SwitchReport{Image: "power:1", Startup: "power on"}
	slot := &v2.Node{Status: v2.NodeStatus{Switch: report}}
	if diff := cmp.Diff(report, Of(slot, nil, nil, time.Time{}).Switch); diff != "" {
		t.Errorf("switch (-want +got):\n%s", diff)
	}
}
