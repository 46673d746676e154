package crash_test

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// window is a boot's: long, since no boot here may end for the time that a crash takes.
const window = 10 * time.Minute

func episodes() map[string]episode {
	return map[string]episode{
		"boot": {
			begin: func(h home) { h.Ask(claimName, window) },
			ended: home.isReady,
			check: func(h home) { h.checkDigest(claimName, v2.ClaimReady, ""); h.checkOneBoot() },
		},
		"scale-down": {
			before: home.boot,
			begin:  func(h home) { h.TakeBack(claimName) },
			ended:  func(h home, ctx context.Context) string { return first(h.isGone(ctx, claimName), h.isOff(ctx)) },
			check: func(h home) {
				h.checkDigest(claimName, v2.ClaimCompleted, v2.ReasonDeletedByHand)
				h.checkOneBoot()
				h.checkShutDown()
			},
		},
		"failed boot":          failedBoot(),
		"delete while booting": deleteWhileBooting(),
		"superseded":           superseded(),
		"slot deleted":         slotDeleted(),
		"machine gone":         machineGone(),
		"unclaimed":            unclaimed(),
		"superseded in boot":   supersededWhileBooting(),
	}
}

// failedBoot is a switch that does not answer when it is asked to switch on. Nothing ever registers, so that the reversal
// waits for the end of the boot's window. Its claim has no deadline: the window is what the group's times add up to.
func failedBoot() episode {
	return episode{
		options: house.Options{
			Temperament: machineroom.Temperament{StartupSwitch: machineroom.SwitchErrors},
			Group: func(g *v2.GroupSpec) {
				g.Timeouts.StartupJob, g.Timeouts.Registration, g.Timeouts.ReadinessGate = house.Seconds(40), house.Seconds(1), house.Seconds(1)
			},
		},
		before: home.unhook,
		begin:  func(h home) { h.Ask(claimName, 0) },
		ended: func(h home, ctx context.Context) string {
			return first(h.hasEnded(ctx, claimName, v2.ClaimFailed, v2.ReasonStartupJobFailed), h.isOff(ctx))
		},
		check: func(h home) {
			h.checkDigest(claimName, v2.ClaimFailed, v2.ReasonStartupJobFailed)
			h.checkStartups(1)
			h.CheckOneAtATime()
			h.checkPower(0, 0)
			if n := h.Count(machineroom.PowerOnRequested); n != 0 {
				h.T.Errorf("%d power-ons came through a switch that does not answer", n)
			}
		},
	}
}

// deleteWhileBooting takes the claim back while its machine is on and has not registered.
func deleteWhileBooting() episode {
	return episode{
		options: house.Options{Temperament: machineroom.Temperament{NeverBoots: true}},
		before:  home.launch,
		begin: func(h home) {
			h.TakeBack(claimName)
			h.Temper(machineroom.Temperament{}) // now it registers
		},
		ended: func(h home, ctx context.Context) string { return first(h.isGone(ctx, claimName), h.isOff(ctx)) },
		check: func(h home) {
			h.checkDigest(claimName, v2.ClaimCompleted, v2.ReasonDeletedByHand)
			h.checkOneBoot()
			h.checkShutDown()
		},
	}
}

// unhook lets claims in that the webhook would refuse or complete.
func (h home) unhook() { h.Unhook() }

// superseded is a second claim for a machine that is ready for the first.
func superseded() episode {
	return episode{
		before: func(h home) { h.boot(); h.unhook() },
		begin:  func(h home) { h.Ask(newerName, window) },
		ended: func(h home, ctx context.Context) string {
			return first(h.hasEnded(ctx, claimName, v2.ClaimFailed, v2.ReasonSuperseded), h.serves(ctx, newerName))
		},
		check: home.checkHandOver,
	}
}

// supersededWhileBooting is one for a machine that is on and has not registered.
func supersededWhileBooting() episode {
	return episode{
		options: house.Options{Temperament: machineroom.Temperament{NeverBoots: true}},
		before:  func(h home) { h.launch(); h.unhook() },
		begin: func(h home) {
			h.Ask(newerName, window)
			h.Temper(machineroom.Temperament{SlowBoot: *house.Seconds(4)})
		},
		ended: func(h home, ctx context.Context) string {
			return first(h.hasEnded(ctx, claimName, v2.ClaimFailed, v2.ReasonSuperseded), h.serves(ctx, newerName))
		},
		check: home.checkHandOver,
	}
}

