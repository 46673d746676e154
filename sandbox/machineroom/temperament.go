package machineroom

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Times says how often a temper shows: 0 never, n the next n times, Always every time.
type Times int

// Always never wears off.
const Always Times = -1

// Forever stands in place of a duration, and lasts until the temperament is changed. In JSON it is "-1ns".
const Forever = time.Duration(-1)

// SwitchFault is how a power switch fails to answer.
type SwitchFault string

// The faults of a switch; empty means that it answers.
const (
	// SwitchErrors answers every press with an error, and does nothing.
	SwitchErrors SwitchFault = "error"
	// SwitchHangs answers no press until the temperament is changed or the caller gives up, and does nothing.
	SwitchHangs SwitchFault = "hang"
)

// Temperament is the ways in which a machine misbehaves. The zero value is a good machine. Each field is looked at
// when its moment comes, and a wait that is under way follows a change at once.
type Temperament struct {
	// NeverBoots keeps the machine in its firmware: the power is on and no kubelet comes.
	NeverBoots bool `json:"neverBoots,omitzero"`
	// SlowBoot is added to the boot time.
	SlowBoot metav1.Duration `json:"slowBoot,omitzero"`
	// TaintLingers keeps the startup taints that much longer. A machine without any gets the one that groups wait for
	// by default, also on a kubeNode that was there before.
	TaintLingers metav1.Duration `json:"taintLingers,omitzero"`
	// SwallowPowerOn accepts a power-on and does nothing.
	SwallowPowerOn Times `json:"swallowPowerOn,omitzero"`
	// IgnoreSoftOff accepts a soft-off and does nothing.
	IgnoreSoftOff Times `json:"ignoreSoftOff,omitzero"`
	// HangOnShutdown keeps the power on that long after a soft shutdown should have cut it; the kubelet is silent.
	HangOnShutdown metav1.Duration `json:"hangOnShutdown,omitzero"`
	// CommandDoesNothing answers any press of the switch with success without pressing it.
	CommandDoesNothing Times `json:"commandDoesNothing,omitzero"`
	// DiesAfter ends the machine that long after it became ready; 0 lets it live.
	DiesAfter metav1.Duration `json:"diesAfter,omitzero"`
	// DiesWithPowerOn makes that end a kernel panic, silent with the power on, instead of a loss of power.
	DiesWithPowerOn bool `json:"diesWithPowerOn,omitzero"`
	// ComesBack turns the machine on again by itself, ComesBackAfter its power went.
	ComesBack      Times           `json:"comesBack,omitzero"`
	ComesBackAfter metav1.Duration `json:"comesBackAfter,omitzero"`
	// StartupSwitch and ShutdownSwitch are how the switch fails when it is pressed on, and off or soft.
	StartupSwitch  SwitchFault `json:"startupSwitch,omitzero"`
	ShutdownSwitch SwitchFault `json:"shutdownSwitch,omitzero"`
}

// Validate refuses what a machine could not show.
func (t Temperament) Validate() error {
	for name, fault := range map[string]SwitchFault{"startupSwitch": t.StartupSwitch, "shutdownSwitch": t.ShutdownSwitch} {
		if fault != "" && fault != SwitchErrors && fault != SwitchHangs {
			return fmt.Errorf("%s must be %q, %q or empty, not %q", name, SwitchErrors, SwitchHangs, fault)
		}
	}
	for name, times := range map[string]Times{
		"swallowPowerOn": t.SwallowPowerOn, "ignoreSoftOff": t.IgnoreSoftOff,
		"commandDoesNothing": t.CommandDoesNothing, "comesBack": t.ComesBack,
	} {
		if times < Always {
			return fmt.Errorf("%s must be %d (always), 0 or more, not %d", name, Always, times)
		}
	}
	return nil
}

// Spend uses up one time, and says whether there was one.
func (t *Times) Spend() bool {
	if *t > 0 {
		*t--
		return true
	}
	return *t == Always
}
