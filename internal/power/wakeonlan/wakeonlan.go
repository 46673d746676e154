// Package wakeonlan is a power switch that can only be pressed on, by a magic packet. It gets no answer and cannot be read.
package wakeonlan

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"time"

	"homecluster.dev/autoscaler/internal/power"
)

// Options say which machine is woken, and how.
type Options struct {
	// MAC is the hardware address of the machine's network card.
	MAC string
	// Broadcast is where the packets go: host:port. The directed broadcast address of the segment reaches furthest.
	Broadcast string
	// Packets is how many are sent, a moment apart; the first may be lost while a sleeping switch port wakes up.
	Packets int
	// Pause is between two packets.
	Pause time.Duration
	Clock power.Clock
}

// Switch wakes one machine.
type Switch struct {
	o      Options
	packet []byte
}

// New checks the options; nothing is sent yet.
func New(o Options) (*Switch, error) {
	mac, err := net.ParseMAC(o.MAC)
	if err != nil || len(mac) != 6 {
		return nil, fmt.Errorf("%q is not a MAC address like 52:54:00:12:34:56", o.MAC)
	}
	if _, _, err := net.SplitHostPort(o.Broadcast); err != nil {
		return nil, fmt.Errorf("%q is not a broadcast address like 192.0.2.255:9", o.Broadcast)
	}
	return &Switch{o: o, packet: Packet(mac)}, nil
}

// Packet is the magic packet for a card: six bytes of ones, then its address sixteen times.
func Packet(mac net.HardwareAddr) []byte {
	return append(bytes.Repeat([]byte{0xff}, 6), bytes.Repeat(mac, 16)...)
}

// String names the protocol and the machine's card.
func (s *Switch) String() string { return "wake-on-lan " + s.o.MAC }

// Press sends the packets. That they went out is all that can be known.
func (s *Switch) Press(ctx context.Context, action power.Action) error {
	if action != power.PressOn {
		return fmt.Errorf("%w: a magic packet cannot press %s", power.ErrUnsupported, action)
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "udp", s.o.Broadcast)
	if err != nil {
		return fmt.Errorf("%w: %w", power.ErrUnreachable, err)
	}
	defer func() { _ = conn.Close() }()
	for n := range max(1, s.o.Packets) {
		if n > 0 && s.o.Clock.Sleep(ctx, s.o.Pause) != nil {
			break
		}
		if _, err := conn.Write(s.packet); err != nil && n == 0 {
			return fmt.Errorf("%w: sending to %s: %w", power.ErrUnreachable, s.o.Broadcast, err)
		}
	}
	return nil
}

// State cannot be read.
func (s *Switch) State(context.Context) (power.State, error) {
	return "", fmt.Errorf("%w: a magic packet has no answer", power.ErrUnreadable)
}
