package machineroom

import "context"

// Log returns the events so far that all filters select, in their order.
func (r *Room) Log(filters ...Filter) []Event { return r.log.find(filters...) }

// LogFile is the file with the same events, one line of JSON each.
func (r *Room) LogFile() string { return r.log.file.Name() }

// WaitFor returns the first event that all filters select, past or to come. After(seq) leaves the past out.
func (r *Room) WaitFor(ctx context.Context, filters ...Filter) (Event, error) {
	return r.log.wait(ctx, filters...)
}

// LastSeq is the number of the newest event, 0 before the first.
func (r *Room) LastSeq() int64 { return int64(len(r.log.find())) }

// PowerOns is how often the machine went from off to on, whoever caused it.
func (r *Room) PowerOns(machine string) int { return len(r.Log(Of(machine), Is(PoweredOn))) }

// PowerOnRequests is how often its switch took a power-on, whatever came of it.
func (r *Room) PowerOnRequests(machine string) int {
	return len(r.Log(Of(machine), Is(PowerOnRequested)))
}

// DoubleBoots is how often a power-on was asked of the machine while it was on already.
func (r *Room) DoubleBoots(machine string) int { return len(r.Log(Of(machine), Is(PowerOnRedundant))) }

// PowerOffs is how often its power went, whoever caused it.
func (r *Room) PowerOffs(machine string) int {
	return len(r.Log(Of(machine), Is(PoweredOff, PowerLost)))
}

// IsOn says whether the machine has power. A machine that is not in the room has none.
func (r *Room) IsOn(machine string) bool {
	m := r.Machine(machine)
	return m != nil && m.Status().On
}

// On returns the names of the machines that have power.
func (r *Room) On() []string {
	var names []string
	for _, m := range r.Machines() {
		if m.Status().On {
			names = append(names, m.Name())
		}
	}
	return names
}
