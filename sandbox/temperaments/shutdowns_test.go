package temperaments_test

import (
	"regexp"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// shutdowns are the machines that misbehave on their way down.
func shutdowns() map[string]scenario {
	type temper = machineroom.Temperament
	return map[string]scenario{
		"ignores every soft-off until it is mended": {
			shows:   []string{"IgnoreSoftOff"},
			options: house.Options{Temperament: temper{IgnoreSoftOff: machineroom.Always}},
			play:    home.ignoresSoftOff,
		},
		"ignores one soft-off": {
			shows:   []string{"IgnoreSoftOff"},
			options: house.Options{Temperament: temper{IgnoreSoftOff: 1}},
			play: func(h home) {
				h.downAtSecondTry()
				h.counts(machineroom.SoftOffIgnored, 1)
				h.untilTold(v2.EventShutdownNotObserved)
			},
		},
		"hangs on the way down": {
			shows:   []string{"HangOnShutdown"},
			options: house.Options{Temperament: temper{HangOnShutdown: *house.Seconds(7)}},
			play: func(h home) {
				h.boot(firstClaim, 1)
				h.TakeBack(firstClaim)
				h.Await(machineroom.Hung)
				h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
				h.untilNoKubeNode()
				h.counts(machineroom.PoweredOff, 1)
			},
		},
		"has a shutdown command that exits 0 and does nothing": {
			shows: []string{"CommandDoesNothing"},
			play: func(h home) {
				h.boot(firstClaim, 1)
				h.Temper(temper{CommandDoesNothing: 1})
				h.TakeBack(firstClaim)
				h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
				h.counts(machineroom.CommandDidNothing, 1)
				h.CheckOneAtATime()
				h.untilTold(v2.EventShutdownNotObserved)
			},
		},
		"cannot be reached to shut it down, and is retried": {
			shows:   []string{"ShutdownSwitch"},
			options: house.Options{Temperament: temper{ShutdownSwitch: machineroom.SwitchErrors}},
			play:    func(h home) { h.retried(v2.ReasonShutdownJobFailed) },
		},
		"has a switch that hangs when it shall shut down, and is retried": {
			shows: []string{"ShutdownSwitch"},
			options: house.Options{
				Temperament: temper{ShutdownSwitch: machineroom.SwitchHangs},
				Group:       func(g *v2.GroupSpec) { g.Timeouts.ShutdownJob = house.Seconds(10) },
			},
			play: func(h home) { h.retried(v2.ReasonShutdownJobTimeout) },
		},
		"cannot be reached and shows no life, and is assumed off": {
			shows:   []string{"NeverBoots", "ShutdownSwitch"},
			options: house.Options{Temperament: temper{NeverBoots: true, ShutdownSwitch: machineroom.SwitchErrors}},
			play:    home.assumedOff,
		},
	}
}

// ignoresSoftOff spends its attempts, pauses, and goes down by the patch that its event documents.
func (h home) ignoresSoftOff() {
	h.boot(firstClaim, 1)
	h.TakeBack(firstClaim)
	told := h.untilTold(v2.EventShutdownAttemptLimitReached)
	h.counts(machineroom.SoftOffIgnored, 3)
	h.jobs("shutdown", 3)
	h.CheckOneAtATime()
	h.untilTold(v2.EventShutdownNotObserved)
	claim := h.untilClaim(firstClaim, "pausing", func(claim *v2.NodeClaim) bool {
		return conditionIs(claim, v2.ConditionMachineObservedOff, metav1.ConditionFalse, "ShutdownPaused")
	})
	if claim.Status.Phase != v2.ClaimReady || claim.Status.ShutdownAttempts != 3 || len(claim.Finalizers) == 0 || !h.IsOn() {
		h.T.Errorf("the pause shows %s after %d attempts, finalizers %v, on: %t",
			claim.Status.Phase, claim.Status.ShutdownAttempts, claim.Finalizers, h.IsOn())
	}

	h.Temper(machineroom.Temperament{})
	patch := regexp.MustCompile(`kubectl patch nodeclaim ` + firstClaim + ` .*--subresource=status --type=merge -p '(.*)'`).FindStringSubmatch(told.Note)
	if patch == nil {
		h.T.Fatalf("the event documents no patch: %q", told.Note)
	}
	if err := h.Client.Status().Patch(h.T.Context(), claim, client.RawPatch(types.MergePatchType, []byte(patch[1]))); err != nil {
		h.T.Fatal(err)
	}
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
	h.untilNoKubeNode()
	h.jobs("shutdown", 4)
	h.counts(machineroom.PoweredOff, 1)
}

// downAtSecondTry is a scale-down of which the first shutdown Job achieves nothing.
func (h home) downAtSecondTry() {
	h.boot(firstClaim, 1)
	h.TakeBack(firstClaim)
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
	h.untilNoKubeNode()
	h.CheckOneAtATime()
	h.counts(machineroom.PoweredOff, 1)
}

// retried is a scale-down whose first Job ends badly; the claim says so, and once the switch answers the next one lands.
func (h home) retried(reason v2.ClaimReason) {
	h.boot(firstClaim, 1)
	h.TakeBack(firstClaim)
	h.untilClaim(firstClaim, "saying how the Job ended", func(claim *v2.NodeClaim) bool {
		return claim.Status.Phase == v2.ClaimReady && claim.Status.Reason == reason
	})
	h.counts(machineroom.PoweredOff, 0)
	h.Temper(machineroom.Temperament{})
	h.offBefore(h.untilEnded(firstClaim, v2.ClaimCompleted, v2.ReasonDeletedByHand, 1))
	h.untilNoKubeNode()
	h.CheckOneAtATime()
	h.counts(machineroom.PoweredOff, 1)
}

// assumedOff is a machine in its firmware behind a dead switch: on, silent, out of reach. It is counted as assumed off
// and not as off, and caught as soon as it shows life.
func (h home) assumedOff() {
	h.Ask(firstClaim, soon)
	slot := h.untilEnded(firstClaim, v2.ClaimFailed, v2.ReasonDeadlineExceeded, 1)
	if slot.Status.PowerState != v2.PowerUnknown || slot.Status.PowerSource != v2.PowerSourceAssumed {
		h.T.Errorf("the slot's power is %s (%s), want unknown (assumed)", slot.Status.PowerState, slot.Status.PowerSource)
	}
	claim := h.untilClaim(firstClaim, "ending", func(*v2.NodeClaim) bool { return true })
	if !conditionIs(claim, v2.ConditionMachineObservedOff, metav1.ConditionUnknown, "AssumedOff") {
		h.T.Errorf("the claim's conditions are %+v", claim.Status.Conditions)
	}
	h.jobs("shutdown", 3)
	h.untilTold(v2.EventMachineAssumedOff)
	if !h.IsOn() {
		h.T.Fatal("the machine went off behind a dead switch")
	}

	h.Temper(machineroom.Temperament{})
	h.Await(machineroom.PoweredOff)
	h.UntilSlot("resting", func(slot *v2.Node) bool {
		return slot.Status.Unclaimed == nil && slot.Status.PowerState == v2.PowerOff && len(slot.Finalizers) == 0
	})
	h.untilNoKubeNode()
}

// conditionIs is whether a claim has a condition with that status and reason.
func conditionIs(claim *v2.NodeClaim, kind string, status metav1.ConditionStatus, reason string) bool {
	condition := meta.FindStatusCondition(claim.Status.Conditions, kind)
	return condition != nil && condition.Status == status && condition.Reason == reason
}
