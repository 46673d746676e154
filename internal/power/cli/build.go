package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"time"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/ipmi"
	"homecluster.dev/autoscaler/internal/power/plug"
	"homecluster.dev/autoscaler/internal/power/redfish"
	"homecluster.dev/autoscaler/internal/power/shell"
	"homecluster.dev/autoscaler/internal/power/wakeonlan"
	"homecluster.dev/autoscaler/internal/power/web"
)

// builder makes switches of options.
type builder struct {
	options
	clock  power.Clock
	env    func(string) string
	read   func(string) ([]byte, error)
	failed error
}

// build makes the switch that the options describe.
func (b *builder) build() (power.Switch, error) {
	var ways []power.Switch
	add := func(wanted bool, make func() (power.Switch, error)) {
		if wanted && b.failed == nil {
			way, err := make()
			ways, b.failed = append(ways, way), cmp.Or(b.failed, err)
		}
	}
	plugged := b.http.On != nil || b.http.Off != nil || b.http.Soft != nil || b.http.Cycle != nil || b.http.Status != nil
	add(b.ipmi != "", b.asIPMI)
	add(b.redfish != "", b.asRedfish)
	add(plugged, b.asPlug)
	add(b.wake != "", b.asWakeOnLan)
	if len(ways) > 1 {
		return nil, usageError{errors.New("one of ipmi, redfish, http and wake-on-lan, please; ssh may go with any of them")}
	}
	var down power.Switch
	if b.ssh != "" && b.failed == nil {
		down, b.failed = b.asSSH()
	}
	switch {
	case b.failed != nil:
		return nil, b.failed
	case down != nil && len(ways) == 1:
		return pair{up: ways[0], down: down, readUp: b.wake == "" && (!plugged || b.http.Status != nil)}, nil
	case down != nil:
		return down, nil
	case len(ways) == 1:
		return ways[0], nil
	}
	return nil, usageError{errors.New("say which switch: ipmi, redfish, http-on (-off, -status), wake-on-lan or ssh")}
}

func (b *builder) asIPMI() (power.Switch, error) {
	s, err := ipmi.New(ipmi.Options{
		Address: withPort(b.ipmi, ipmi.Port), Username: b.needed("username", "POWER_USERNAME"),
		Password: b.needed("password", "POWER_PASSWORD"), CipherSuite: b.ipmiSuite, Administrator: b.ipmiAdmin, Timeout: b.timeout,
	})
	return s, usage(cmp.Or(b.failed, err))
}

func (b *builder) asRedfish() (power.Switch, error) {
	s, err := redfish.New(redfish.Options{
		Address: b.redfish, System: b.redfishSystem, Username: b.needed("username", "POWER_USERNAME"),
		Password: b.needed("password", "POWER_PASSWORD"), Web: b.web(),
	})
	return s, usage(cmp.Or(b.failed, err))
}

func (b *builder) asPlug() (power.Switch, error) {
	b.http.Username = b.word(b.credentials, "username", "POWER_USERNAME")
	b.http.Password = b.word(b.credentials, "password", "POWER_PASSWORD")
	b.http.Token = b.word(b.credentials, "token", "POWER_TOKEN")
	b.http.Web = b.web()
	s, err := plug.New(b.http)
	return s, usage(cmp.Or(b.failed, err))
}

func (b *builder) asWakeOnLan() (power.Switch, error) {
	s, err := wakeonlan.New(wakeonlan.Options{
		MAC: b.wake, Broadcast: withPort(b.broadcast, "9"), Packets: 3, Pause: 200 * time.Millisecond, Clock: b.clock,
	})
	return s, usage(err)
}

