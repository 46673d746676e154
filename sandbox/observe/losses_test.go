package observe_test

import (
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// losses are lives in which a machine that serves is lost, and its switch says whether there is one to switch off.
func losses() map[string]scenario {
	return map[string]scenario{
		"a machine whose power went is lost, and nothing is done about a machine that is off": {play: func(h *home) {
			h.loseAfter(3 * time.Second)
			h.observe()
			h.boot()
			h.untilRead(v2.PowerOn)
			h.Metal.LosePower()
			h.untilLost()
			slot := h.untilOff()
			if slot.Status.PowerSource != v2.PowerSourceOutOfBand {
				h.T.Errorf("off is believed by %s", slot.Status.PowerSource)
			}
			if jobs := h.Jobs("shutdown"); len(jobs) != 0 {
				h.T.Errorf("%d shutdown Jobs were made", len(jobs))
			}
		}},
		"a machine that hangs with its power on is lost, and switched off": {slot: cuts, play: func(h *home) {
			h.loseAfter(3 * time.Second)
			h.observe()
			h.boot()
			h.untilRead(v2.PowerOn)
			h.Metal.Panic()
			h.untilLost()
			h.Await(machineroom.PoweredOff)
			h.untilOff()
			if jobs := h.Jobs("shutdown"); len(jobs) != 1 {
				h.T.Errorf("%d shutdown Jobs were made", len(jobs))
			}
		}},
	}
}

// loseAfter is how long a machine that serves may be silent.
func (h *home) loseAfter(d time.Duration) {
	h.T.Helper()
	h.Policy.MachineGone = d
	h.Manage(h.ControlPlane.Config())
}

// untilLost waits until the claim has failed because its machine was lost.
func (h *home) untilLost() {
	h.T.Helper()
	h.UntilSlot("a machine that is lost", func(s *v2.Node) bool {
		d := s.Status.LastClaim
		return d != nil && d.Name == claim && d.Phase == v2.ClaimFailed && d.Reason == v2.ReasonMachineGone
	})
}

// untilOff waits until the slot is off and owes nothing.
func (h *home) untilOff() *v2.Node {
	h.T.Helper()
	return h.UntilSlot("off", func(s *v2.Node) bool {
		return s.Status.Phase == v2.SlotOff && s.Status.PowerState == v2.PowerOff && len(s.Finalizers) == 0
	})
}
