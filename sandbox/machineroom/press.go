package machineroom

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Action is what a switch can be asked.
type Action string

// The actions of a switch.
const (
	// ActionOn presses the power button of a machine that is off; on one that is on it does nothing.
	ActionOn Action = "on"
	// ActionOff cuts the power.
	ActionOff Action = "off"
	// ActionSoft asks the operating system to shut down; without one that runs it does nothing.
	ActionSoft Action = "soft"
	// ActionCycle cuts the power and gives it again; a machine that is off stays off, and ErrNotOn is returned.
	ActionCycle Action = "cycle"
)

// ErrSwitchUnreachable is returned for a press that did not reach the machine.
var ErrSwitchUnreachable = errors.New("the power switch does not answer")

// ErrUnknownAction is returned for anything that is not an Action.
var ErrUnknownAction = errors.New("a power switch knows on, off, soft and cycle")

// ErrNotOn is returned for the cycle of a machine that is off.
var ErrNotOn = errors.New("the machine is off, and is not switched on by a power cycle")

// Press works the switch. Success means that the switch took the press, not that anything came of it.
func (m *Metal) Press(ctx context.Context, action Action, source string) error {
	switch action {
	case ActionOn, ActionOff, ActionSoft, ActionCycle:
	default:
		return fmt.Errorf("pressing %q: %w", action, ErrUnknownAction)
	}
	if err := m.reach(ctx, action, source); err != nil {
		return fmt.Errorf("pressing %s of %s: %w", action, m.spec.Name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.temper.CommandDoesNothing.Spend():
		m.note(CommandDidNothing, source, string(action))
	case action == ActionOn:
		m.pressOn(source)
	case action == ActionSoft:
		m.pressSoft(source)
	case action == ActionCycle:
		return m.pressCycle(source)
	default:
		m.note(PowerOffRequested, source, "")
		m.cut(PoweredOff, source)
	}
	return nil
}

func (m *Metal) pressOn(source string) {
	m.note(PowerOnRequested, source, "")
	switch {
	case m.temper.SwallowPowerOn.Spend():
		m.note(PowerOnSwallowed, source, "")
	case m.state != Off:
		m.note(PowerOnRedundant, source, string(m.state))
	default:
		m.turnOn(source)
	}
}

func (m *Metal) pressSoft(source string) {
	m.note(SoftOffRequested, source, "")
	switch {
	case m.state != Up:
		m.note(SoftOffIgnored, source, "no operating system runs: "+string(m.state))
	case m.temper.IgnoreSoftOff.Spend():
		m.note(SoftOffIgnored, source, "")
	default:
		m.goDown(source)
	}
}

func (m *Metal) pressCycle(source string) error {
	m.note(PowerCycleRequested, source, "")
	if m.state == Off {
		return fmt.Errorf("pressing cycle of %s: %w", m.spec.Name, ErrNotOn)
	}
	m.cut(PoweredOff, source)
	m.turnOn(source)
	return nil
}

// reach is the way to the switch, which a temperament can block. A press that hangs is never made later.
func (m *Metal) reach(ctx context.Context, action Action, source string) error {
	if m.ctx.Err() != nil {
		return ErrSwitchUnreachable
	}
	m.mu.Lock()
	fault, changed := m.temper.ShutdownSwitch, m.changed
	if action == ActionOn {
		fault = m.temper.StartupSwitch
	}
	if fault != "" {
		m.note(SwitchUnreachable, source, fmt.Sprintf("%s: %s", action, fault))
	}
	m.mu.Unlock()
	switch fault {
	case "":
		return nil
	case SwitchHangs:
		select {
		case <-ctx.Done():
		case <-m.ctx.Done():
		case <-changed:
		}
	}
	return ErrSwitchUnreachable
}

// describe is a temperament as the log shows it.
func describe(t Temperament) string {
	if t == (Temperament{}) {
		return "good"
	}
	// A struct of numbers and strings cannot fail to encode.
	text, _ := json.Marshal(t)
	return string(text)
}
