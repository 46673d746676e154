// Package policy is every duration and bound that a decision depends on, in one value.
//
// Pure: durations in, durations out. Nothing here reads a clock.
package policy

import (
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Policy holds the durations and bounds in force for one slot. Default gives the design's numbers; For applies a Group.
type Policy struct {
	// StartupJob is how long a startup Job may run, pod scheduling included (default 5m). Budget member.
	StartupJob time.Duration
	// PollReserve pays for seeing the Job's end late (default 30s). Budget member only: no timer implements it.
	PollReserve time.Duration
	// Registration is the time a kubelet is expected to need to register (default 90s). It sizes the budget and is not a
	// timer of its own, since real machines spend minutes in their firmware.
	Registration time.Duration
	// ReadinessGate is how long a registered kubeNode may take to become Ready and free of readiness taints (default 4m).
	ReadinessGate time.Duration
	// UncordonReserve pays for a retried uncordon (default 10s). Budget member only.
	UncordonReserve time.Duration
	// Margin is what is left over for everything that has no name (default 1m). Budget member only.
	Margin time.Duration
	// MaxNodeProvisionTime is the group's own number, told to cluster-autoscaler; it floors the boot deadline. Zero: none.
	MaxNodeProvisionTime time.Duration

	// ShutdownJob is how long a shutdown Job may run (default 5m).
	ShutdownJob time.Duration
	// ShutdownSettle is how long a machine must stay silent after a shutdown Job started before off is believed, and the
	// least time between two shutdown Jobs (default 2m): an operating system takes that long to unmount.
	ShutdownSettle time.Duration
	// Drain bounds the evictions before a shutdown (default 5m).
	Drain time.Duration
	// MachineGone is how long a ready machine may be silent before its claim fails. Zero: one effective budget.
	MachineGone time.Duration

	// MaxAttempts is how many failed boots in a row start the cool-off (3).
	MaxAttempts int32
	// CoolOffBase and CoolOffMax bound the back-off after MaxAttempts failures: 30m, doubling to 6h.
	CoolOffBase, CoolOffMax time.Duration
	// MaxShutdownAttempts is how many started shutdown Jobs one streak may have (3).
	MaxShutdownAttempts int32
	// ShutdownPause is the pause after a spent streak on a machine that still shows life (30m).
	ShutdownPause time.Duration
	// UnclaimedGrace is how long an unclaimed machine may be on before the group's policy acts (2m).
	UnclaimedGrace time.Duration
	// StuckThreshold ends a booting claim that has no deadline and makes no progress (15m), or as much as its boot has where
	// that is longer.
	StuckThreshold time.Duration
	// JoinMinAge is the least age of a claim that joins a machine which is already up (1m): a kubeNode says Ready for
	// most of a minute after its machine died.
	JoinMinAge time.Duration
	// JoinPatience keeps a pending claim from its deadline while its machine is on (2m): a restored claim gets its minute.
	JoinPatience time.Duration
	// SupersedeSettle is the least age of the newer of two live claims before it takes the slot (10s): a provider that
	// lost a race withdraws its claim within that time.
	SupersedeSettle time.Duration
	// PowerConflict is how long kubelet and out-of-band reading may disagree before it is a condition (2m).
	PowerConflict time.Duration
	// ReadingMaxAge is the age past which an out-of-band reading counts as unknown (5m).
	ReadingMaxAge time.Duration
	// ClockSkew is how far the clock of the power observer may differ from the manager's (10s). A reading from further in the
	// future counts as unknown, and one counts as later than a time only when it is later by more than this.
	ClockSkew time.Duration
	// JobPatience is how long a lifecycle Job may be without a running container before somebody is told (1m): an image
	// takes that long at times.
	JobPatience time.Duration
	// StaleTaint is the age of a scale-down taint on a ready claim's kubeNode that is worth an event (10m).
	StaleTaint time.Duration
	// ClaimTTL is how long an ended claim is kept when it does not say itself (3600s).
	ClaimTTL time.Duration
	// ErroredFor is how long a failed boot may stay in the target as an errored instance (2m).
	ErroredFor time.Duration
	// ClientMargin is what the provision time told to cluster-autoscaler adds to our budget (2m), so that our deadline
	// comes first.
	ClientMargin time.Duration

	// ReadinessTaints keep a claim out of ready while the kubeNode carries one.
	ReadinessTaints []v2.ReadinessTaint
	// Unclaimed says what happens to a machine that is on and wanted by nobody.
	Unclaimed v2.UnclaimedPolicy
	// RemoveKubeNode removes the kubeNode after a believed power-off (default true).
	RemoveKubeNode bool
	// JobPriorityClass is the PriorityClass of lifecycle Jobs (default none, which is the cluster's default): on a full
	// cluster a Job without one waits for the very room that the machine it should wake would bring.
	JobPriorityClass string
	// PowerImage is the image of the program power, which works the switches that slots declare (default
	// homecluster.dev/power:latest; a manager that is a release takes the one of its version). Slots with pod specs of their
	// own name their images themselves.
	PowerImage string
}

// PowerRepository is where the images of the program power are.
const PowerRepository = "homecluster.dev/power"

// DefaultPowerImage is the image of the program power where nobody knows of a version.
const DefaultPowerImage = PowerRepository + ":latest"

// Longest is the most that a group or a claim can ask for one duration. Admission refuses more; what was stored before it
// did counts as this much, so that no sum of durations can overflow.
const Longest = 24 * time.Hour

// DefaultReadinessTaints is what a Group that does not say gets: the taint Cilium's agent removes when it is ready.
func DefaultReadinessTaints() []v2.ReadinessTaint {
	return []v2.ReadinessTaint{{Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute}}
}

// Default is the policy of a slot whose group says nothing.
func Default() Policy {
	return Policy{
		StartupJob:      5 * time.Minute,
		PollReserve:     30 * time.Second,
		Registration:    90 * time.Second,
		ReadinessGate:   4 * time.Minute,
		UncordonReserve: 10 * time.Second,
		Margin:          time.Minute,

		ShutdownJob:    5 * time.Minute,
		ShutdownSettle: 2 * time.Minute,
		Drain:          5 * time.Minute,

		MaxAttempts:         3,
		CoolOffBase:         30 * time.Minute,
		CoolOffMax:          6 * time.Hour,
		MaxShutdownAttempts: 3,
		ShutdownPause:       30 * time.Minute,
		UnclaimedGrace:      2 * time.Minute,
		StuckThreshold:      15 * time.Minute,
		JoinMinAge:          time.Minute,
		JoinPatience:        2 * time.Minute,
		SupersedeSettle:     10 * time.Second,
		PowerConflict:       2 * time.Minute,
		ReadingMaxAge:       5 * time.Minute,
		ClockSkew:           10 * time.Second,
		JobPatience:         time.Minute,
		StaleTaint:          10 * time.Minute,
		ClaimTTL:            time.Hour,
		ErroredFor:          2 * time.Minute,
		ClientMargin:        2 * time.Minute,

		ReadinessTaints: DefaultReadinessTaints(),
		Unclaimed:       v2.UnclaimedShutdown,
		RemoveKubeNode:  true,
		PowerImage:      DefaultPowerImage,
	}
}

// For is base with what the group overrides. A nil group (it does not exist) keeps its machines: nothing unclaimed is
// shut down and no kubeNode is removed.
func For(base Policy, group *v2.Group) Policy {
	p := base
	if group == nil {
		p.Unclaimed, p.RemoveKubeNode = v2.UnclaimedIgnore, false
		return p
	}
	spec := group.Spec
	if spec.MaxNodeProvisionTime != nil {
		p.MaxNodeProvisionTime = min(spec.MaxNodeProvisionTime.Duration, Longest)
	}
	if spec.NodeReadinessTaints != nil {
		p.ReadinessTaints = spec.NodeReadinessTaints
	}
	if spec.UnclaimedMachines != "" {
		p.Unclaimed = spec.UnclaimedMachines
	}
	if spec.RemoveNodeAfterShutdown != nil {
		p.RemoveKubeNode = *spec.RemoveNodeAfterShutdown
	}
	p.override(spec.Timeouts)
	return p
}

func (p *Policy) override(t *v2.Timeouts) {
	if t == nil {
		return
	}
	for _, o := range p.overrides(t) {
		if o.from != nil && o.from.Duration > 0 {
			*o.to = min(o.from.Duration, Longest)
		}
	}
}

// Budget is the time one boot may take: the sum of every deadline it can spend in series, 12m10s by default.
func (p Policy) Budget() time.Duration {
	var sum time.Duration
	for _, member := range p.BudgetMembers() {
		sum += member.Duration
	}
	return sum
}

// Member is one named part of the budget.
type Member struct {
	Name     string
	Duration time.Duration
}

// BudgetMembers names the parts of Budget in the order in which a boot spends them.
func (p Policy) BudgetMembers() []Member {
	return []Member{
		{"StartupJob", p.StartupJob},
		{"PollReserve", p.PollReserve},
		{"Registration", p.Registration},
		{"ReadinessGate", p.ReadinessGate},
		{"UncordonReserve", p.UncordonReserve},
		{"Margin", p.Margin},
	}
}

// EffectiveBudget is the budget, floored by the group's own number.
func (p Policy) EffectiveBudget() time.Duration { return max(p.Budget(), p.MaxNodeProvisionTime) }

// MachineGoneAfter is how long a ready machine may be silent.
func (p Policy) MachineGoneAfter() time.Duration {
	if p.MachineGone > 0 {
		return p.MachineGone
	}
	return p.EffectiveBudget()
}

// CoolOff is the back-off after a streak of failed boots: zero below MaxAttempts, then CoolOffBase doubling to CoolOffMax.
func (p Policy) CoolOff(attempt int32) time.Duration {
	if attempt < p.MaxAttempts {
		return 0
	}
	d := p.CoolOffBase
	for range attempt - p.MaxAttempts {
		if d *= 2; d >= p.CoolOffMax {
			return p.CoolOffMax
		}
	}
	return d
}

// Validate checks the relations between the fields. It returns every fault found, joined.
func (p Policy) Validate() error {
	var faults []error
	for _, d := range append(p.BudgetMembers(),
		Member{"ShutdownJob", p.ShutdownJob}, Member{"ShutdownSettle", p.ShutdownSettle}, Member{"Drain", p.Drain},
		Member{"ShutdownPause", p.ShutdownPause}, Member{"CoolOffBase", p.CoolOffBase}, Member{"ClaimTTL", p.ClaimTTL}) {
		if d.Duration <= 0 {
			faults = append(faults, fmt.Errorf("%s must be positive, is %s", d.Name, d.Duration))
		}
	}
	if p.CoolOffMax < p.CoolOffBase {
		faults = append(faults, fmt.Errorf("CoolOffMax %s is below CoolOffBase %s", p.CoolOffMax, p.CoolOffBase))
	}
	if p.JoinPatience < p.JoinMinAge {
		faults = append(faults, fmt.Errorf("JoinPatience %s is below JoinMinAge %s: a joining claim would meet its deadline first", p.JoinPatience, p.JoinMinAge))
	}
	return errors.Join(faults...)
}
