package temperaments_test

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// boots are the machines that misbehave on their way up.
func boots() map[string]scenario {
	type temper = machineroom.Temperament
	return map[string]scenario{
		"never boots, and its power is cut": {
			shows:   []string{"NeverBoots"},
			options: house.Options{Temperament: temper{NeverBoots: true}, Slot: cutsPower},
			play:    home.neverBoots,
		},
		"never boots, keeps its power, and is caught when it comes late": {
			shows:   []string{"NeverBoots"},
			options: house.Options{Temperament: temper{NeverBoots: true}},
			play:    home.comesLate,
		},
		"boots slowly within its budget": {
			shows:   []string{"SlowBoot"},
			options: house.Options{Temperament: temper{SlowBoot: *house.Seconds(6)}},
			wanted:  true,
			play: func(h home) {
				h.boot(firstClaim, 1)
				h.counts(machineroom.PowerOnRequested, 1)
				h.jobs("startup", 1)
				h.jobs("shutdown", 0)
			},
		},
		"joins with a taint that lingers": {
			shows:   []string{"TaintLingers"},
			options: house.Options{Temperament: temper{TaintLingers: forever()}, Group: gated(180)},
			wanted:  true,
			play:    home.waitsAtTheGate,
		},
		"joins with a taint that nobody lifts": {
			shows:   []string{"TaintLingers"},
			options: house.Options{Temperament: temper{TaintLingers: forever()}, Group: gated(5)},
			play: func(h home) {
				h.Ask(firstClaim, late)
				h.offBefore(h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonReadinessGateTimeout, 1))
				h.untilNoKubeNode()
				h.counts(machineroom.PoweredOn, 1)
			},
		},
		"swallows one power-on": {
			shows:   []string{"SwallowPowerOn"},
			options: house.Options{Temperament: temper{SwallowPowerOn: 1}},
			wanted:  true,
			play: func(h home) {
				h.Ask(firstClaim, soon)
				h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
				h.boot(secondClaim, 2)
				h.counts(machineroom.PowerOnRequested, 2)
				h.counts(machineroom.PoweredOn, 1)
			},
		},
		"swallows every power-on": {
			shows:   []string{"SwallowPowerOn"},
			options: house.Options{Temperament: temper{SwallowPowerOn: machineroom.Always}},
			play: func(h home) {
				h.Ask(firstClaim, soon)
				h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
				h.counts(machineroom.PowerOnRequested, 1)
				h.counts(machineroom.PoweredOn, 0)
			},
		},
		"has a startup command that exits 0 and does nothing": {
			shows:   []string{"CommandDoesNothing"},
			options: house.Options{Temperament: temper{CommandDoesNothing: 1}},
			play: func(h home) {
				h.Ask(firstClaim, soon)
				h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
				h.counts(machineroom.CommandDidNothing, 1)
				h.counts(machineroom.PowerOnRequested, 0)
				if told := h.untilTold(v2.EventClaimFailed); !strings.Contains(told.Note, "succeeded, but no kubelet reported") {
					h.T.Errorf("the event does not tell a command that lied from one that failed: %q", told.Note)
				}
			},
		},
		"has a switch that refuses to switch on": {
			shows:   []string{"StartupSwitch"},
			options: house.Options{Temperament: temper{StartupSwitch: machineroom.SwitchErrors}},
			play: func(h home) {
				h.Ask(firstClaim, soon)
				h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonStartupJobFailed, 1)
				h.counts(machineroom.PoweredOn, 0)
				if told := h.untilTold(v2.EventClaimFailed); !strings.Contains(told.Note, "the power switch does not answer") {
					h.T.Errorf("the event has not the Job's last line: %q", told.Note)
				}
			},
		},
		"has a switch that hangs when it shall switch on": {
			shows: []string{"StartupSwitch"},
			options: house.Options{
				Temperament: temper{StartupSwitch: machineroom.SwitchHangs},
				Group: func(g *v2.GroupSpec) {
					g.Timeouts.StartupJob, g.Timeouts.Registration, g.Timeouts.ReadinessGate = house.Seconds(10), house.Seconds(5), house.Seconds(5)
				},
			},
			play: func(h home) {
				h.Unhook() // nobody gives the claim a deadline: its window is what the group's times add up to
				h.Ask(firstClaim, 0)
				slot := h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonStartupJobTimeout, 1)
				h.counts(machineroom.PoweredOn, 0)
				window, asked := 20*time.Second, slot.Status.LastClaim.RequestedAt
				if first := h.Jobs("shutdown")[0].CreationTimestamp; first.Sub(asked.Time) < window {
					h.T.Errorf("a shutdown Job was made %s after the request, when the machine may be in its firmware", first.Sub(asked.Time))
				}
			},
		},
	}
}

func (h home) neverBoots() {
	h.Ask(firstClaim, soon)
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1))
	h.counts(machineroom.PoweredOn, 1)
	h.counts(machineroom.PoweredOff, 1)
	h.counts(machineroom.BootStalled, 1)
}

// comesLate is a machine in its firmware that only knows a soft way down: its Job exits 0, nothing tells that it is on,
// and the claim ends. When its operating system comes after all, the machine is unclaimed, and goes.
func (h home) comesLate() {
	h.Ask(firstClaim, soon)
	h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
	if !h.IsOn() {
		h.T.Fatal("the machine went off without an operating system to shut down")
	}
	h.Temper(machineroom.Temperament{})
	h.UntilSlot("being seen unclaimed", func(slot *v2.Node) bool { return slot.Status.Unclaimed != nil })
	h.Await(machineroom.PoweredOff)
	h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
	h.untilNoKubeNode()
	h.counts(machineroom.PoweredOn, 1)
	h.untilTold(v2.EventUnclaimedMachine)
}

// waitsAtTheGate registers, waits for its network agent, and is ready only then.
func (h home) waitsAtTheGate() {
	h.Ask(firstClaim, late)
	h.untilClaim(firstClaim, "waiting at the gate", func(claim *v2.NodeClaim) bool {
		return claim.Status.Phase == v2.ClaimBooting && conditionIs(claim, v2.ConditionInitialized, metav1.ConditionFalse, "Waiting")
	})
	h.Await(machineroom.Ready)
	h.Temper(machineroom.Temperament{TaintLingers: metav1.Duration{Duration: time.Millisecond}})
	lifted := h.Await(machineroom.TaintsLifted).Time.Truncate(time.Second)
	h.untilReady(firstClaim, 1)
	claim := h.untilClaim(firstClaim, "having a time", func(claim *v2.NodeClaim) bool { return claim.Status.ReadyAt != nil })
	if claim.Status.ReadyAt.Time.Before(lifted) {
		h.T.Errorf("the claim was ready at %s, its taint was lifted at %s", claim.Status.ReadyAt, lifted)
	}
	h.jobs("shutdown", 0)
}

// gated has a group wait for the taint that groups wait for by default, for that long.
func gated(seconds int) func(*v2.GroupSpec) {
	return func(g *v2.GroupSpec) {
		g.NodeReadinessTaints, g.Timeouts.ReadinessGate = nil, house.Seconds(seconds)
	}
}
