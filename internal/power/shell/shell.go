// Package shell is a power switch that asks the machine's own operating system, over ssh, to shut down. It can tell that a
// machine is on, never that it is off: silence is no proof.
package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// Options say which machine is asked, as whom, and how it is known.
type Options struct {
	// Address is host:port.
	Address string
	User    string
	// Command shuts the machine down. It should return at once.
	Command string
	// PrivateKey is a key without a passphrase, as ssh-keygen writes it; Password is for machines without keys.
	PrivateKey []byte
	Password   string
	// KnownHosts is a known_hosts file; Fingerprint is SHA256:... of one key. One of them is needed: a machine that is not
	// known is not spoken to.
	KnownHosts  string
	Fingerprint string
	// Timeout bounds a login, and the wait for the command's end.
	Timeout time.Duration
}

// Switch is the way down over ssh.
type Switch struct {
	o     Options
	auth  []ssh.AuthMethod
	known hosts
	// clean makes what the machine said fit to be shown.
	clean func(string) string
}

// New reads keys and known hosts; nothing is sent yet.
func New(o Options) (*Switch, error) {
	if _, _, err := net.SplitHostPort(o.Address); err != nil || o.User == "" || o.Command == "" {
		return nil, fmt.Errorf("ssh needs an address (host:port), a user and a command: %q, %q, %q", o.Address, o.User, o.Command)
	}
	s := &Switch{o: o, clean: web.Cleaner(o.Password)}
	if len(o.PrivateKey) > 0 {
		signer, err := ssh.ParsePrivateKey(o.PrivateKey)
		if err != nil {
			return nil, fmt.Errorf("%w: reading the ssh private key: %w", power.ErrCredentials, err)
		}
		s.auth = append(s.auth, ssh.PublicKeys(signer))
	}
	if o.Password != "" {
		s.auth = append(s.auth, ssh.Password(o.Password))
	}
	var err error
	s.known, err = readHosts(o.KnownHosts, o.Fingerprint)
	return s, err
}

// String names the protocol and the address.
func (s *Switch) String() string { return "ssh " + s.o.User + "@" + s.o.Address }

