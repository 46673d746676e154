package bmc_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// run executes a command over SSH with the right host key, and returns what it wrote to its standard error.
func (b *bench) run(command string, auth ...ssh.AuthMethod) (string, error) {
	b.t.Helper()
	hosts, err := knownhosts.New(b.KnownHosts)
	if err != nil {
		b.t.Fatal(err)
	}
	if len(auth) == 0 {
		auth = []ssh.AuthMethod{ssh.Password(b.Credentials.Password)}
	}
	conn, err := b.dial("tcp", bmc.SSH)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	// A server that says nothing is waited for by the library for ever.
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		b.t.Fatal(err)
	}
	login, channels, requests, err := ssh.NewClientConn(conn, b.Address(bmc.SSH), &ssh.ClientConfig{
		User: b.Credentials.User, Auth: auth, HostKeyCallback: hosts})
	if err != nil {
		return "", err
	}
	c := ssh.NewClient(login, channels, requests)
	session, err := c.NewSession()
	if err != nil {
		return "", err
	}
	var complaints bytes.Buffer
	session.Stderr = &complaints
	err = session.Run(command)
	return complaints.String(), err
}

// shutDown waits until the SSH server of the machine is there, and asks it.
func (b *bench) shutDown() {
	b.t.Helper()
	b.untilReachable(true)
	if complaints, err := b.run("poweroff"); err != nil {
		b.t.Fatalf("shutting down over ssh: %v: %s", err, complaints)
	}
}

// untilReachable waits until the server greets, or no longer does.
func (b *bench) untilReachable(wanted bool) {
	b.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if b.greets() == wanted {
			return
		}
	}
	b.t.Fatalf("the SSH server never became reachable: %t", wanted)
}

// greets is whether somebody listens and says that he speaks SSH.
func (b *bench) greets() bool {
	conn, err := b.dial("tcp", bmc.SSH)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		b.t.Fatal(err)
	}
	greeting := make([]byte, 4)
	_, err = io.ReadFull(conn, greeting)
	return err == nil && string(greeting) == "SSH-"
}

func TestSSHShutsTheMachineDown(t *testing.T) {
	b := newBench(t, bmc.SSH)
	if _, err := b.run("poweroff"); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a machine that is off lets in: %v", err)
	}
	b.up()
	b.untilReachable(true)
	key, err := os.ReadFile(b.ClientKey)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.ParsePrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.run("sudo systemctl poweroff", ssh.PublicKeys(signer)); err != nil {
		t.Error(err)
	}
	b.happens(machineroom.PoweredOff)
	b.untilReachable(false)
	b.says("ssh:admin", machineroom.SoftOffRequested, machineroom.Silent, machineroom.PoweredOff)
}

func TestSSHSaysWhenItCannot(t *testing.T) {
	b := newBench(t, bmc.SSH)
	b.up()
	b.untilReachable(true)
	if err := b.Machine.SetTemperament(machineroom.Temperament{ShutdownSwitch: machineroom.SwitchErrors}); err != nil {
		t.Fatal(err)
	}
	complaints, err := b.run("poweroff")
	var exit *ssh.ExitError
	if !errors.As(err, &exit) || exit.ExitStatus() != 1 || !strings.Contains(complaints, "does not answer") {
		t.Errorf("it ended with %v and %q", err, complaints)
	}
}

func TestSSHLies(t *testing.T) {
	done := []machineroom.Kind{machineroom.SoftOffRequested}
	tests := map[string]struct {
		lies bmc.Lies
		// ends are the ends of one attempt after the other.
		ends []string
		log  []machineroom.Kind
	}{
		"a soft-off is ignored":             {bmc.Lies{IgnoreSoftOff: 1}, []string{"nil"}, []machineroom.Kind{machineroom.SoftOffIgnored}},
		"anything is answered and not done": {bmc.Lies{DoNothing: 1}, []string{"nil"}, []machineroom.Kind{machineroom.CommandDidNothing}},
		"the answer is late":                {bmc.Lies{AnswerLate: lasting(time.Millisecond)}, []string{"nil"}, append(done, bmc.AnswerDelayed)},
		"it is done and not answered":       {bmc.Lies{HangUp: 1}, []string{"without exit status"}, append(done, bmc.HungUp)},
		"nothing is answered":               {bmc.Lies{AnswerNever: true}, []string{"timeout"}, []machineroom.Kind{bmc.AnswerWithheld}},
		"a session is refused":              {bmc.Lies{RefuseSessions: 1}, []string{"EOF", "nil"}, append([]machineroom.Kind{bmc.SessionRefused}, done...)},
		"the password is rejected":          {bmc.Lies{RejectPassword: true}, []string{"unable to authenticate"}, []machineroom.Kind{bmc.PasswordRejected}},
		"the connection is dropped": {bmc.Lies{DropPackets: 1}, []string{"reset", "nil"},
			append([]machineroom.Kind{bmc.PacketDropped}, done...)},
		"every second connection is cut": {bmc.Lies{Flap: true}, []string{"reset", "nil"},
			append([]machineroom.Kind{bmc.PacketDropped}, done...)},
		"it is not there while the machine is up": {bmc.Lies{WrongState: true}, []string{"refused"}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, bmc.SSH)
			b.up()
			b.untilReachable(true)
			b.lie(bmc.SSH, test.lies)
			if test.lies.WrongState {
				b.untilReachable(false)
			}
			for _, want := range test.ends {
				_, err := b.run("poweroff")
				if got := fmt.Sprint(err); !strings.Contains(strings.ReplaceAll(got, "<nil>", "nil"), want) {
					t.Errorf("it ended with %s, want %s", got, want)
				}
			}
			b.Close()
			got := b.by("ssh")
			if len(got) > len(test.log) {
				got = got[:len(test.log)] // the machine goes down meanwhile
			}
			if fmt.Sprint(got) != fmt.Sprint(test.log) {
				t.Errorf("the power log says %v, want %v", got, test.log)
			}
		})
	}
}
