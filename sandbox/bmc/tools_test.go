package bmc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// tool is the path of a program that this computer may not have. Its tests are for whoever has it, and for CI, which installs
// it: there nothing is skipped.
func tool(t *testing.T, name, from string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("there is no %s here: .ci/run installs Debian's package %s", name, from)
	}
	if err != nil {
		t.Skipf("there is no %s here, which Debian's package %s has", name, from)
	}
	return path
}

// runs runs a program and returns all that it wrote, and how it ended.
func runs(t *testing.T, program string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	text, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	return string(text), err
}

// TestIpmitoolWorksTheMachine: the tool that everybody has, with both cipher suites and with its own choice.
func TestIpmitoolWorksTheMachine(t *testing.T) {
	ipmitool := tool(t, "ipmitool", "ipmitool")
	for name, suite := range map[string][]string{"its own choice": nil, "cipher suite 3": {"-C", "3"}, "cipher suite 17": {"-C", "17"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			host, port, err := net.SplitHostPort(b.Address(bmc.IPMI))
			if err != nil {
				t.Fatal(err)
			}
			reach := append([]string{"-I", "lanplus", "-H", host, "-p", port, "-U", b.Credentials.User}, suite...)
			power := func(password, verb, want string) {
				t.Helper()
				got, err := runs(t, ipmitool, append(reach, "-P", password, "power", verb)...)
				if !strings.Contains(got, want) {
					t.Errorf("ipmitool power %s says %q (%v), want %q", verb, got, err, want)
				}
			}
			right := b.Credentials.Password
			power("guessed", "on", "Unable to establish IPMI v2 / RMCP+ session")
			power(right, "status", "Chassis Power is off")
			power(right, "on", "Chassis Power Control: Up/On")
			b.happens(machineroom.BootDone)
			power(right, "status", "Chassis Power is on")
			power(right, "soft", "Chassis Power Control: Soft")
			b.happens(machineroom.PoweredOff)
			power(right, "cycle", "Command not supported in present state")
			power(right, "on", "Up/On")
			power(right, "off", "Down/Off")
			b.says("ipmi:admin", machineroom.PowerOnRequested, machineroom.PoweredOn, machineroom.SoftOffRequested, machineroom.Silent,
				machineroom.PoweredOff, machineroom.PowerCycleRequested, machineroom.PowerOnRequested, machineroom.PoweredOn,
				machineroom.PowerOffRequested, machineroom.PoweredOff)
		})
	}
}

// TestOpenSSHShutsTheMachineDown: ssh holds the host key to what the panel keeps, and is let in with the panel's key.
func TestOpenSSHShutsTheMachineDown(t *testing.T) {
	ssh := tool(t, "ssh", "openssh-client")
	tests := map[string]struct {
		lies bmc.Lies
		code string
	}{
		"in order":                      {bmc.Lies{}, "<nil>"},
		"the machine hangs up":          {bmc.Lies{HangUp: 1}, "exit status 255"},
		"a key that is not known to it": {bmc.Lies{RejectPassword: true}, "exit status 255"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, bmc.SSH)
			b.up()
			b.untilReachable(true)
			b.lie(bmc.SSH, test.lies)
			host, port, err := net.SplitHostPort(b.Address(bmc.SSH))
			if err != nil {
				t.Fatal(err)
			}
			said, err := runs(t, ssh, "-F", "none", "-i", b.ClientKey, "-o", "UserKnownHostsFile="+b.KnownHosts, "-o", "BatchMode=yes",
				"-o", "StrictHostKeyChecking=yes", "-p", port, b.Credentials.User+"@"+host, "sudo", "poweroff")
			if got := fmt.Sprint(err); got != test.code {
				t.Errorf("ssh ended with %s, want %s: %s", got, test.code, said)
			}
			if !test.lies.RejectPassword {
				b.happens(machineroom.PoweredOff)
			}
		})
	}
}

// TestRedfishtoolWorksTheMachine: it comes without a way to trust an authority of one's own, and asks for no proof.
func TestRedfishtoolWorksTheMachine(t *testing.T) {
	redfishtool := tool(t, "redfishtool", "redfishtool")
	b := newBench(t, bmc.Redfish)
	reach := []string{"-r", b.Address(bmc.Redfish), "-S", "Always", "-A", "Basic", "-u", b.Credentials.User, "-p", b.Credentials.Password, "Systems"}
	for _, step := range []struct {
		args  string
		until machineroom.Kind
	}{{"reset On", machineroom.BootDone}, {"reset GracefulShutdown", machineroom.PoweredOff}} {
		if said, err := runs(t, redfishtool, append(reach, strings.Fields(step.args)...)...); err != nil {
			t.Fatalf("redfishtool %s: %v: %s", step.args, err, said)
		}
		b.happens(step.until)
	}
}

// TestWakeonlanWakesTheMachine sends the packet as the common tool does.
func TestWakeonlanWakesTheMachine(t *testing.T) {
	wakeonlan := tool(t, "wakeonlan", "wakeonlan")
	b := newBench(t, bmc.WakeOnLAN)
	host, port, err := net.SplitHostPort(b.Address(bmc.WakeOnLAN))
	if err != nil {
		t.Fatal(err)
	}
	if said, err := runs(t, wakeonlan, "-i", host, "-p", port, b.MAC.String()); err != nil {
		t.Fatalf("wakeonlan: %v: %s", err, said)
	}
	b.happens(machineroom.PoweredOn)
}

// listens waits until somebody accepts connections at an address.
func listens(t *testing.T, address string) {
	t.Helper()
	dialer := net.Dialer{Timeout: time.Second}
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if conn, err := dialer.DialContext(t.Context(), "tcp", address); err == nil {
			_ = conn.Close()
			return
		}
	}
	t.Fatalf("nobody listens on %s", address)
}
