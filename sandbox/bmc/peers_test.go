package bmc_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/cli"
	"homecluster.dev/autoscaler/internal/power/process"
	"homecluster.dev/autoscaler/sandbox/bmc/openipmi"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// The tests here hold power to programs that share no line with it or with package bmc: the IPMI simulator of OpenIPMI and
// OpenSSH's server, with a simulated machine behind each. These run a program to work the machine; it is this test binary,
// with the address of the machine's switch in asPeer.
const asPeer = "BMC_TEST_MACHINE"

func TestMain(m *testing.M) {
	if machine := os.Getenv(asPeer); machine != "" {
		if err := servePeer(machine, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// servePeer is the program that OpenIPMI's simulator asks, with "get power" and "set power 1", and that OpenSSH's server
// runs, with "shutdown".
func servePeer(machine string, args []string) error {
	actions := map[string]machineroom.Action{
		"set power 1": machineroom.ActionOn, "set power 0": machineroom.ActionOff,
		"set shutdown 1": machineroom.ActionSoft, "set reset 1": machineroom.ActionCycle, "shutdown": machineroom.ActionSoft,
	}
	asked := strings.Join(args, " ")
	action, known := actions[asked]
	body, err := json.Marshal(map[string]any{"action": action, "source": "peer"})
	if err != nil {
		return err
	}
	method := http.MethodGet
	if known {
		method = http.MethodPost
	} else if asked != "get power" {
		return fmt.Errorf("nothing is known of %q", asked)
	}
	request, err := http.NewRequestWithContext(context.Background(), method, machine, bytes.NewReader(body))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s: %s", response.Status, text)
	}
	if known {
		return nil
	}
	var status machineroom.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return err
	}
	_, err = fmt.Fprintf(os.Stdout, "power:%d\n", map[bool]int{true: 1, false: 0}[status.On])
	return err
}

// peer is the command line by which a peer works the bench's machine.
func (b *bench) peer() string {
	b.t.Helper()
	self, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	return fmt.Sprintf("env %s=%s %s", asPeer, b.room.PowerURL("m"), self)
}

// start runs a server until the test ends.
func (b *bench) start(program string, args ...string) {
	b.t.Helper()
	var said bytes.Buffer
	command := exec.CommandContext(context.WithoutCancel(b.t.Context()), program, args...)
	command.Stdout, command.Stderr = &said, &said
	// Its children die with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	if err := command.Start(); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		_ = command.Cancel()
		_ = command.Wait()
		if b.t.Failed() {
			b.t.Logf("%s said:\n%s", filepath.Base(program), &said)
		}
	})
}

