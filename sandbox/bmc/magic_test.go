package bmc_test

import (
	"bytes"
	"net"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// send puts a magic packet on the wire.
func (b *bench) send(mac net.HardwareAddr) {
	b.t.Helper()
	conn, err := b.dial("udp", bmc.WakeOnLAN)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	packet := append(bytes.Repeat([]byte{0xff}, 6), bytes.Repeat(mac, 16)...)
	if _, err := conn.Write(packet); err != nil {
		b.t.Fatal(err)
	}
}

func TestMagicPacketsWakeTheMachine(t *testing.T) {
	b := newBench(t, bmc.WakeOnLAN)
	b.send(net.HardwareAddr{2, 0, 0, 0, 0, 1}) // for somebody else
	b.send(b.MAC[:5])                          // not a packet
	b.send(b.MAC)
	if source := b.happens(machineroom.PoweredOn).Source; source != "wol" {
		t.Errorf("the power-on came from %q", source)
	}
	b.send(b.MAC) // and nobody waits for it
	b.lie(bmc.WakeOnLAN, bmc.Lies{DropPackets: 1})
	b.send(b.MAC)
	b.happens(bmc.PacketDropped)
	b.says("wol", machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.PacketDropped)
}

func TestMagicPacketsGetLost(t *testing.T) {
	tests := map[string]struct {
		lies bmc.Lies
		lost machineroom.Kind
	}{
		"on the way":          {bmc.Lies{DropPackets: 1}, bmc.PacketDropped},
		"in the card":         {bmc.Lies{SwallowPowerOn: 1}, machineroom.PowerOnSwallowed},
		"in a card that nods": {bmc.Lies{DoNothing: 1}, machineroom.CommandDidNothing},
		"for good":            {bmc.Lies{AnswerNever: true}, bmc.AnswerWithheld},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, bmc.WakeOnLAN)
			b.lie(bmc.WakeOnLAN, test.lies)
			b.send(b.MAC)
			b.happens(test.lost)
			b.lie(bmc.WakeOnLAN, bmc.Lies{AnswerLate: lasting(time.Millisecond)})
			b.send(b.MAC)
			b.happens(machineroom.PoweredOn)
			b.says("wol", test.lost, bmc.AnswerDelayed, machineroom.PowerOnRequested, machineroom.PoweredOn)
		})
	}
}
