package standin

import (
	"maps"
	"slices"
	"time"
)

// Memory is what the client knows beyond one snapshot. It is a value: Decide returns the next one and leaves the old
// one alone. It dies with the process, as the real client's does.
type Memory struct {
	// Started is whether a pass was made before this one.
	Started bool
	// Unregistered is since when an instance has been listed without a kubeNode.
	Unregistered map[string]time.Time
	// Idle is since when a kubeNode has had nothing to run.
	Idle map[string]time.Time
	// Faults are the groups that rest after a fault, or did so lately.
	Faults map[string]Fault
	// Errored are the instances whose failure has been counted.
	Errored map[string]bool
	// ScaledUpAt is when a machine was last asked for.
	ScaledUpAt time.Time
}

// Fault is the back-off of one group.
type Fault struct {
	// At is when the last fault was seen, Wait how long the group rests for it.
	At   time.Time
	Wait time.Duration
}

// Until is when the group may be asked again.
func (f Fault) Until() time.Time { return f.At.Add(f.Wait) }

func (m Memory) clone() Memory {
	m.Unregistered, m.Idle = cloneMap(m.Unregistered), cloneMap(m.Idle)
	m.Faults, m.Errored = cloneMap(m.Faults), cloneMap(m.Errored)
	return m
}

func cloneMap[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return map[K]V{}
	}
	return maps.Clone(m)
}

// Fault is the memory after a fault of the group: the first costs config.BackOff, each further one twice the last.
func (m Memory) Fault(group string, now time.Time, config Config) Memory {
	m = m.clone()
	wait := config.BackOff
	if last, known := m.Faults[group]; known && now.Sub(last.Until()) < config.ForgetFaults {
		wait = min(2*last.Wait, config.MaxBackOff)
	}
	m.Faults[group] = Fault{At: now, Wait: wait}
	return m
}

// resting is whether the group is in back-off.
func (m Memory) resting(group string, now time.Time) bool {
	fault, known := m.Faults[group]
	return known && now.Before(fault.Until())
}

// keepOnly forgets what is remembered of anything that keep does not name.
func keepOnly[V any](m map[string]V, keep []string) {
	maps.DeleteFunc(m, func(key string, _ V) bool { return !slices.Contains(keep, key) })
}
