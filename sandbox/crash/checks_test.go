package crash_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// isReady says what is missing until the first claim is ready and its window closed.
func (h home) isReady(ctx context.Context) string {
	if missing := h.serves(ctx, claimName); missing != "" {
		return missing
	}
	claim, err := h.Claim(ctx, claimName)
	switch {
	case err != nil:
		return err.Error()
	case claim == nil || len(claim.Status.Jobs) == 0 || claim.Status.Jobs[0].Outcome == "":
		return "the end of its startup Job is not on record"
	}
	return ""
}

// serves says what is missing until a claim is ready, and machine, slot and kubeNode with it.
func (h home) serves(ctx context.Context, name string) string {
	claim, err := h.Claim(ctx, name)
	switch {
	case err != nil:
		return err.Error()
	case claim == nil:
		return "there is no claim " + name
	case claim.Status.Phase != v2.ClaimReady:
		return fmt.Sprintf("claim %s is %q (%s %s)", name, claim.Status.Phase, claim.Status.Reason, claim.Status.Message)
	case claim.Spec.DeadlineAt != nil:
		return "its deadline still stands"
	}
	slot, err := h.Slot(ctx)
	switch {
	case err != nil:
		return err.Error()
	case slot == nil || slot.Status.Phase != v2.SlotReady:
		return fmt.Sprintf("the slot is %+v", slot)
	case len(slot.Finalizers) == 0 || len(claim.Finalizers) == 0:
		return "a finalizer is missing"
	}
	kubeNode := &corev1.Node{}
	if err := h.Client.Get(ctx, client.ObjectKey{Name: h.Machine}, kubeNode); err != nil {
		return err.Error()
	}
	if !readyKubeNode(kubeNode) || kubeNode.Labels[v2.LabelKubeNodeGroup] == "" {
		return "the kubeNode does not take pods, or is not stamped"
	}
	return ""
}

// isGone says whether a claim is still there.
func (h home) isGone(ctx context.Context, name string) string {
	if claim, err := h.Claim(ctx, name); err != nil || claim != nil {
		return fmt.Sprintf("claim %s is still there: %v", name, err)
	}
	return ""
}

// hasEnded says what is missing until a claim has ended so, and nothing is owed for it.
func (h home) hasEnded(ctx context.Context, name string, phase v2.ClaimPhase, reason v2.ClaimReason) string {
	claim, err := h.Claim(ctx, name)
	switch {
	case err != nil:
		return err.Error()
	case claim == nil:
		return "there is no claim " + name
	case claim.Status.Phase != phase || claim.Status.Reason != reason:
		return fmt.Sprintf("claim %s is %q (%s %s)", name, claim.Status.Phase, claim.Status.Reason, claim.Status.Message)
	case claim.Status.FinishedAt == nil:
		return "the claim does not say when it ended"
	case len(claim.Finalizers) > 0:
		return "the claim still has its finalizer"
	}
	return ""
}

// isOff says what is missing until nothing is left of the machine but its slot.
func (h home) isOff(ctx context.Context) string {
	if missing := h.slotIs(ctx, v2.SlotOff, v2.PowerOff); missing != "" {
		return missing
	}
	return h.hasNoKubeNode(ctx)
}

// slotIs says what is missing until the slot rests so.
func (h home) slotIs(ctx context.Context, phase v2.SlotPhase, power v2.PowerState) string {
	slot, err := h.Slot(ctx)
	switch {
	case err != nil:
		return err.Error()
	case slot == nil:
		return "the slot is gone"
	case slot.Status.Phase != phase || slot.Status.PowerState != power:
		return fmt.Sprintf("the slot is %q with power %q", slot.Status.Phase, slot.Status.PowerState)
	case len(slot.Finalizers) > 0:
		return "the slot still has its finalizer"
	}
	return ""
}

// checkDigest fails unless the slot tells of that claim, in its first attempt, and of one episode.
func (h home) checkDigest(name string, phase v2.ClaimPhase, reason v2.ClaimReason) {
	h.T.Helper()
	slot, err := h.Slot(h.T.Context())
	if err != nil {
		h.T.Fatal(err)
	}
	digest := slot.Status.LastClaim
	if digest == nil || digest.Name != name || digest.Phase != phase || digest.Reason != reason || digest.Attempt != 1 {
		h.T.Errorf("the digest is %+v, want claim %s %s %s in attempt 1", digest, name, phase, reason)
	}
}

// checkOneBoot fails unless one Job pressed the button once, and the machine went on.
func (h home) checkOneBoot() {
	h.T.Helper()
	h.checkStartups(1)
	on, asked := h.Count(machineroom.PoweredOn), h.Count(machineroom.PowerOnRequested)
	if on != 1 || asked != 1 {
		h.T.Errorf("the machine went on %d times after %d presses, want once after one", on, asked)
	}
}

func (h home) checkStartups(want int) {
	h.T.Helper()
	if n := len(h.Jobs("startup")); n != want {
		h.T.Errorf("%d startup Jobs were made, want %d", n, want)
	}
}

// checkShutDown fails unless shutdown Jobs came one at a time and the machine went off once, for good.
func (h home) checkShutDown() {
	h.T.Helper()
	h.CheckOneAtATime()
	h.checkPower(1, 1)
}

// checkPower fails unless the machine went on and off that often, and is off by its own log.
func (h home) checkPower(on, off int) {
	h.T.Helper()
	ons, offs := h.Count(machineroom.PoweredOn), h.Count(machineroom.PoweredOff, machineroom.PowerLost)
	if ons != on || offs != off || h.IsOn() {
		h.T.Errorf("the machine went on %d times and off %d times and is on: %t; want %d, %d, off", ons, offs, h.IsOn(), on, off)
	}
}

// checkHandOver fails unless the newer claim took over one machine that was never switched off.
func (h home) checkHandOver() {
	h.T.Helper()
	h.checkDigest(newerName, v2.ClaimReady, "")
	h.checkOneBoot()
	if n := len(h.Jobs("shutdown")); n != 0 || !h.IsOn() {
		h.T.Errorf("%d shutdown Jobs were made, the machine is on: %t; it should have changed hands", n, h.IsOn())
	}
	claim, err := h.Claim(h.T.Context(), newerName)
	if err != nil {
		h.T.Fatal(err)
	}
	if len(claim.Status.Jobs) != 1 || claim.Status.Jobs[0].UID == "" {
		h.T.Errorf("the newer claim has the Job records %+v, want the one of the older", claim.Status.Jobs)
	}
}