func (b *builder) asSSH() (power.Switch, error) {
	folder := cmp.Or(b.sshCredentials, b.credentials)
	at := strings.LastIndex(b.ssh, "@") // a user may have one in the name
	user, host := b.ssh[:max(0, at)], b.ssh[at+1:]
	if at < 0 {
		user = cmp.Or(b.word(folder, "username", ""), "root")
	}
	command := b.sshCommand
	if command == "" {
		command = "systemctl poweroff"
		if user != "root" {
			command = "sudo -n " + command
		}
	}
	known := b.knownHosts
	if known == "" && folder != "" && b.secret(folder, "known_hosts", "") != "" {
		known = filepath.Join(folder, "known_hosts")
	}
	s, err := shell.New(shell.Options{
		Address: withPort(host, "22"), User: user, Command: command, PrivateKey: b.key(folder), Password: b.word(folder, "password", "POWER_PASSWORD"),
		KnownHosts: known, Fingerprint: b.fingerprint, Timeout: b.timeout,
	})
	return s, usage(cmp.Or(b.failed, err))
}

func (b *builder) web() web.Options {
	ca := []byte(b.secret(b.credentials, "ca.crt", ""))
	if b.caFile != "" {
		var err error
		if ca, err = b.read(b.caFile); err != nil {
			b.failed = fmt.Errorf("%w: reading the CA: %w", power.ErrUntrusted, err)
		}
	}
	return web.Options{Timeout: b.timeout, CA: ca, Insecure: b.insecure}
}

// word is a secret of one line. What has more of them cannot be sent as a header or typed at a login, and is a file that
// holds something else.
func (b *builder) word(folder, name, variable string) string {
	text := b.secret(folder, name, variable)
	if strings.ContainsAny(text, "\r\n\x00") {
		b.failed = cmp.Or(b.failed, fmt.Errorf("%w: the %s is more than one line", power.ErrCredentials, name))
	}
	return text
}

// secret is a file of a folder or an environment variable, without the line's end. One that is not there is empty.
func (b *builder) secret(folder, name, variable string) string {
	if folder != "" {
		text, err := b.read(filepath.Join(folder, name))
		switch {
		case err == nil:
			return strings.TrimRight(string(text), "\r\n")
		case !errors.Is(err, fs.ErrNotExist):
			b.failed = fmt.Errorf("%w: reading the credentials: %w", power.ErrCredentials, err)
		}
	}
	if variable == "" {
		return ""
	}
	return strings.TrimRight(b.env(variable), "\r\n")
}

// needed is a secret that a BMC does not let anybody in without. A Secret without its key is told apart from a password that
// is turned away. It may be empty, where the folder has it.
func (b *builder) needed(name, variable string) string {
	text := b.word(b.credentials, name, variable)
	if text != "" || b.credentials == "" || b.failed != nil {
		return text
	}
	if _, err := b.read(filepath.Join(b.credentials, name)); err != nil {
		b.failed = fmt.Errorf("%w: %s has no %s: does its Secret have that key?", power.ErrCredentials, b.credentials, name)
	}
	return text
}

// key is the private key as it is: its last line end belongs to it.
func (b *builder) key(folder string) []byte {
	if text := b.secret(folder, "ssh-privatekey", "POWER_SSH_PRIVATE_KEY"); text != "" {
		return []byte(text + "\n")
	}
	return nil
}

// usage is an error of the options, unless it is about the credentials.
func usage(err error) error {
	if err == nil || errors.Is(err, power.ErrCredentials) || errors.Is(err, power.ErrUntrusted) {
		return err
	}
	return usageError{err}
}

// withPort adds the port that a protocol has, where none is given.
func withPort(address, port string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	return net.JoinHostPort(strings.Trim(address, "[]"), port)
}

// pair is a machine with one way up and another, orderly, way down.
type pair struct {
	up, down power.Switch
	// readUp is whether the way up can be read; else the way down is, which can tell on.
	readUp bool
}

// Press sends soft down the orderly way, and everything else the other.
func (p pair) Press(ctx context.Context, action power.Action) error {
	if action == power.PressSoft {
		return p.down.Press(ctx, action)
	}
	return p.up.Press(ctx, action)
}

// State reads the one that can be read.
func (p pair) State(ctx context.Context) (power.State, error) {
	if p.readUp {
		return p.up.State(ctx)
	}
	return p.down.State(ctx)
}

// runs is whether the machine answers where it is told to shut down.
func (p pair) runs(ctx context.Context) bool {
	state, err := p.down.State(ctx)
	return err == nil && state == power.On
}

// String names both.
func (p pair) String() string { return p.up.String() + " and " + p.down.String() }
