package bmc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	ipmi "github.com/bougou/go-ipmi/pkg/bmc"
	"github.com/bougou/go-ipmi/pkg/hal"
	"github.com/bougou/go-ipmi/pkg/hal/mock"
	"github.com/bougou/go-ipmi/pkg/server"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// The controller's one user, beside the nameless first, and its one LAN channel.
const (
	ipmiUser    = 2
	ipmiChannel = 1
)

// serveIPMI is the machine's baseboard controller: IPMI 2.0 over LAN with the cipher suites 3 and 17, four sessions at a
// time as real ones have, and nothing of IPMI 1.5.
func serveIPMI(w *wire, host string, c Credentials) (address string, stop func(), err error) {
	l := &line{w: w}
	info := ipmi.DeviceInfo{DeviceID: 0x20, FirmwareMajor: 1, IPMIVersion: 0x02}
	controller := ipmi.New(info, [16]byte{}, board{mock.New(), chassis{&mock.Chassis{}, l, c.User}}, ipmi.WithV15Disabled())
	if err := addUser(controller, c); err != nil {
		return "", nil, fmt.Errorf("adding the controller's user: %w", err)
	}
	w.learn = func(lies Lies) {
		password := c.Password
		if lies.RejectPassword {
			password = "another"
		}
		// The user is there: it was added above and nothing removes it.
		_ = controller.Users.Update(ipmiUser, setPassword(password))
	}
	if l.Conn, err = udp.Listen(net.JoinHostPort(host, "0")); err != nil {
		return "", nil, fmt.Errorf("listening for %s: %w", w.protocol, err)
	}
	s := server.NewServer(controller, l)
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(w.ctx) })
	return l.LocalAddr().String(), func() {
		_ = s.Close()
		done.Wait()
	}, nil
}

func addUser(controller *ipmi.BMC, c Credentials) error {
	if _, err := controller.Users.Add(ipmiUser, c.User); err != nil {
		return err
	}
	return controller.Users.Update(ipmiUser, func(u *ipmi.User) error {
		u.Enabled = true
		u.ChannelAccess = map[uint8]ipmi.UserChannelAccess{
			ipmiChannel: {MaxPrivilege: ipmi.PrivilegeLevelAdministrator, Enabled: true},
		}
		return setPassword(c.Password)(u)
	})
}

func setPassword(password string) func(*ipmi.User) error {
	return func(u *ipmi.User) error {
		u.SetPassword([]byte(password))
		return nil
	}
}

// board is what the controller sits on: a chassis with a power switch, and nothing else of interest.
type board struct {
	*mock.HAL
	chassis chassis
}

func (b board) Chassis() hal.ChassisHAL { return b.chassis }

// chassis is the machine as its controller sees it. A request has no context of its own: it may last as long as the
// panel.
type chassis struct {
	*mock.Chassis
	line *line
	user string
}

func (c chassis) PowerState(context.Context) (bool, error) {
	w := c.line.w
	return w.isOn(w.ctx, c.user), nil
}

func (c chassis) SetPower(_ context.Context, on bool) error {
	if on {
		return c.press(machineroom.ActionOn)
	}
	return c.press(machineroom.ActionOff)
}

// WarmReset is what the library makes of a soft shutdown.
func (c chassis) WarmReset(context.Context) error { return c.press(machineroom.ActionSoft) }

func (c chassis) PowerCycle(context.Context) error { return c.press(machineroom.ActionCycle) }

func (c chassis) ColdReset(context.Context) error { return c.press(machineroom.ActionCycle) }

func (c chassis) press(action machineroom.Action) error {
	err := c.line.w.press(c.line.w.ctx, action, c.user, "")
	switch {
	case errors.Is(err, errHungUp):
		c.line.lose.Add(1)
		return nil
	case errors.Is(err, machineroom.ErrNotOn):
		return types.CodeNotSupported // in the present state, the standard says
	case err != nil:
		return types.CodeNodeBusy
	}
	return nil
}