func (b *bench) write(folder, name, text string) string {
	b.t.Helper()
	file := filepath.Join(folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return file
}

// power runs the program power and returns how it ended, and its last line.
func (b *bench) power(credentials string, args ...string) (power.Outcome, string) {
	b.t.Helper()
	var out bytes.Buffer
	code := cli.Run(b.t.Context(), cli.Process{
		Args: append([]string{"--credentials=" + credentials, "--poll=100ms", "--observe=20s"}, args...),
		Env:  func(string) string { return "" }, ReadFile: os.ReadFile, Out: &out, Errors: &out, Clock: process.Clock{}})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return outcomeOf(code), lines[len(lines)-1]
}

// ends fails unless power ends so.
func (b *bench) ends(want power.Outcome, credentials string, args ...string) {
	b.t.Helper()
	if got, line := b.power(credentials, args...); got != want {
		b.t.Errorf("power %s: %s, want %s", args[len(args)-1], line, want)
	}
}

// freePort is a port on loopback that nobody uses just now.
func freePort(t *testing.T) string {
	t.Helper()
	conn, err := (&net.ListenConfig{}).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, port, _ := net.SplitHostPort(conn.LocalAddr().String())
	return port
}

// openIPMI starts OpenIPMI's simulator before the bench's machine, and returns its port and a folder with its credentials.
func (b *bench) openIPMI() (port, credentials string) {
	b.t.Helper()
	simulator := tool(b.t, "ipmi_sim", "openipmi")
	folder := b.t.TempDir()
	port = freePort(b.t)
	arguments, err := openipmi.Write(folder, port, b.peer())
	if err != nil {
		b.t.Fatal(err)
	}
	credentials = b.t.TempDir()
	b.write(credentials, "username", "admin")
	b.write(credentials, "password", "secret")
	b.start(simulator, arguments...)
	return port, credentials
}

// TestPowerAgainstOpenIPMI also shows that what the simulator is told reaches the same machine as ipmitool sees.
func TestPowerAgainstOpenIPMI(t *testing.T) {
	b := newBench(t)
	port, credentials := b.openIPMI()
	reach := "--ipmi=127.0.0.1:" + port
	b.ends(power.Done, credentials, reach, "on")
	b.happens(machineroom.BootDone)
	b.ends(power.Already, credentials, reach, "on")
	if ipmitool, err := exec.LookPath("ipmitool"); err == nil {
		said, err := runs(t, ipmitool, "-I", "lanplus", "-C", "3", "-H", "127.0.0.1", "-p", port, "-U", "admin", "-P", "secret", "power", "status")
		if err != nil || !strings.Contains(said, "Chassis Power is on") {
			t.Errorf("ipmitool says %q, %v", said, err)
		}
	}
	b.ends(power.Done, credentials, reach, "soft")
	b.happens(machineroom.PoweredOff)
	b.ends(power.Done, credentials, reach, "on")
	b.ends(power.Done, credentials, reach, "off")
	b.write(credentials, "password", "guessed")
	b.ends(power.BadCredentials, credentials, reach, "status")
	b.says("switch:peer", machineroom.PowerOnRequested, machineroom.PoweredOn, machineroom.SoftOffRequested, machineroom.Silent,
		machineroom.PoweredOff, machineroom.PowerOnRequested, machineroom.PoweredOn, machineroom.PowerOffRequested, machineroom.PoweredOff)
}

// TestPowerAgainstOpenSSH shuts the machine down through a forced command, as a careful person sets it up.
func TestPowerAgainstOpenSSH(t *testing.T) {
	server := tool(t, "sshd", "openssh-server")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		// Where it drops its privileges; the package makes it when the service starts.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b := newBench(t)
	b.up()
	folder := t.TempDir()
	hostKey, hostText := newKey(t)
	clientKey, clientText := newKey(t)
	address := "127.0.0.1:" + freePort(t)
	_, port, _ := net.SplitHostPort(address)
	config := b.write(folder, "sshd_config", strings.Join([]string{
		"Port " + port, "ListenAddress 127.0.0.1", "HostKey " + b.write(folder, "host", hostText), "PidFile none",
		"AuthorizedKeysFile " + b.write(folder, "authorized", string(ssh.MarshalAuthorizedKey(clientKey))),
		"StrictModes no", "UsePAM no", "PasswordAuthentication no", "PermitRootLogin yes", "PermitTTY no",
		"ForceCommand " + b.peer() + " shutdown", ""}, "\n"))
	b.start(server, "-D", "-e", "-f", config)
	listens(t, address)
	credentials := t.TempDir()
	b.write(credentials, "ssh-privatekey", clientText)
	b.write(credentials, "known_hosts", knownhosts.Line([]string{knownhosts.Normalize(address)}, hostKey)+"\n")
	reach := []string{"--ssh=" + me.Username + "@" + address, "--ssh-command=poweroff", "--observe=0s"}
	// Nobody can read over ssh that a machine is off, so that this is as much as it can say.
	b.ends(power.Unobserved, credentials, append(reach, "soft")...)
	b.happens(machineroom.PoweredOff)
	b.says("switch:peer", machineroom.SoftOffRequested, machineroom.Silent, machineroom.PoweredOff)

	b.write(credentials, "known_hosts", knownhosts.Line([]string{knownhosts.Normalize(address)}, clientKey)+"\n")
	b.ends(power.BadCredentials, credentials, append(reach, "soft")...)
}

// newKey makes a key for a host or a client, and its text as OpenSSH keeps it.
func newKey(t *testing.T) (ssh.PublicKey, string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return signer.PublicKey(), string(pem.EncodeToMemory(block))
}