// Press runs the command for a soft shutdown. A connection that the machine drops after the command was started is taken
// for a yes: that is what a machine that goes down does.
func (s *Switch) Press(ctx context.Context, action power.Action) error {
	if action != power.PressSoft {
		return fmt.Errorf("%w: ssh can only press soft, not %s", power.ErrUnsupported, action)
	}
	if len(s.auth) == 0 {
		return fmt.Errorf("%w: neither a private key nor a password is given", power.ErrCredentials)
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	client, err := s.login(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	return s.run(ctx, client)
}

// run starts the command and reads how it ended.
func (s *Switch) run(ctx context.Context, client *ssh.Client) error {
	session, err := client.NewSession()
	switch {
	case err != nil && (dropped(err) || ctx.Err() != nil): // nothing was started yet
		return fmt.Errorf("%w: opening a session: %s", power.ErrUnreachable, s.clean(err.Error()))
	case err != nil:
		return fmt.Errorf("%w: opening a session: %s", power.ErrRefused, s.clean(err.Error()))
	}
	defer func() { _ = session.Close() }()
	said := &bounded{}
	session.Stdout, session.Stderr = said, said
	if err := session.Start(s.o.Command); err != nil {
		if dropped(err) {
			return fmt.Errorf("%w: the connection ended while %q was started", power.ErrUnanswered, s.o.Command)
		}
		return fmt.Errorf("%w: starting %q: %s", power.ErrRefused, s.o.Command, s.clean(err.Error()))
	}
	err = session.Wait()
	if ctx.Err() != nil { // it was we who hung up
		return fmt.Errorf("%w: %q has not ended within %s", power.ErrUnanswered, s.o.Command, s.o.Timeout)
	}
	return s.verdict(err, said.text.String())
}

// verdict says what the command's end means: only an exit status that is not 0 is a no.
func (s *Switch) verdict(err error, said string) error {
	exit, left := errors.AsType[*ssh.ExitError](err)
	if !left || exit.Signal() != "" {
		return nil
	}
	return fmt.Errorf("%w: %q exited with %d: %s", power.ErrRefused, s.o.Command, exit.ExitStatus(), s.clean(said))
}

// login holds the machine to its host key and logs in.
func (s *Switch) login(ctx context.Context) (client *ssh.Client, err error) {
	err = s.meet(func(algorithms []string) (err error) {
		client, err = s.enter(ctx, algorithms)
		return err
	})
	return client, err
}

// meet tries one kind of host key after the other while the machine shows none that it is known by. A machine of which
// that stays so is told of by the first key it showed.
func (s *Switch) meet(try func(algorithms []string) error) error {
	var stranger error
	for _, algorithms := range s.known.kinds(s.o.Address) {
		err := try(algorithms)
		lacks, _ := errors.AsType[*ssh.AlgorithmNegotiationError](err)
		switch {
		case errors.Is(err, errStranger):
			stranger = cmp.Or(stranger, err)
		case lacks != nil && lacks.What == "host key":
			stranger = cmp.Or(stranger, fmt.Errorf("%w: %s has no host key of the kind that it is known by", errStranger, s.o.Address))
		default:
			return err
		}
	}
	return stranger
}

// enter connects and logs in, if the machine has a host key of these algorithms.
func (s *Switch) enter(ctx context.Context, algorithms []string) (*ssh.Client, error) {
	conn, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	verified := false
	config := s.config(algorithms, func(hostname string, remote net.Addr, key ssh.PublicKey) error {
		if err := s.known.check(hostname, remote, key); err != nil {
			return err
		}
		verified = true
		return nil
	})
	config.Auth = s.auth
	secured, channels, requests, err := ssh.NewClientConn(conn, s.o.Address, config)
	switch {
	case err == nil:
		return ssh.NewClient(secured, channels, requests), nil
	case errors.Is(err, power.ErrCredentials):
	case verified && !dropped(err):
		err = fmt.Errorf("%w: logging in: %s", power.ErrCredentials, s.clean(strings.TrimPrefix(err.Error(), "ssh: handshake failed: ")))
	default:
		err = s.handshakeFault(err)
	}
	_ = conn.Close()
	return nil, err
}

// errKnown ends a handshake whose only purpose was to see the host key.
var errKnown = errors.New("the host key is the right one")

// State is on when the machine shows its host key, without a login. A machine that does not answer, or hangs up, is unknown.
func (s *Switch) State(ctx context.Context) (power.State, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	fault := s.meet(func(algorithms []string) error { return s.greet(ctx, algorithms) })
	switch {
	case errors.Is(fault, errKnown):
		return power.On, nil
	case errors.Is(fault, power.ErrCredentials):
		return "", fault
	}
	return power.Unknown, nil
}

// greet goes as far as seeing the host key; errKnown is the good end.
func (s *Switch) greet(ctx context.Context, algorithms []string) error {
	conn, err := s.dial(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	_, _, _, err = ssh.NewClientConn(conn, s.o.Address, s.config(algorithms, func(hostname string, remote net.Addr, key ssh.PublicKey) error {
		if err := s.known.check(hostname, remote, key); err != nil {
			return err
		}
		return errKnown
	}))
	return err
}

// dial connects. The end of the context ends the connection, and is what bounds all that is read from it.
func (s *Switch) dial(ctx context.Context) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.o.Address)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", power.ErrUnreachable, err)
	}
	context.AfterFunc(ctx, func() { _ = conn.Close() })
	return conn, nil
}

func (s *Switch) config(algorithms []string, check ssh.HostKeyCallback) *ssh.ClientConfig {
	return &ssh.ClientConfig{
		User: s.o.User, HostKeyCallback: check, HostKeyAlgorithms: algorithms, ClientVersion: "SSH-2.0-power",
	}
}

// dropped is whether the connection ended rather than the login.
func dropped(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || strings.HasSuffix(err.Error(), "EOF")
}

// handshakeFault says what a handshake means that failed before the host key was seen.
func (s *Switch) handshakeFault(err error) error {
	if dropped(err) {
		return fmt.Errorf("%w: %s", power.ErrUnreachable, s.clean(err.Error()))
	}
	if _, differs := errors.AsType[*ssh.AlgorithmNegotiationError](err); differs {
		return fmt.Errorf("%w: %w", power.ErrGarbled, err) // it is asked for another kind of host key
	}
	return fmt.Errorf("%w: %s", power.ErrGarbled, s.clean(err.Error()))
}

// bounded keeps the first bytes of what a command says on both of its outputs.
type bounded struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxSaid = 4 << 10

func (b *bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if room := maxSaid - b.text.Len(); room > 0 {
		b.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
