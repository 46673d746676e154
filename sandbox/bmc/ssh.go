package bmc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// sshServer is the SSH server in the machine's operating system: it can be reached only while that runs, and whatever it is
// asked to execute, it shuts the machine down. The user's password and the panel's client key are let in.
type sshServer struct {
	w      *wire
	c      Credentials
	key    ssh.PublicKey
	config *ssh.ServerConfig

	mu    sync.Mutex
	conns map[net.Conn]bool
	// odd says that the next connection is one that flapping does not cut.
	odd bool
}

// serveSSH keeps the server's address for as long as it runs. The first time it listens to find a port that is free; later
// it listens when the machine is up.
func serveSSH(w *wire, host string, c Credentials, hostKey ssh.Signer, clientKey ssh.PublicKey) (address string, stop func(), err error) {
	var network net.ListenConfig
	first, err := network.Listen(w.ctx, "tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return "", nil, fmt.Errorf("listening for %s: %w", w.protocol, err)
	}
	address = first.Addr().String()
	_ = first.Close()
	s := &sshServer{w: w, c: c, key: clientKey, conns: map[net.Conn]bool{}}
	s.config = &ssh.ServerConfig{PasswordCallback: s.password, PublicKeyCallback: s.publicKey, MaxAuthTries: 3}
	s.config.AddHostKey(hostKey)
	changes := make(chan struct{}, 1)
	w.learn = func(Lies) { poke(changes) }
	ctx, cancel := context.WithCancel(w.ctx)
	var work sync.WaitGroup
	work.Go(func() { s.followPower(ctx, changes) })
	work.Go(func() { s.live(ctx, address, changes) })
	return address, func() {
		cancel()
		work.Wait()
	}, nil
}

func poke(changes chan struct{}) {
	select {
	case changes <- struct{}{}:
	default:
	}
}

// followPower pokes at every line of the machine's power log.
func (s *sshServer) followPower(ctx context.Context, changes chan struct{}) {
	var seq int64
	for {
		event, err := s.w.machine.WaitFor(ctx, machineroom.After(seq))
		if err != nil {
			return
		}
		seq = event.Seq
		poke(changes)
	}
}

// reachable is whether the server is there. A machine that does not run has none, and neither has a liar's that does.
func (s *sshServer) reachable() bool {
	up := s.w.machine.Status().State == machineroom.Up
	return up != s.w.current().WrongState
}

// live listens while the server is reachable. What it had accepted lasts until the power goes: a machine that shuts down
// may still answer whoever told it to.
func (s *sshServer) live(ctx context.Context, address string, changes chan struct{}) {
	var listener net.Listener
	var work sync.WaitGroup
	defer func() {
		if listener != nil {
			_ = listener.Close()
		}
		s.hangUp()
		work.Wait()
	}()
	for {
		switch there := s.reachable(); {
		case there && listener == nil:
			listener = s.listen(ctx, address, &work)
		case !there && listener != nil:
			_ = listener.Close()
			listener = nil
		}
		if s.w.machine.Status().State == machineroom.Off && !s.reachable() {
			s.hangUp()
		}
		select {
		case <-ctx.Done():
			return
		case <-changes:
		}
	}
}

// listen takes the server's address again. Nobody else is on it; if somebody is, the power log says why nothing answers.
func (s *sshServer) listen(ctx context.Context, address string, work *sync.WaitGroup) net.Listener {
	var network net.ListenConfig
	listener, err := network.Listen(ctx, "tcp", address)
	if err != nil {
		s.w.machine.Note(machineroom.SwitchUnreachable, s.w.source(""), err.Error())
		return nil
	}
	work.Go(func() { s.accept(ctx, listener, work) })
	return listener
}

func (s *sshServer) accept(ctx context.Context, listener net.Listener, work *sync.WaitGroup) {
	for {
		conn, err := lossy{listener, s.w}.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		work.Go(func() {
			s.serve(ctx, conn)
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
			_ = conn.Close()
		})
	}
}

// hangUp ends all connections, as a machine does whose power goes.
func (s *sshServer) hangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// flaps is whether this connection is one of every second that are cut.
func (s *sshServer) flaps() bool {
	if !s.w.current().Flap {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.odd = !s.odd
	return s.odd
}

func (s *sshServer) serve(ctx context.Context, conn net.Conn) {
	if s.w.withhold(ctx) {
		return
	}
	// A client that never logs in does not keep the machine from going down.
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	if s.w.refuses() {
		// The client's greeting is read first, so that the end it sees is always the same.
		_, _ = bufio.NewReader(conn).ReadString('\n')
		return
	}
	if s.flaps() {
		s.w.machine.Note(PacketDropped, s.w.source(""), "")
		cut(conn)
		return
	}
	session, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	defer func() { _ = session.Close() }()
	go ssh.DiscardRequests(requests)
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.UnknownChannelType, "only sessions")
			continue
		}
		channel, asked, err := offered.Accept()
		if err != nil {
			return
		}
		if s.execute(ctx, session.User(), channel, asked) {
			return
		}
	}
}

// execute answers the requests of one session, and says whether the connection ends with it.
func (s *sshServer) execute(ctx context.Context, user string, channel ssh.Channel, asked <-chan *ssh.Request) (over bool) {
	defer func() { _ = channel.Close() }()
	for request := range asked {
		if request.Type != "exec" && request.Type != "shell" {
			// A terminal or a variable changes nothing.
			_ = request.Reply(request.Type == "env" || request.Type == "pty-req", nil)
			continue
		}
		_ = request.Reply(true, nil)
		err := s.w.press(ctx, machineroom.ActionSoft, user, command(request))
		if errors.Is(err, errHungUp) {
			return true
		}
		status := uint32(0)
		if err != nil {
			status = 1
			_, _ = io.WriteString(channel.Stderr(), err.Error()+"\n")
		}
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		return false
	}
	return false
}

// command is what was asked to be executed.
func command(request *ssh.Request) string {
	var payload struct{ Command string }
	if request.Type != "exec" || ssh.Unmarshal(request.Payload, &payload) != nil {
		return request.Type
	}
	return payload.Command
}

var errDenied = errors.New("permission denied")

func (s *sshServer) password(meta ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
	return s.admit(meta, s.c.match(meta.User(), string(password)))
}

func (s *sshServer) publicKey(meta ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
	return s.admit(meta, meta.User() == s.c.User && bytes.Equal(key.Marshal(), s.key.Marshal()))
}

func (s *sshServer) admit(meta ssh.ConnMetadata, right bool) (*ssh.Permissions, error) {
	if right && !s.w.current().RejectPassword {
		return nil, nil
	}
	s.w.reject(meta.User())
	return nil, errDenied
}
