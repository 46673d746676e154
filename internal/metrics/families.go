package metrics

import (
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// machine is a slot with the claims that name it.
type machine struct {
	slot   *v2.Node
	claims []*v2.NodeClaim
	now    time.Time
}

func (m *machine) labels() []string { return []string{m.slot.Labels[v2.LabelGroup], m.slot.Name} }

// wanted is whether a live, unmarked claim names the slot.
func (m *machine) wanted() bool {
	for _, claim := range m.claims {
		if facts.Wanted(claim, m.slot) {
			return true
		}
	}
	return false
}

// shutdownAttempts are the started shutdown Jobs of the present streak, whoever it belongs to.
func (m *machine) shutdownAttempts() (most int32) {
	if m.slot.Status.Unclaimed != nil {
		most = m.slot.Status.Unclaimed.ShutdownAttempts
	}
	for _, claim := range m.claims {
		if facts.OwesReversal(claim, m.slot) {
			most = max(most, claim.Status.ShutdownAttempts)
		}
	}
	return most
}

var (
	slotLabels = []string{"group", "slot"}

	slotPhases  = []v2.SlotPhase{v2.SlotOff, v2.SlotPending, v2.SlotBooting, v2.SlotReady, v2.SlotDraining}
	powerStates = []v2.PowerState{v2.PowerOn, v2.PowerOff, v2.PowerUnknown}
	claimPhases = []v2.ClaimPhase{v2.ClaimPending, v2.ClaimBooting, v2.ClaimReady, v2.ClaimCompleted, v2.ClaimFailed}
)

var slotFamilies = []family[*machine]{
	gauge("slot_phase", "The slot's phase: 1 for the one it is in.", append(slotLabels, "phase"),
		func(m *machine) []sample { return oneHot(m.slot.Status.Phase, slotPhases, m.labels()...) }),
	gauge("slot_power_state", "What is believed about the machine's power: 1 for the state it is in.", append(slotLabels, "state"),
		func(m *machine) []sample { return oneHot(m.slot.Status.PowerState, powerStates, m.labels()...) }),
	gauge("slot_power_state_since_timestamp_seconds", "When what was observed of the machine's power last changed.", slotLabels,
		func(m *machine) []sample { return timestamp(m.slot.Status.PowerStateSince, m.labels()) }),
	gauge("slot_power_reading", "What the machine's own power switch said last: 1 for that state. Nothing where nobody reads it.", append(slotLabels, "state"),
		func(m *machine) []sample {
			if m.slot.Status.PowerReading == nil {
				return nil
			}
			return oneHot(m.slot.Status.PowerReading.State, powerStates, m.labels()...)
		}),
	gauge("slot_power_reading_timestamp_seconds", "When the machine's own power switch was last asked, as far as that is saved: every two minutes at the most.",
		slotLabels, func(m *machine) []sample {
			if m.slot.Status.PowerReading == nil {
				return nil
			}
			return timestamp(&m.slot.Status.PowerReading.ObservedAt, m.labels())
		}),
	gauge("slot_power_conflict", "Whether the kubelet reports while the machine's own power switch has said off for two minutes.", slotLabels,
		condition(v2.ConditionPowerConflict)),
	gauge("slot_wanted", "Whether a live, unmarked claim names the slot: its machine should be on, or on its way.", slotLabels,
		func(m *machine) []sample { return []sample{{truth(m.wanted()), m.labels()}} }),
	gauge("slot_held", "Whether a hold keeps power operations from starting.", slotLabels, condition(v2.ConditionHeld)),
	gauge("slot_cooling_off", "Whether the slot is kept back because its boots failed in a row.", slotLabels, condition(v2.ConditionCoolingOff)),
	gauge("slot_unclaimed", "Whether the machine is on though no claim wants it.", slotLabels,
		func(m *machine) []sample { return []sample{{truth(m.slot.Status.Unclaimed != nil), m.labels()}} }),
	gauge("slot_boot_attempt", "Which boot in a row the newest episode was: above 1, the boots before it failed.", slotLabels,
		func(m *machine) []sample {
			if m.slot.Status.LastClaim == nil {
				return nil
			}
			return []sample{{float64(m.slot.Status.LastClaim.Attempt), m.labels()}}
		}),
	gauge("slot_shutdown_attempts", "Shutdown Jobs that started in the present attempt to switch the machine off.", slotLabels,
		func(m *machine) []sample { return []sample{{float64(m.shutdownAttempts()), m.labels()}} }),
	gauge("slot_last_ready_timestamp_seconds", "When the machine last became ready.", slotLabels,
		func(m *machine) []sample { return timestamp(m.slot.Status.LastStartupTime, m.labels()) }),
	gauge("slot_hourly_rate", "What an hour of the machine costs, as spec.pricing says.", slotLabels, hourlyRate),
	gauge("slot_watts", "What the machine draws while it is on, as spec.watts says.", slotLabels,
		func(m *machine) []sample {
			if m.slot.Spec.Watts == nil {
				return nil
			}
			return []sample{{float64(*m.slot.Spec.Watts), m.labels()}}
		}),
}

var groupFamilies = []family[*v2.Group]{
	gauge("group_slots", "Slots of the group.", []string{"group"}, count(func(s v2.GroupStatus) int32 { return s.Slots })),
	gauge("group_offerable", "Slots that could be handed out now.", []string{"group"}, count(func(s v2.GroupStatus) int32 { return s.Offerable })),
	gauge("group_target_size", "Machines that the group should have, as told to cluster-autoscaler.", []string{"group"},
		count(func(s v2.GroupStatus) int32 { return s.TargetSize })),
	gauge("group_ready", "Machines that are ready.", []string{"group"}, count(func(s v2.GroupStatus) int32 { return s.Ready })),
	gauge("group_min_size", "The floor that the group asks for.", []string{"group"},
		func(g *v2.Group) []sample { return []sample{{float64(g.Spec.MinSize), []string{g.Name}}} }),
	gauge("group_budget_seconds", "How long a boot may take before it has failed.", []string{"group"},
		func(g *v2.Group) []sample {
			if g.Status.EffectiveBudget == nil {
				return nil
			}
			return []sample{{g.Status.EffectiveBudget.Seconds(), []string{g.Name}}}
		}),
	gauge("group_condition", "A condition of the group: 1 true, 0 false, absent while unknown.", []string{"group", "condition"},
		func(g *v2.Group) (samples []sample) {
			for _, c := range g.Status.Conditions {
				if c.Status != metav1.ConditionUnknown {
					samples = append(samples, sample{truth(c.Status == metav1.ConditionTrue), []string{g.Name, c.Type}})
				}
			}
			return samples
		}),
}

var claimLabels = []string{"group", "slot", "claim"}

var claimFamilies = []family[*v2.NodeClaim]{
	gauge("claim_phase", "The claim's phase: 1 for the one it is in.", append(claimLabels, "phase"),
		func(c *v2.NodeClaim) []sample { return oneHot(facts.Phase(c), claimPhases, labelsOf(c)...) }),
	gauge("claim_requested_timestamp_seconds", "When the machine was asked for.", claimLabels,
		func(c *v2.NodeClaim) []sample { return []sample{{seconds(facts.RequestedAt(c)), labelsOf(c)}} }),
	gauge("claim_deadline_timestamp_seconds", "Until when the boot has to be ready; absent once it is.", claimLabels,
		func(c *v2.NodeClaim) []sample {
			if facts.Terminal(c) {
				return nil
			}
			return timestamp(c.Spec.DeadlineAt, labelsOf(c))
		}),
}

func labelsOf(c *v2.NodeClaim) []string {
	return []string{c.Spec.Request.Group, c.Spec.SlotRef.Name, c.Name}
}

func condition(kind string) func(*machine) []sample {
	return func(m *machine) []sample {
		return []sample{{truth(meta.IsStatusConditionTrue(m.slot.Status.Conditions, kind)), m.labels()}}
	}
}

func count(of func(v2.GroupStatus) int32) func(*v2.Group) []sample {
	return func(g *v2.Group) []sample { return []sample{{float64(of(g.Status)), []string{g.Name}}} }
}

// hourlyRate is no sample where the spec says none: an unknown price is not a price of nothing.
func hourlyRate(m *machine) []sample {
	if m.slot.Spec.Pricing == nil {
		return nil
	}
	rate, err := strconv.ParseFloat(m.slot.Spec.Pricing.HourlyRate, 64)
	if err != nil {
		return nil
	}
	return []sample{{rate, m.labels()}}
}

func timestamp(t *metav1.Time, labels []string) []sample {
	if t == nil {
		return nil
	}
	return []sample{{seconds(t.Time), labels}}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