// slotDeleted deletes the slot of a machine that serves.
func slotDeleted() episode {
	return episode{
		before: home.boot,
		begin: func(h home) {
			slot, err := h.Slot(h.T.Context())
			if err != nil || slot == nil {
				h.T.Fatalf("slot %v: %v", slot, err)
			}
			if err := h.Client.Delete(h.T.Context(), slot); err != nil {
				h.T.Fatal(err)
			}
		},
		ended: func(h home, ctx context.Context) string {
			slot, err := h.Slot(ctx)
			switch {
			case err != nil:
				return err.Error()
			case slot != nil:
				return "the slot is still there"
			}
			return first(h.hasEnded(ctx, claimName, v2.ClaimCompleted, v2.ReasonSlotDeleted), h.hasNoKubeNode(ctx))
		},
		check: func(h home) { h.checkOneBoot(); h.checkShutDown() },
	}
}

// machineGone is an outage under a machine that serves. Nothing is owed for a machine that is silent, and nothing may be
// switched off or on because of it.
func machineGone() episode {
	return episode{
		options: house.Options{Group: func(g *v2.GroupSpec) { g.Timeouts.MachineGone = house.Seconds(3) }},
		before:  home.boot,
		begin:   func(h home) { h.Metal.LosePower() },
		ended: func(h home, ctx context.Context) string {
			if missing := h.hasEnded(ctx, claimName, v2.ClaimFailed, v2.ReasonMachineGone); missing != "" {
				return missing
			}
			return h.slotIs(ctx, v2.SlotOff, v2.PowerUnknown)
		},
		check: func(h home) {
			h.checkDigest(claimName, v2.ClaimFailed, v2.ReasonMachineGone)
			h.checkOneBoot()
			h.checkPower(1, 1)
			if n := len(h.Jobs("shutdown")); n != 0 {
				h.T.Errorf("%d shutdown Jobs were made for a machine that has no power", n)
			}
		},
	}
}

// unclaimed is a machine that somebody switches on by hand.
func unclaimed() episode {
	return episode{
		before: func(h home) {
			h.Eventually("the slot being seen", func(ctx context.Context) string { return h.slotIs(ctx, v2.SlotOff, v2.PowerOff) })
		},
		begin: func(h home) { h.Press(machineroom.ActionOn) },
		ended: func(h home, ctx context.Context) string {
			if h.Count(machineroom.PoweredOff) == 0 {
				return "the machine was not switched off"
			}
			slot, err := h.Slot(ctx)
			switch {
			case err != nil:
				return err.Error()
			case slot.Status.Unclaimed != nil:
				return "the slot still has its record of an unclaimed machine"
			case meta.IsStatusConditionTrue(slot.Status.Conditions, v2.ConditionUnclaimedMachine):
				return "the slot still says that its machine is unclaimed"
			}
			return h.isOff(ctx)
		},
		check: func(h home) {
			h.checkStartups(0)
			h.checkShutDown()
			if n := h.Count(machineroom.PoweredOn); n != 1 {
				h.T.Errorf("the machine went on %d times, want once and by hand", n)
			}
			slot, err := h.Slot(h.T.Context())
			if err != nil {
				h.T.Fatal(err)
			}
			if slot.Status.LastClaim != nil {
				h.T.Errorf("the digest is %+v, though there was no claim", slot.Status.LastClaim)
			}
		},
	}
}

// boot asks for the machine and waits until it serves.
func (h home) boot() {
	h.T.Helper()
	h.Ask(claimName, window)
	h.Eventually("booting first", h.isReady)
}

// launch asks for the machine and waits until the startup Job's end is on record.
func (h home) launch() {
	h.T.Helper()
	h.Ask(claimName, window)
	h.Await(machineroom.PoweredOn)
	h.Eventually("launching first", func(ctx context.Context) string {
		claim, err := h.Claim(ctx, claimName)
		switch {
		case err != nil:
			return err.Error()
		case claim == nil || len(claim.Status.Jobs) == 0 || claim.Status.Jobs[0].Outcome == "":
			return "the end of its startup Job is not on record"
		}
		job := h.Jobs("startup")
		if len(job) != 1 || job[0].Spec.TTLSecondsAfterFinished == nil {
			return "its startup Job has no time to live yet"
		}
		return ""
	})
}

// hasNoKubeNode says whether the kubeNode is still there.
func (h home) hasNoKubeNode(ctx context.Context) string {
	there, err := h.HasKubeNode(ctx)
	switch {
	case err != nil:
		return err.Error()
	case there:
		return "the kubeNode is still there"
	}
	return ""
}

// first is the first thing that is missing.
func first(missing ...string) string {
	for _, what := range missing {
		if what != "" {
			return what
		}
	}
	return ""
}

// readyKubeNode is whether a kubeNode takes pods.
func readyKubeNode(kubeNode *corev1.Node) bool {
	for _, condition := range kubeNode.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionTrue && !kubeNode.Spec.Unschedulable
		}
	}
	return false
}
