package temperaments_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) { house.Main(m, 12) }

const (
	// soon is the window of a boot that must fail: a busy computer ends a startup Job within it.
	soon = 30 * time.Second
	// late is the window of one that must not.
	late = 10 * time.Minute
)

// The claims of a scenario, in their order.
const (
	firstClaim  = "first"
	secondClaim = "second"
)

// home is a house.Home with what the scenarios do in it and look for.
type home struct{ *house.Home }

// scenario is one life of a machine with a temperament.
type scenario struct {
	// shows are the fields of machineroom.Temperament that it is about.
	shows   []string
	options house.Options
	play    func(home)
	// wanted says that a claim wants the machine at the end; redundant allows that it was switched on while it was on.
	wanted, redundant bool
}

func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for _, some := range []map[string]scenario{boots(), shutdowns(), surprises(), pods()} {
		for name, s := range some {
			all[name] = s
		}
	}
	return all
}

func TestEachTemperamentEndsAsItShould(t *testing.T) {
	h := house.New(t)
	for name, s := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := home{h.Home(t, s.options)}
			home.Manage(home.ControlPlane.Config())
			s.play(home)
			if home.IsOn() != s.wanted {
				t.Errorf("by its power log the machine is on: %t, wanted: %t", home.IsOn(), s.wanted)
			}
			if n := home.Count(machineroom.PowerOnRedundant); n > 0 && !s.redundant {
				t.Errorf("the machine was switched on %d times while it was on", n)
			}
			if t.Failed() {
				home.Tell()
			}
		})
	}
}

// TestNoTemperamentIsForgotten holds the scenarios to the machine room's list.
func TestNoTemperamentIsForgotten(t *testing.T) {
	var shown []string
	for _, s := range scenarios() {
		shown = append(shown, s.shows...)
	}
	kind := reflect.TypeFor[machineroom.Temperament]()
	for i := range kind.NumField() {
		if name := kind.Field(i).Name; !slices.Contains(shown, name) {
			t.Errorf("no scenario shows %s", name)
		}
	}
	for _, name := range shown {
		if _, known := kind.FieldByName(name); !known {
			t.Errorf("a scenario shows %s, which no machine has", name)
		}
	}
}

// boot asks for a machine that boots, and waits until it serves.
func (h home) boot(claim string, attempt int32) {
	h.T.Helper()
	h.Ask(claim, late)
	h.untilReady(claim, attempt)
}

func (h home) untilReady(claim string, attempt int32) {
	h.T.Helper()
	h.untilDigest(claim, v2.ClaimReady, "", attempt)
	h.UntilSlot("serving", func(slot *v2.Node) bool { return slot.Status.Phase == v2.SlotReady })
}

// untilEnded waits until a claim has ended so and nothing is owed for it.
func (h home) untilEnded(claim string, phase v2.ClaimPhase, reason v2.ClaimReason, attempt int32) *v2.Node {
	h.T.Helper()
	h.untilDigest(claim, phase, reason, attempt)
	return h.UntilSlot("resting", func(slot *v2.Node) bool { return slot.Status.Phase == v2.SlotOff && len(slot.Finalizers) == 0 })
}

func (h home) untilDigest(claim string, phase v2.ClaimPhase, reason v2.ClaimReason, attempt int32) {
	h.T.Helper()
	h.UntilSlot(fmt.Sprintf("claim %s being %s %s in attempt %d", claim, phase, reason, attempt), func(slot *v2.Node) bool {
		digest := slot.Status.LastClaim
		return digest != nil && digest.Name == claim && digest.Phase == phase && digest.Reason == reason && digest.Attempt == attempt
	})
}

// untilClaim waits until the claim is as it shall be.
func (h home) untilClaim(name, what string, is func(*v2.NodeClaim) bool) *v2.NodeClaim {
	h.T.Helper()
	var claim *v2.NodeClaim
	h.Eventually(what, func(ctx context.Context) string {
		var err error
		claim, err = h.Claim(ctx, name)
		switch {
		case err != nil:
			return err.Error()
		case claim == nil:
			return "the claim is gone"
		case !is(claim):
			return fmt.Sprintf("the claim is %+v", claim.Status)
		}
		return ""
	})
	return claim
}

// untilTold waits for an event and returns it.
func (h home) untilTold(reason string) house.Told {
	h.T.Helper()
	var found house.Told
	h.Eventually("an event "+reason, func(context.Context) string {
		for _, told := range h.Told() {
			if told.Reason == reason {
				found = told
				return ""
			}
		}
		return "it was not told"
	})
	return found
}

// untilNoKubeNode waits until the machine's kubeNode is gone.
func (h home) untilNoKubeNode() {
	h.T.Helper()
	h.Eventually("the kubeNode being removed", func(ctx context.Context) string {
		there, err := h.HasKubeNode(ctx)
		if err != nil || there {
			return fmt.Sprintf("it is there: %v", err)
		}
		return ""
	})
}

// counts fails unless something stands that often in the machine's power log.
func (h home) counts(kind machineroom.Kind, want int) {
	h.T.Helper()
	if n := h.Count(kind); n != want {
		h.T.Errorf("%s stands in the power log %d times, want %d", kind, n, want)
	}
}

// jobs fails unless that many Jobs were made for an operation.
func (h home) jobs(operation string, want int) {
	h.T.Helper()
	if n := len(h.Jobs(operation)); n != want {
		h.T.Errorf("%d %s Jobs were made, want %d", n, operation, want)
	}
}

// offBefore fails unless the machine's power had gone before its slot said so.
func (h home) offBefore(slot *v2.Node) {
	h.T.Helper()
	off := h.Await(machineroom.PoweredOff)
	if said := slot.Status.LastShutdownTime; said == nil || off.Time.After(said.Add(time.Second)) {
		h.T.Errorf("the slot believed off at %v, the power went at %v", said, off.Time)
	}
}

// cutsPower makes a slot's shutdown cut the power, as an out-of-band controller does: it needs no operating system.
func cutsPower(spec *v2.NodeSpec, metal *machineroom.Metal) {
	spec.ShutdownPodSpec = metal.CutPodSpec()
}

func forever() metav1.Duration { return metav1.Duration{Duration: machineroom.Forever} }
