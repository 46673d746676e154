// Package ipmi is a power switch that speaks IPMI 2.0 over the network (RMCP+, lanplus), on github.com/bougou/go-ipmi.
//
// A library that repeats a request on silence repeats a command that may have run, so here only the session and the
// reading are repeated; a chassis control is sent once.
package ipmi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"

	"homecluster.dev/autoscaler/internal/power"
)

// Port is where a BMC listens.
const Port = "623"

// Options say which BMC is meant and who we are.
type Options struct {
	// Address is host:port.
	Address            string
	Username, Password string
	// CipherSuite is 17 or 3; 0 tries 17, then 3.
	CipherSuite int
	// Administrator asks for that privilege. Without it Operator is asked for, which is enough to work the power.
	Administrator bool
	// Timeout bounds the wait for the answer to a command. A packet of the session is repeated after a fifth of it.
	Timeout time.Duration
}

// Switch is a BMC.
type Switch struct {
	o    Options
	host string
	port int
}

// New checks the options; nothing is sent yet.
func New(o Options) (*Switch, error) {
	host, port, err := net.SplitHostPort(o.Address)
	number, bad := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil || bad != nil || host == "":
		return nil, fmt.Errorf("%q is not an address like bmc.lan:623", o.Address)
	case o.CipherSuite != 0 && o.CipherSuite != 3 && o.CipherSuite != 17:
		return nil, fmt.Errorf("cipher suite %d is not one of 3 and 17; the others are weak or not in use", o.CipherSuite)
	case len(o.Username) > 16 || len(o.Password) > 20:
		return nil, fmt.Errorf("%w: IPMI has user names of at most 16 and passwords of at most 20 bytes", power.ErrCredentials)
	}
	return &Switch{o: o, host: host, port: int(number)}, nil
}

// String names the protocol and the address.
func (s *Switch) String() string { return "ipmi " + s.o.Address }

// controls are the chassis controls for the actions.
var controls = map[power.Action]chassis.ChassisControl{
	power.PressOn:    chassis.ChassisControlPowerUp,
	power.PressOff:   chassis.ChassisControlPowerDown,
	power.PressSoft:  chassis.ChassisControlSoftShutdown,
	power.PressCycle: chassis.ChassisControlPowerCycle,
}

// Press sends a chassis control, once.
func (s *Switch) Press(ctx context.Context, action power.Action) error {
	return s.within(ctx, func(ctx context.Context, c *session) error {
		c.WithRetry(0).WithTimeout(s.o.Timeout)
		_, err := c.ChassisControl(ctx, controls[action])
		if err == nil {
			return nil
		}
		verdict := c.fault(err)
		switch {
		case errors.Is(verdict, power.ErrUnreachable) || errors.Is(verdict, power.ErrGarbled):
			verdict = fmt.Errorf("%w within %s", power.ErrUnanswered, s.o.Timeout)
		case unfinished(err):
			verdict = fmt.Errorf("%w: %s", power.ErrUnanswered, said(err))
		}
		return fmt.Errorf("chassis control %s: %w", action, verdict)
	})
}

// State reads the chassis status.
func (s *Switch) State(ctx context.Context) (power.State, error) {
	state := power.Off
	err := s.within(ctx, func(ctx context.Context, c *session) error {
		status, err := c.GetChassisStatus(ctx)
		if err != nil {
			return fmt.Errorf("chassis status: %w", c.fault(err))
		}
		if status.PowerIsOn {
			state = power.On
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return state, nil
}

// repeats is how often a packet of the session, or a reading, is sent again on silence.
const repeats = 2

// within opens a session, does the work in it and closes it.
func (s *Switch) within(ctx context.Context, work func(context.Context, *session) error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%w: %v", power.ErrGarbled, broken)
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, 2*s.o.Timeout)
	defer cancel()
	suites := []types.CipherSuiteID{types.CipherSuiteID17, types.CipherSuiteID3}
	if s.o.CipherSuite != 0 {
		suites = []types.CipherSuiteID{types.CipherSuiteID(s.o.CipherSuite)}
	}
	for _, suite := range suites {
		if err = s.once(ctx, suite, work); !errors.Is(err, errNoSuite) {
			return err
		}
	}
	return err
}

func (s *Switch) once(ctx context.Context, suite types.CipherSuiteID, work func(context.Context, *session) error) error {
	c, err := s.client(ctx, suite)
	if err != nil {
		return err
	}
	defer c.end(ctx)
	if err := c.begin(ctx); err != nil {
		return err
	}
	return work(ctx, c)
}

// session is one login at the BMC.
type session struct {
	*client.Client
	timeout   time.Duration
	privilege types.PrivilegeLevel
	heard     *atomic.Bool
}

func (s *Switch) client(ctx context.Context, suite types.CipherSuiteID) (*session, error) {
	c, err := client.NewClient(s.host, s.port, s.o.Username, s.o.Password)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", power.ErrCredentials, err)
	}
	privilege := types.PrivilegeLevelOperator
	if s.o.Administrator {
		privilege = types.PrivilegeLevelAdministrator
	}
	heard := &atomic.Bool{}
	guard := guard{ctx: ctx, address: s.o.Address, suite: suite, username: s.o.Username, password: s.o.Password, heard: heard}
	c.WithUDPProxy(guard).WithMaxPrivilegeLevel(privilege).WithCipherSuiteID(suite).WithTimeout(s.o.Timeout / 5).WithRetry(repeats)
	return &session{Client: c, timeout: s.o.Timeout, privilege: privilege, heard: heard}, nil
}

// begin logs in step by step, to know at which step it failed.
func (c *session) begin(ctx context.Context) error {
	if _, err := c.OpenSession(ctx); err != nil {
		return fmt.Errorf("opening a session: %w", c.fault(err))
	}
	if _, err := c.RAKPMessage1(ctx); err != nil {
		return fmt.Errorf("logging in: %w", c.fault(err))
	}
	if _, err := c.RAKPMessage3(ctx); err != nil {
		return fmt.Errorf("logging in: %w", c.fault(err))
	}
	if _, err := c.SetSessionPrivilegeLevel(ctx, c.privilege); err != nil {
		return fmt.Errorf("becoming %s: %w", c.privilege, c.fault(err))
	}
	return nil
}

// end closes the session, so that its slot in the BMC is free, without waiting long for a BMC that is silent.
func (c *session) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.timeout/5)
	defer cancel()
	_ = c.WithRetry(0).Close(ctx)
}
