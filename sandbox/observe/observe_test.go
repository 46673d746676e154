package observe_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func contains(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// scenario is one life of a machine whose controller is read.
type scenario struct {
	// wiring is what the machine has; IPMI if it is not said.
	wiring      bmc.Wiring
	temperament machineroom.Temperament
	slot        func(*v2.NodeSpec, *machineroom.Metal)
	play        func(*home)
}

// cuts makes a slot's shutdown cut the power, which needs no operating system.
func cuts(spec *v2.NodeSpec, metal *machineroom.Metal) { spec.ShutdownPodSpec = metal.CutPodSpec() }

// readings are lives in which it matters what a controller says.
func readings() map[string]scenario {
	return map[string]scenario{
		"a controller that tells the truth ends a shutdown at once": {play: func(h *home) {
			h.observe()
			h.untilRead(v2.PowerOff)
			h.boot()
			slot := h.untilRead(v2.PowerOn)
			if source := "ipmi " + h.panel.Address(bmc.IPMI); slot.Status.PowerReading.Source != source {
				h.T.Errorf("the source is %q, want %q", slot.Status.PowerReading.Source, source)
			}
			h.TakeBack(claim)
			if slot = h.untilRests(); slot.Status.PowerSource != v2.PowerSourceOutOfBand || slot.Status.PowerState != v2.PowerOff {
				h.T.Errorf("off is believed as %s by %s", slot.Status.PowerState, slot.Status.PowerSource)
			}
		}},
		"a controller that says off of a machine that runs is outranked by the kubelet": {
			temperament: machineroom.Temperament{IgnoreSoftOff: 1},
			play: func(h *home) {
				h.observe()
				h.boot()
				h.untilRead(v2.PowerOn)
				h.lie(bmc.Lies{WrongState: true})
				h.untilRead(v2.PowerOff)
				h.UntilSlot("a conflict", conflict)
				h.stays("a machine that serves", 3*time.Second, func(s *v2.Node) bool { return s.Status.Phase == v2.SlotReady && conflict(s) })
				// Nor does it end a shutdown that the machine ignored.
				h.TakeBack(claim)
				h.Await(machineroom.SoftOffIgnored)
				h.stays("a machine that is going down", 5*time.Second, func(s *v2.Node) bool { return s.Status.Phase == v2.SlotDraining })
				if there, err := h.HasKubeNode(h.T.Context()); err != nil || !there || !h.IsOn() {
					h.T.Errorf("the kubeNode is there: %t, the machine on: %t, %v", there, h.IsOn(), err)
				}
				h.lie(bmc.Lies{})
				h.UntilSlot("no conflict", func(s *v2.Node) bool { return !conflict(s) })
				h.untilRests()
			},
		},
		"a controller that says on of a machine that went off keeps it from being believed": {play: func(h *home) {
			h.observe()
			h.boot()
			h.untilRead(v2.PowerOn)
			h.lie(bmc.Lies{WrongState: true})
			h.untilRead(v2.PowerOff)
			h.TakeBack(claim)
			h.Await(machineroom.PoweredOff)
			h.untilRead(v2.PowerOn)
			h.stays("a machine that may be on", house.Settle+2*time.Second, func(s *v2.Node) bool { return s.Status.Phase == v2.SlotDraining })
			h.lie(bmc.Lies{})
			h.untilRests()
		}},
		"a controller that flaps is unknown, and nothing comes of it": {play: func(h *home) {
			h.observe()
			h.boot()
			h.untilRead(v2.PowerOn)
			h.lie(bmc.Lies{Flap: true})
			h.untilRead(v2.PowerUnknown, "now this and now that")
			h.stays("a machine that serves", 5*time.Second, func(s *v2.Node) bool {
				return s.Status.Phase == v2.SlotReady && s.Status.PowerState == v2.PowerOn && !conflict(s) && s.Status.PowerReading.State != v2.PowerOff
			})
			h.TakeBack(claim)
			if slot := h.untilRests(); slot.Status.PowerSource != v2.PowerSourceKubelet {
				h.T.Errorf("off is believed by %s", slot.Status.PowerSource)
			}
		}},
		"a controller that never answers is unknown, and everything goes on": {play: func(h *home) {
			h.observe()
			h.boot()
			h.untilRead(v2.PowerOn)
			h.lie(bmc.Lies{AnswerNever: true})
			h.untilRead(v2.PowerUnknown, "unreachable", "no answer")
			h.stays("a machine that serves", 2*time.Second, func(s *v2.Node) bool { return s.Status.Phase == v2.SlotReady })
			h.TakeBack(claim)
			if slot := h.untilRests(); slot.Status.PowerSource != v2.PowerSourceKubelet {
				h.T.Errorf("off is believed by %s", slot.Status.PowerSource)
			}
		}},
		"a controller that answers late is read all the same": {play: func(h *home) {
			h.lie(bmc.Lies{AnswerLate: metav1.Duration{Duration: 1500 * time.Millisecond}})
			h.observe()
			h.boot()
			h.untilRead(v2.PowerOn)
			h.TakeBack(claim)
			h.untilRests()
		}},
		"a machine that hangs in its firmware is cut before its window has passed": {
			temperament: machineroom.Temperament{NeverBoots: true}, slot: cuts,
			play: func(h *home) {
				h.observe()
				h.Ask(claim, late)
				h.untilRead(v2.PowerOn)
				h.UntilSlot("on by its switch", func(s *v2.Node) bool {
					return s.Status.Phase == v2.SlotBooting && s.Status.PowerState == v2.PowerOn && s.Status.PowerSource == v2.PowerSourceOutOfBand
				})
				h.TakeBack(claim)
				h.untilRests()
				if jobs := h.Jobs("shutdown"); len(jobs) != 1 {
					h.T.Errorf("%d shutdown Jobs were made", len(jobs))
				}
			},
		},
		"a machine without a kubelet that somebody switched on is switched off": {
			temperament: machineroom.Temperament{NeverBoots: true}, slot: cuts,
			play: func(h *home) {
				h.observe()
				h.untilRead(v2.PowerOff)
				h.Press(machineroom.ActionOn)
				h.UntilSlot("unclaimed", func(s *v2.Node) bool { return s.Status.Unclaimed != nil })
				h.Await(machineroom.PoweredOff)
				h.UntilSlot("off", func(s *v2.Node) bool {
					return s.Status.Unclaimed == nil && s.Status.Phase == v2.SlotOff && s.Status.PowerState == v2.PowerOff
				})
			},
		},
		"a reading that nobody renews is unknown in the end": {
			temperament: machineroom.Temperament{NeverBoots: true}, slot: cuts,
			play: func(h *home) {
				h.Policy.ReadingMaxAge = 9 * time.Second
				h.Manage(h.ControlPlane.Config())
				h.observe()
				h.Ask(claim, late)
				h.UntilSlot("on by its switch", func(s *v2.Node) bool {
					return s.Status.PowerState == v2.PowerOn && s.Status.PowerSource == v2.PowerSourceOutOfBand
				})
				h.unread()
				h.UntilSlot("unknown", func(s *v2.Node) bool { return s.Status.PowerState == v2.PowerUnknown })
				if state := h.untilRead(v2.PowerOn).Status.PowerReading.State; state != v2.PowerOn {
					h.T.Errorf("the reading itself is left alone, and is %s", state)
				}
			},
		},
	}
}

// accesses are lives in which it matters whether the observer may, or can, read at all.
func accesses() map[string]scenario {
	return map[string]scenario{
		"a controller that rejects the password is not tried again": {play: func(h *home) {
			h.lie(bmc.Lies{RejectPassword: true})
			h.observe()
			h.untilRead(v2.PowerUnknown, "the user name or the password is wrong")
			h.boot()
			h.stays("a machine that serves", 6*time.Second, func(s *v2.Node) bool { return s.Status.Phase == v2.SlotReady })
			if n := h.Count(bmc.PasswordRejected); n > 2 { // once for each of two cipher suites, at the most
				h.T.Errorf("the password was tried %d times", n)
			}
		}},
		"a Secret that is not named to the observer is not read, and says so": {play: func(h *home) {
			h.observe("another")
			h.untilRead(v2.PowerUnknown, "may not read Secret "+h.secret.Name, "powerObserver.secrets")
			role := &rbacv1.Role{}
			key := client.ObjectKey{Namespace: h.Namespace, Name: account}
			if err := h.Client.Get(h.T.Context(), key, role); err != nil {
				h.T.Fatal(err)
			}
			role.Rules[len(role.Rules)-1].ResourceNames = []string{h.secret.Name}
			if err := h.Client.Update(h.T.Context(), role); err != nil {
				h.T.Fatal(err)
			}
			h.untilRead(v2.PowerOff)
		}},
		"a slot whose switch cannot be read any more forgets what it said": {play: func(h *home) {
			h.observe()
			slot := h.untilRead(v2.PowerOff)
			before := slot.DeepCopy()
			slot.Spec.Power = nil
			if err := h.Client.Patch(h.T.Context(), slot, client.MergeFrom(before)); err != nil {
				h.T.Fatal(err)
			}
			h.UntilSlot("without a reading", func(s *v2.Node) bool { return s.Status.PowerReading == nil })
		}},
	}
}

func TestReadingsAreEvidenceAndLiesAreNot(t *testing.T) {
	hs := house.New(t)
	scenarios := readings()
	for _, more := range []map[string]scenario{accesses(), losses(), otherProtocols()} {
		maps.Copy(scenarios, more)
	}
	for name, s := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := move(t, hs, s)
			s.play(h)
			if t.Failed() {
				h.Tell()
			}
			if n := h.mine(t.Context()); n > 0 {
				t.Errorf("the manager wrote readings: %d", n)
			}
		})
	}
}

// mine counts the managed fields of the slot in which a writer other than the observer owns the reading.
func (h *home) mine(ctx context.Context) int {
	slot, err := h.Slot(ctx)
	if err != nil || slot == nil {
		return 0
	}
	n := 0
	for _, entry := range slot.ManagedFields {
		if entry.FieldsV1 != nil && strings.Contains(entry.FieldsV1.GetRawString(), `"f:powerReading"`) && entry.Manager != "homelab-autoscaler-power-observer" {
			n++
		}
	}
	return n
}
