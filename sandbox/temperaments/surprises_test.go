package temperaments_test

import (
	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// surprises are the machines that go or come without being asked.
func surprises() map[string]scenario {
	type temper = machineroom.Temperament
	gone := func(g *v2.GroupSpec) { g.Timeouts.MachineGone = house.Seconds(3) }
	return map[string]scenario{
		"dies while ready, and boots again": {
			shows:   []string{"DiesAfter"},
			options: house.Options{Group: gone},
			wanted:  true,
			play: func(h home) {
				h.boot(firstClaim, 1)
				h.Temper(temper{DiesAfter: *house.Seconds(1)}) // counted from when it was ready
				h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonMachineGone, 1)
				h.counts(machineroom.PowerLost, 1)
				h.jobs("shutdown", 0)
				if h.IsOn() {
					h.T.Error("the machine has power without a claim")
				}
				h.Temper(temper{})
				h.boot(secondClaim, 1) // the streak of failures begins anew at a boot that reached ready
				h.counts(machineroom.PoweredOn, 2)
			},
		},
		// The kubelet's silence cannot tell a panic from an outage: the claim ends, and the machine keeps its power. The
		// next claim finds out that it does not boot, and cuts it.
		"panics with its power on, and is cut by the next claim": {
			shows:     []string{"DiesAfter", "DiesWithPowerOn"},
			options:   house.Options{Group: gone, Slot: cutsPower},
			redundant: true,
			play: func(h home) {
				h.boot(firstClaim, 1)
				h.Temper(temper{DiesAfter: *house.Seconds(1), DiesWithPowerOn: true})
				h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonMachineGone, 1)
				h.jobs("shutdown", 0)
				h.Ask(secondClaim, soon)
				h.offBefore(h.untilEnded(secondClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1))
				h.counts(machineroom.PoweredOff, 1)
			},
		},
		"comes back by itself": {
			shows:   []string{"ComesBack", "ComesBackAfter"},
			options: house.Options{Temperament: temper{ComesBack: 1, ComesBackAfter: forever()}},
			play:    home.comesBack,
		},
	}
}

func (h home) comesBack() {
	h.boot(firstClaim, 1)
	h.TakeBack(firstClaim)
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
	h.untilNoKubeNode()
	off := h.Await(machineroom.PoweredOff)

	h.Temper(machineroom.Temperament{}) // the wait until it comes back is over
	h.AwaitAfter(off.Seq, machineroom.PoweredOn)
	h.UntilSlot("being seen unclaimed", func(slot *v2.Node) bool { return slot.Status.Unclaimed != nil })
	h.untilTold(v2.EventUnclaimedMachine)
	h.AwaitAfter(off.Seq, machineroom.PoweredOff)
	h.UntilSlot("resting", func(slot *v2.Node) bool {
		return slot.Status.Unclaimed == nil && slot.Status.PowerState == v2.PowerOff && len(slot.Finalizers) == 0
	})
	h.untilNoKubeNode()
	h.counts(machineroom.PowerOnRequested, 1) // the startup Job goes with its claim, and may be gone by now
	h.counts(machineroom.PoweredOn, 2)
	h.counts(machineroom.PoweredOff, 2)
}
