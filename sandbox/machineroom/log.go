package machineroom

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is what happened to a machine.
type Kind string

// The kinds of events. The first group is what the switch was asked, the second what became of the power, the third
// what the operating system did.
const (
	PowerOnRequested    Kind = "PowerOnRequested"
	PowerOnSwallowed    Kind = "PowerOnSwallowed"
	PowerOnRedundant    Kind = "PowerOnRedundant" // the machine was on already
	SoftOffRequested    Kind = "SoftOffRequested"
	SoftOffIgnored      Kind = "SoftOffIgnored"
	PowerOffRequested   Kind = "PowerOffRequested"
	PowerCycleRequested Kind = "PowerCycleRequested"
	CommandDidNothing   Kind = "CommandDidNothing"
	SwitchUnreachable   Kind = "SwitchUnreachable"
	TemperamentChanged  Kind = "TemperamentChanged"

	PoweredOn  Kind = "PoweredOn"
	PoweredOff Kind = "PoweredOff"
	PowerLost  Kind = "PowerLost"

	BootStalled  Kind = "BootStalled"
	BootDone     Kind = "BootDone"
	Registered   Kind = "Registered" // a Node object was created
	Rejoined     Kind = "Rejoined"   // a Node object was there and was taken over
	Ready        Kind = "Ready"      // the API server took the first Ready=True of this boot
	TaintsLifted Kind = "TaintsLifted"
	NodeMissing  Kind = "NodeMissing" // the Node object was deleted under a running kubelet
	Silent       Kind = "Silent"      // the kubelet has written its last word
	Hung         Kind = "Hung"        // silent, and on
	Panicked     Kind = "Panicked"
)

// The sources of events. The room's own switch is followed by a colon and who pressed it, a lifecycle Job's pod by its
// name; a switch that speaks another protocol says which, and with which user's rights it was pressed.
const (
	sourceSwitch = "switch"
	sourceItself = "itself"
	sourceOutage = "outage"
	sourceRoom   = "room"
)

// Event is one line of the power log.
type Event struct {
	Seq     int64     `json:"seq"`
	Time    time.Time `json:"time"`
	Machine string    `json:"machine"`
	Kind    Kind      `json:"kind"`
	// On is whether the machine has power after the event.
	On bool `json:"on"`
	// Source is who caused it: "switch:<who pressed>" or "<protocol>:<user>" for a press, "itself", "outage", or "room" for a
	// machine put in switched on.
	Source string `json:"source,omitempty"`
	Note   string `json:"note,omitempty"`
}

// String is the event on one line, for people and for test failures.
func (e Event) String() string {
	power := "off"
	if e.On {
		power = "on"
	}
	line := fmt.Sprintf("%4d %s %-16s %-4s %-18s %s %s",
		e.Seq, e.Time.Format("15:04:05.000"), e.Machine, power, e.Kind, e.Source, e.Note)
	return strings.TrimRight(line, " ")
}

// Filter selects events; several select what all of them do.
type Filter func(Event) bool

// Of selects the events of one machine.
func Of(machine string) Filter { return func(e Event) bool { return e.Machine == machine } }

// Is selects the events of the given kinds.
func Is(kinds ...Kind) Filter { return func(e Event) bool { return slices.Contains(kinds, e.Kind) } }

// After selects the events later than the one numbered seq.
func After(seq int64) Filter { return func(e Event) bool { return e.Seq > seq } }

// From selects the events whose source begins with prefix.
func From(prefix string) Filter {
	return func(e Event) bool { return strings.HasPrefix(e.Source, prefix) }
}

// powerLog only grows. Each event is also one line of JSON in a file.
type powerLog struct {
	mu     sync.Mutex
	events []Event
	grown  chan struct{}
	file   *os.File
	failed error
}

func openLog(path string) (*powerLog, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening power log: %w", err)
	}
	return &powerLog{file: file, grown: make(chan struct{})}, nil
}

func (l *powerLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Seq, e.Time = int64(len(l.events))+1, time.Now()
	l.events = append(l.events, e)
	close(l.grown)
	l.grown = make(chan struct{})
	line, err := json.Marshal(e)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	if err != nil && l.failed == nil {
		l.failed = fmt.Errorf("writing power log: %w", err)
	}
}

// close returns the first failure to write the file, if there was one.
func (l *powerLog) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.Close(); err != nil && l.failed == nil {
		l.failed = fmt.Errorf("closing power log: %w", err)
	}
	return l.failed
}

func (l *powerLog) find(filters ...Filter) []Event {
	found, _ := l.findAndWatch(filters)
	return found
}

func (l *powerLog) findAndWatch(filters []Filter) ([]Event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []Event
	for _, e := range l.events {
		if !slices.ContainsFunc(filters, func(wanted Filter) bool { return !wanted(e) }) {
			found = append(found, e)
		}
	}
	return found, l.grown
}

// wait returns the first event that the filters select, past or to come.
func (l *powerLog) wait(ctx context.Context, filters ...Filter) (Event, error) {
	for {
		found, grown := l.findAndWatch(filters)
		if len(found) > 0 {
			return found[0], nil
		}
		select {
		case <-ctx.Done():
			return Event{}, fmt.Errorf("waiting for a power event: %w", ctx.Err())
		case <-grown:
		}
	}
}
