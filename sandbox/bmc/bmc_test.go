package bmc_test

import (
	"context"
	"net"
	"slices"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// patience is how long a test waits for what must come; nothing that works takes nearly as long.
const patience = 30 * time.Second

// bench is one machine with its panel, in a room without a cluster.
type bench struct {
	*bmc.Panel
	t    *testing.T
	room *machineroom.Room
}

// newBench wires a machine that boots and shuts down in no time.
func newBench(t *testing.T, protocols ...bmc.Protocol) *bench {
	t.Helper()
	room, err := machineroom.Bare(t.Context(), machineroom.Options{
		Dir: t.TempDir(), BootTime: time.Millisecond, ShutdownTime: 200 * time.Millisecond, PowerCommand: []string{"power"}})
	if err != nil {
		t.Fatal(err)
	}
	metal, err := room.AddMachine(machineroom.Machine{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	panel, err := bmc.Wire(t.Context(), metal, bmc.Options{Dir: t.TempDir(), Protocols: protocols})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Panel: panel, t: t, room: room}
	t.Cleanup(b.close)
	return b
}

func (b *bench) close() {
	b.Close()
	if b.t.Failed() {
		for _, event := range b.room.Log() {
			b.t.Log(event)
		}
	}
	if err := b.room.Stop(); err != nil {
		b.t.Error(err)
	}
}

// dial connects to where a protocol is spoken.
func (b *bench) dial(network string, protocol bmc.Protocol) (net.Conn, error) {
	dialer := net.Dialer{Timeout: time.Second}
	return dialer.DialContext(context.WithoutCancel(b.t.Context()), network, b.Address(protocol))
}

func (b *bench) lie(protocol bmc.Protocol, lies bmc.Lies) {
	b.t.Helper()
	if err := b.SetLies(protocol, lies); err != nil {
		b.t.Fatal(err)
	}
}

// up switches the machine on by hand, and waits until its operating system runs.
func (b *bench) up() {
	b.t.Helper()
	if err := b.Machine.Press(b.t.Context(), machineroom.ActionOn, "hand"); err != nil {
		b.t.Fatal(err)
	}
	b.happens(machineroom.BootDone)
}

// happens waits for an event of the machine, past or to come.
func (b *bench) happens(kind machineroom.Kind) machineroom.Event {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	event, err := b.Machine.WaitFor(ctx, machineroom.Is(kind))
	if err != nil {
		b.t.Fatalf("waiting for %s: %v", kind, err)
	}
	return event
}

// by is what the power log says came from a source, in order.
func (b *bench) by(source string) []machineroom.Kind {
	var kinds []machineroom.Kind
	for _, event := range b.room.Log(machineroom.From(source)) {
		if event.Kind != bmc.LiesChanged {
			kinds = append(kinds, event.Kind)
		}
	}
	return kinds
}

// says fails unless exactly that came from a source.
func (b *bench) says(source string, want ...machineroom.Kind) {
	b.t.Helper()
	if got := b.by(source); !slices.Equal(got, want) {
		b.t.Errorf("%s stands in the power log with %v, want %v", source, got, want)
	}
}

func TestPanelsAreChecked(t *testing.T) {
	b := newBench(t)
	tests := map[string]struct {
		do   func() error
		want string
	}{
		"a protocol that is not spoken has no lies": {
			func() error { return b.SetLies(bmc.SSH, bmc.Lies{}) }, "changing the lies of m: it does not speak ssh"},
		"a lie is told never, n times or always": {
			func() error { return b.SetLies(bmc.IPMI, bmc.Lies{DropPackets: -2}) },
			"changing the lies of m over ipmi: dropPackets must be -1 (always), 0 or more, not -2"},
		"an answer is not early": {
			func() error {
				return b.SetLies(bmc.IPMI, bmc.Lies{AnswerLate: lasting(-time.Second)})
			}, "changing the lies of m over ipmi: answerLate must not be negative, is -1s; answerNever is what never comes"},
		"a protocol is spoken once": {
			func() error {
				_, err := bmc.Wire(t.Context(), b.Machine, bmc.Options{Dir: t.TempDir(), Protocols: []bmc.Protocol{bmc.Plug, bmc.Plug}})
				return err
			}, "wiring m: plug is named twice"},
		"a protocol is one there is": {
			func() error {
				_, err := bmc.Wire(t.Context(), b.Machine, bmc.Options{Dir: t.TempDir(), Protocols: []bmc.Protocol{"telnet"}})
				return err
			}, `wiring m: there is no protocol "telnet"; there are [ipmi redfish ssh plug wol]`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.do(); err == nil || err.Error() != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
	if got := b.Speaks(); !slices.Equal(got, []bmc.Protocol{bmc.IPMI}) {
		t.Errorf("by default it speaks %v", got)
	}
}
