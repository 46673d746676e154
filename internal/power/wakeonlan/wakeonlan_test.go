package wakeonlan

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net"
	"testing"
	"time"

	"homecluster.dev/autoscaler/internal/power"
)

// instant is a clock on which waiting takes no time.
type instant struct{ waited time.Duration }

func (*instant) Now() time.Time { return time.Time{} }

func (i *instant) Sleep(_ context.Context, d time.Duration) error {
	i.waited += d
	return nil
}

func TestThreeMagicPacketsAreBroadcast(t *testing.T) {
	card, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp4", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = card.Close() }()
	_, port, err := net.SplitHostPort(card.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	clock := &instant{}
	s, err := New(Options{MAC: "52:54:00:12:34:56", Broadcast: "127.255.255.255:" + port, Packets: 3, Pause: time.Second, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Press(t.Context(), power.PressOn); err != nil {
		t.Fatal(err)
	}
	want, err := hex.DecodeString("ffffffffffff" + string(bytes.Repeat([]byte("525400123456"), 16)))
	if err != nil {
		t.Fatal(err)
	}
	if err := card.SetReadDeadline(time.Now().Add(5 * time.Second)); err != nil {
		t.Fatal(err)
	}
	for n := range 3 {
		packet := make([]byte, 1500)
		length, _, err := card.ReadFrom(packet)
		if err != nil || !bytes.Equal(packet[:length], want) {
			t.Fatalf("packet %d is %x, %v", n+1, packet[:length], err)
		}
	}
	if clock.waited != 2*time.Second {
		t.Errorf("between the packets it waited %s", clock.waited)
	}
}

func TestAMagicPacketCanOnlyWake(t *testing.T) {
	s, err := New(Options{MAC: "52-54-00-12-34-56", Broadcast: "192.0.2.255:9"})
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []power.Action{power.PressOff, power.PressSoft, power.PressCycle} {
		if err := s.Press(t.Context(), action); !errors.Is(err, power.ErrUnsupported) {
			t.Errorf("%s: %v", action, err)
		}
	}
	if state, err := s.State(t.Context()); state != "" || !errors.Is(err, power.ErrUnreadable) {
		t.Errorf("its state is %q, %v", state, err)
	}
}

func TestAddressesThatCannotBe(t *testing.T) {
	for _, o := range []Options{
		{MAC: "", Broadcast: "192.0.2.255:9"}, {MAC: "worker-01", Broadcast: "192.0.2.255:9"},
		{MAC: "00:00:00:00:fe:80:00:00", Broadcast: "192.0.2.255:9"}, {MAC: "52:54:00:12:34:56", Broadcast: "192.0.2.255"},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
