package bmc_test

import (
	"context"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/client"
	"github.com/bougou/go-ipmi/pkg/command/chassis"
	"github.com/bougou/go-ipmi/pkg/types"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// rejected is what the client says of a wrong password; as an error it is lost among those of the cipher suites.
const rejected = "RAKP2 authentication code mismatch"

func lasting(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

// dialIPMI logs in at the panel's controller. What is sent gets no second chance unless retries says so.
func (b *bench) dialIPMI(suite types.CipherSuiteID, retries int) (*client.Client, error) {
	b.t.Helper()
	host, port, err := net.SplitHostPort(b.Address(bmc.IPMI))
	if err != nil {
		b.t.Fatal(err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		b.t.Fatal(err)
	}
	c, err := client.NewClient(host, number, b.Credentials.User, b.Credentials.Password)
	if err != nil {
		b.t.Fatal(err)
	}
	c.WithTimeout(2 * time.Second).WithRetry(retries).WithCipherSuiteID(suite)
	return c, c.Connect(b.t.Context())
}

func (b *bench) ipmi() *client.Client {
	b.t.Helper()
	c, err := b.dialIPMI(types.CipherSuiteID17, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func (b *bench) control(c *client.Client, control chassis.ChassisControl) error {
	_, err := c.ChassisControl(b.t.Context(), control)
	return err
}

func (b *bench) isOnByIPMI(c *client.Client) bool {
	b.t.Helper()
	status, err := c.GetChassisStatus(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return status.PowerIsOn
}

func TestIPMIWorksTheMachine(t *testing.T) {
	for name, suite := range map[string]types.CipherSuiteID{"cipher suite 3": types.CipherSuiteID3, "cipher suite 17": types.CipherSuiteID17} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			c, err := b.dialIPMI(suite, 0)
			if err != nil {
				t.Fatal(err)
			}
			if b.isOnByIPMI(c) {
				t.Error("a machine that is off is said to be on")
			}
			if err := b.control(c, chassis.ChassisControlPowerCycle); err == nil || !strings.Contains(err.Error(), "d5") {
				t.Errorf("a machine that is off was cycled: %v", err)
			}
			for _, step := range []struct {
				control chassis.ChassisControl
				until   machineroom.Kind
			}{
				{chassis.ChassisControlPowerUp, machineroom.BootDone}, {chassis.ChassisControlPowerUp, machineroom.PowerOnRedundant},
				{chassis.ChassisControlSoftShutdown, machineroom.PoweredOff},
			} {
				if err := b.control(c, step.control); err != nil {
					t.Fatal(err)
				}
				b.happens(step.until)
			}
			b.says("ipmi", machineroom.PowerCycleRequested, machineroom.PowerOnRequested, machineroom.PoweredOn,
				machineroom.PowerOnRequested, machineroom.PowerOnRedundant, machineroom.SoftOffRequested, machineroom.Silent, machineroom.PoweredOff)
			if source := b.happens(machineroom.PoweredOn).Source; source != "ipmi:admin" {
				t.Errorf("the power-on came from %q", source)
			}
		})
	}
}

func TestIPMICutsAndCycles(t *testing.T) {
	b := newBench(t)
	c := b.ipmi()
	b.up()
	for _, control := range []chassis.ChassisControl{chassis.ChassisControlPowerCycle, chassis.ChassisControlHardReset, chassis.ChassisControlPowerDown} {
		if err := b.control(c, control); err != nil {
			t.Fatal(err)
		}
	}
	b.says("ipmi", machineroom.PowerCycleRequested, machineroom.PoweredOff, machineroom.PoweredOn,
		machineroom.PowerCycleRequested, machineroom.PoweredOff, machineroom.PoweredOn, machineroom.PowerOffRequested, machineroom.PoweredOff)
	if b.isOnByIPMI(c) {
		t.Error("the machine is on")
	}
}

func TestIPMIRefusesWhoIsNotKnown(t *testing.T) {
	b := newBench(t)
	b.Credentials.Password = "guessed"
	if _, err := b.dialIPMI(types.CipherSuiteID3, 0); err == nil || !strings.Contains(err.Error(), rejected) {
		t.Errorf("a wrong password: %v", err)
	}
	b.says("ipmi")
}

// TestIPMILies plays the lies that a chassis command shows.
func TestIPMILies(t *testing.T) {
	tests := map[string]struct {
		lies    bmc.Lies
		control chassis.ChassisControl
		fails   string
		log     []machineroom.Kind
	}{
		"a power-on is swallowed":           {bmc.Lies{SwallowPowerOn: 1}, chassis.ChassisControlPowerUp, "", []machineroom.Kind{machineroom.PowerOnSwallowed}},
		"anything is answered and not done": {bmc.Lies{DoNothing: 1}, chassis.ChassisControlPowerUp, "", []machineroom.Kind{machineroom.CommandDidNothing}},
		"the answer is late": {bmc.Lies{AnswerLate: lasting(20 * time.Millisecond)}, chassis.ChassisControlPowerUp, "",
			[]machineroom.Kind{machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.AnswerDelayed}},
		"it is done and not answered": {bmc.Lies{HangUp: 1}, chassis.ChassisControlPowerUp, "deadline",
			[]machineroom.Kind{machineroom.PowerOnRequested, machineroom.PoweredOn, bmc.HungUp}},
		"nothing is answered": {bmc.Lies{AnswerNever: true}, chassis.ChassisControlPowerUp, "deadline", []machineroom.Kind{bmc.AnswerWithheld}},
		"a packet is lost":    {bmc.Lies{DropPackets: 1}, chassis.ChassisControlPowerUp, "deadline", []machineroom.Kind{bmc.PacketDropped}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			c := b.ipmi()
			b.lie(bmc.IPMI, test.lies)
			err := b.control(c, test.control)
			b.lie(bmc.IPMI, bmc.Lies{})
			if (err == nil) != (test.fails == "") || err != nil && !strings.Contains(err.Error(), test.fails) {
				t.Errorf("error %v, want %q", err, test.fails)
			}
			b.says("ipmi", test.log...)
		})
	}
}

func TestIPMIIgnoresASoftOff(t *testing.T) {
	b := newBench(t)
	b.up()
	b.lie(bmc.IPMI, bmc.Lies{IgnoreSoftOff: 1})
	if err := b.control(b.ipmi(), chassis.ChassisControlSoftShutdown); err != nil {
		t.Fatal(err)
	}
	b.says("ipmi", machineroom.SoftOffIgnored)
	if !b.Machine.Status().On {
		t.Error("the machine went off")
	}
}

func TestIPMITellsTheWrongState(t *testing.T) {
	b := newBench(t)
	c := b.ipmi()
	b.lie(bmc.IPMI, bmc.Lies{WrongState: true})
	if !b.isOnByIPMI(c) {
		t.Error("a machine that is off was told to be off")
	}
	b.lie(bmc.IPMI, bmc.Lies{Flap: true})
	var told []bool
	for range 4 {
		told = append(told, b.isOnByIPMI(c))
	}
	if told[0] != true || told[1] || !told[2] || told[3] {
		t.Errorf("a flapping reading is %v", told)
	}
	b.says("ipmi", bmc.WrongStateTold, bmc.WrongStateTold, bmc.WrongStateTold)
	if b.Reads(bmc.IPMI) != 5 {
		t.Errorf("%d readings were counted", b.Reads(bmc.IPMI))
	}
}

func TestIPMISessionsAreRefused(t *testing.T) {
	b := newBench(t)
	b.lie(bmc.IPMI, bmc.Lies{RefuseSessions: 1})
	if _, err := b.dialIPMI(types.CipherSuiteID3, 0); err == nil || !strings.Contains(err.Error(), "Insufficient resources") {
		t.Errorf("a refused session: %v", err)
	}
	b.ipmi()
	b.lie(bmc.IPMI, bmc.Lies{RejectPassword: true})
	if _, err := b.dialIPMI(types.CipherSuiteID3, 0); err == nil || !strings.Contains(err.Error(), rejected) {
		t.Errorf("a rejected password: %v", err)
	}
	b.lie(bmc.IPMI, bmc.Lies{})
	b.ipmi()
	b.says("ipmi", bmc.SessionRefused, bmc.PasswordRejected)
}

// TestIPMIPacketsAreSentAgain: one lost packet costs a client that asks again nothing but time.
func TestIPMIPacketsAreSentAgain(t *testing.T) {
	b := newBench(t)
	b.lie(bmc.IPMI, bmc.Lies{DropPackets: 1})
	c, err := b.dialIPMI(types.CipherSuiteID17, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.control(c, chassis.ChassisControlPowerUp); err != nil {
		t.Fatal(err)
	}
	b.says("ipmi", bmc.PacketDropped, machineroom.PowerOnRequested, machineroom.PoweredOn)
}
