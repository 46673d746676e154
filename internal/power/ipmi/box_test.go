package ipmi

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"
)

// box is a BMC of go-ipmi's, whose chassis does as a test says.
type box struct {
	*mock.Chassis
	mu    sync.Mutex
	on    bool
	log   []string
	slow  time.Duration
	fault error
}

// board is the hardware around it.
type board struct {
	*mock.HAL
	box *box
}

func (b board) Chassis() hal.ChassisHAL { return b.box }

func (b *box) done(what string, on bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, what)
	if b.fault != nil {
		return b.fault
	}
	b.on = on
	return nil
}

func (b *box) PowerState(context.Context) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.on, nil
}

func (b *box) SetPower(ctx context.Context, on bool) error {
	b.wait(ctx)
	return b.done(map[bool]string{true: "on", false: "off"}[on], on)
}
func (b *box) PowerCycle(context.Context) error { return b.done("cycle", true) }
func (b *box) WarmReset(context.Context) error  { return b.done("soft", false) } // how its server hands on a soft shutdown

func (b *box) wait(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(b.slow):
	}
}

// serve starts the BMC and returns its address.
func (b *box) serve(t testing.TB, suites ...types.CipherSuiteID) string {
	t.Helper()
	b.Chassis = &mock.Chassis{}
	var options []bmc.Option
	if len(suites) > 0 {
		options = append(options, bmc.WithCipherSuites(suites))
	}
	machine := bmc.New(bmc.DeviceInfo{DeviceID: 0x20, IPMIVersion: 0x02}, [16]byte{1}, board{mock.New(), b}, options...)
	for id, name := range []string{2: "admin", 3: "viewer"} {
		if name == "" {
			continue
		}
		level := map[string]bmc.PrivilegeLevel{"admin": bmc.PrivilegeLevelAdministrator, "viewer": bmc.PrivilegeLevelUser}[name]
		if _, err := machine.Users.Add(uint8(id), name); err != nil {
			t.Fatal(err)
		}
		if err := machine.Users.Update(uint8(id), func(u *bmc.User) error {
			u.SetPassword([]byte("secret"))
			u.Enabled = true
			access := u.ChannelAccess[1]
			access.Enabled, access.MaxPrivilege = true, level
			u.ChannelAccess[1] = access
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	conn, err := udp.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = conn.Close() })
	go func() { _ = server.NewServer(machine, conn).Serve(ctx) }()
	return conn.LocalAddr().String()
}

// between relays datagrams to a BMC and hands what comes back to mangle, which says what the client gets instead; n counts
// the answers from 1.
func between(t testing.TB, bmc string, mangle func(n int, answer []byte) [][]byte) string {
	t.Helper()
	return tapped(t, bmc, func([]byte) {}, mangle)
}

// tapped is between, and shows each datagram that goes to the BMC.
func tapped(t testing.TB, bmc string, sent func(datagram []byte), mangle func(n int, answer []byte) [][]byte) string {
	t.Helper()
	front, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = front.Close() })
	go func() {
		buffer, back, n := make([]byte, 4096), net.Conn(nil), 0
		for {
			length, client, err := front.ReadFrom(buffer)
			if err != nil {
				return
			}
			if back == nil {
				if back, err = (&net.Dialer{}).DialContext(t.Context(), "udp", bmc); err != nil {
					return
				}
				defer func() { _ = back.Close() }()
			}
			sent(buffer[:length])
			_, _ = back.Write(buffer[:length])
			_ = back.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			answer := make([]byte, 4096)
			length, err = back.Read(answer)
			if err != nil {
				continue
			}
			n++
			for _, datagram := range mangle(n, answer[:length]) {
				_, _ = front.WriteTo(datagram, client)
			}
		}
	}()
	return front.LocalAddr().String()
}
