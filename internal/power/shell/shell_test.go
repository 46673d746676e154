package shell

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"homecluster.dev/autoscaler/internal/power"
)

// host is a machine with an ssh server, whose answer to a command is a function of the test's.
type host struct {
	address string
	key     ssh.Signer
	mu      sync.Mutex
	logins  int
	ran     []string
}

// signer makes a key; the private part comes in the form of ssh-keygen.
func signer(t testing.TB) (ssh.Signer, []byte) {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	return s, pem.EncodeToMemory(block)
}

// serve runs the machine; answer gets the channel of a command and may end it as it likes.
func serve(t testing.TB, user ssh.PublicKey, answer func(command string, channel ssh.Channel, conn net.Conn)) *host {
	t.Helper()
	key, _ := signer(t)
	h := &host{key: key}
	old, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	second, err := ssh.NewSignerFromKey(old)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if user == nil || string(key.Marshal()) != string(user.Marshal()) {
				return nil, errors.New("no")
			}
			return nil, nil
		},
		PasswordCallback: func(_ ssh.ConnMetadata, password []byte) (*ssh.Permissions, error) {
			if string(password) != "secret" {
				return nil, errors.New("no")
			}
			return nil, nil
		},
	}
	config.AddHostKey(second) // offered first, and in no known_hosts file
	config.AddHostKey(key)
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	h.address = listener.Addr().String()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go h.talk(conn, config, answer)
		}
	}()
	return h
}

func (h *host) talk(conn net.Conn, config *ssh.ServerConfig, answer func(string, ssh.Channel, net.Conn)) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.logins++
	h.mu.Unlock()
	go ssh.DiscardRequests(requests)
	for open := range channels {
		channel, requests, err := open.Accept()
		if err != nil {
			return
		}
		for request := range requests {
			if request.Type != "exec" {
				_ = request.Reply(false, nil)
				continue
			}
			var exec struct{ Command string }
			_ = ssh.Unmarshal(request.Payload, &exec)
			h.mu.Lock()
			h.ran = append(h.ran, exec.Command)
			h.mu.Unlock()
			_ = request.Reply(true, nil)
			answer(exec.Command, channel, conn)
		}
	}
}

// exits ends a command with a status.
func exits(status uint32, says string) func(string, ssh.Channel, net.Conn) {
	return func(_ string, channel ssh.Channel, _ net.Conn) {
		_, _ = io.WriteString(channel.Stderr(), says)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{status}))
		_ = channel.Close()
	}
}

// knows is a known_hosts file with one host's key.
func knows(t testing.TB, address string, key ssh.PublicKey) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "known_hosts")
	line := knownhosts.Line([]string{knownhosts.HashHostname(knownhosts.Normalize(address))}, key) + "\n"
	if err := os.WriteFile(file, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAShutdownIsTakenUnlessTheCommandSaysNo(t *testing.T) {
	key, private := signer(t)
	_, stranger := signer(t)
	tests := map[string]struct {
		answer func(string, ssh.Channel, net.Conn)
		change func(*Options)
		want   error
		says   string
		ran    int
	}{
		"a command that ends well":            {answer: exits(0, ""), ran: 1},
		"a machine that hangs up going down":  {answer: func(_ string, _ ssh.Channel, conn net.Conn) { _ = conn.Close() }, ran: 1},
		"a session that ends without a word":  {answer: func(_ string, channel ssh.Channel, _ net.Conn) { _ = channel.Close() }, ran: 1},
		"a command that is killed going down": {answer: killed, ran: 1},
		"a command that says no":              {answer: exits(1, "sudo: a password is required\n"), want: power.ErrRefused, says: "exited with 1: sudo: a password is required", ran: 1},
		"a command that does not end":         {answer: func(string, ssh.Channel, net.Conn) {}, change: func(o *Options) { o.Timeout = 300 * time.Millisecond }, want: power.ErrUnanswered, ran: 1},
		"a login by password":                 {answer: exits(0, ""), change: func(o *Options) { o.PrivateKey, o.Password = nil, "secret" }, ran: 1},
		"a wrong password":                    {answer: exits(0, ""), change: func(o *Options) { o.PrivateKey, o.Password = nil, "guess" }, want: power.ErrCredentials, says: "logging in"},
		"a key of somebody else":              {answer: exits(0, ""), change: func(o *Options) { o.PrivateKey = stranger }, want: power.ErrCredentials, says: "logging in"},
		"neither key nor password":            {answer: exits(0, ""), change: func(o *Options) { o.PrivateKey = nil }, want: power.ErrCredentials},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := serve(t, key.PublicKey(), tt.answer)
			o := Options{Address: h.address, User: "poweroff", Command: "sudo -n systemctl poweroff", PrivateKey: private, KnownHosts: knows(t, h.address, h.key.PublicKey()), Timeout: 3 * time.Second}
			if tt.change != nil {
				tt.change(&o)
			}
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Press(t.Context(), power.PressSoft)
			if !errors.Is(err, tt.want) || err != nil && !strings.Contains(err.Error(), tt.says) {
				t.Errorf("the error is %v\nwant %v: %s", err, tt.want, tt.says)
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			if len(h.ran) != tt.ran {
				t.Errorf("it ran %q", h.ran)
			}
		})
	}
}

func killed(_ string, channel ssh.Channel, _ net.Conn) {
	_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
		Signal     string
		CoreDumped bool
		Error      string
		Lang       string
	}{Signal: "TERM"}))
	_ = channel.Close()
}

func TestAMachineIsKnownByItsKeyOrNotSpokenTo(t *testing.T) {
	key, private := signer(t)
	other, _ := signer(t)
	h := serve(t, key.PublicKey(), exits(0, ""))
	tests := map[string]struct {
		change func(*Options)
		want   error
	}{
		"a key in known_hosts, hashed":       {func(o *Options) { o.KnownHosts = knows(t, h.address, h.key.PublicKey()) }, nil},
		"another key in known_hosts":         {func(o *Options) { o.KnownHosts = knows(t, h.address, other.PublicKey()) }, power.ErrCredentials},
		"another machine in it":              {func(o *Options) { o.KnownHosts = knows(t, "192.0.2.1:22", h.key.PublicKey()) }, power.ErrCredentials},
		"the fingerprint of any of its keys": {func(o *Options) { o.Fingerprint = ssh.FingerprintSHA256(h.key.PublicKey()) }, nil},
		"another fingerprint":                {func(o *Options) { o.Fingerprint = ssh.FingerprintSHA256(other.PublicKey()) }, power.ErrCredentials},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			o := Options{Address: h.address, User: "root", Command: "poweroff", PrivateKey: private, Timeout: 3 * time.Second}
			tt.change(&o)
			s, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			h.logins = 0
			if state, err := s.State(t.Context()); !errors.Is(err, tt.want) || (err == nil) != (state == power.On) {
				t.Errorf("the state is %q, %v", state, err)
			}
			if h.logins != 0 {
				t.Error("reading the state logged in")
			}
			if err := s.Press(t.Context(), power.PressSoft); !errors.Is(err, tt.want) {
				t.Errorf("pressing: %v", err)
			}
		})
	}
	for name, o := range map[string]Options{
		"nothing to know it by": {}, "an MD5 fingerprint": {Fingerprint: "MD5:00:11"}, "a file that is not there": {KnownHosts: "/does/not/exist"},
		"a key that is none": {Fingerprint: "SHA256:x", PrivateKey: []byte("hello")},
	} {
		o.Address, o.User, o.Command = "192.0.2.1:22", "root", "poweroff"
		if _, err := New(o); !errors.Is(err, power.ErrCredentials) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSilenceIsNeverOff(t *testing.T) {
	closed, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	for name, talk := range map[string]func(net.Conn){
		"nobody listens": nil, "a machine that hangs": func(net.Conn) {}, "a machine that hangs up": func(c net.Conn) { _ = c.Close() },
		"another protocol": func(c net.Conn) { _, _ = io.WriteString(c, "HTTP/1.1 400 Bad Request\r\n\r\n") },
		"noise":            func(c net.Conn) { _, _ = c.Write([]byte("SSH-2.0-x\r\n\x00\x00\x00\xff\xff\xff\xff")); _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			address := closed.Addr().String()
			if talk != nil {
				address = once(t, talk)
			}
			s, err := New(Options{Address: address, User: "root", Command: "poweroff", Password: "x", Fingerprint: "SHA256:x", Timeout: 200 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if state, err := s.State(t.Context()); state != power.Unknown || err != nil {
				t.Errorf("the state is %q, %v", state, err)
			}
			if err := s.Press(t.Context(), power.PressSoft); !errors.Is(err, power.ErrUnreachable) && !errors.Is(err, power.ErrGarbled) {
				t.Errorf("pressing: %v", err)
			}
			if err := s.Press(t.Context(), power.PressOn); !errors.Is(err, power.ErrUnsupported) {
				t.Errorf("pressing on: %v", err)
			}
		})
	}
}

// once answers every connection in the same way.
func once(t testing.TB, talk func(net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			talk(conn)
		}
	}()
	return listener.Addr().String()
}

// Whatever a machine says in place of an ssh handshake: unknown, or a fault.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
	f.Add([]byte("SSH-2.0-x\r\n\x00\x00\x00\x0c\x0a\x14AAAAAAAAAAAAAAAAAAAA"))
	f.Add([]byte("SSH-1.5-old\n"))
	f.Add([]byte(strings.Repeat("x", 70000)))
	f.Fuzz(func(t *testing.T, answer []byte) {
		address := once(t, func(c net.Conn) { _, _ = c.Write(answer); _ = c.Close() })
		s, err := New(Options{Address: address, User: "root", Command: "poweroff", Password: "x", Fingerprint: "SHA256:x", Timeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if state, err := s.State(t.Context()); state == power.On || state == power.Off {
			t.Errorf("the state is %q, %v", state, err)
		}
		if err := s.Press(t.Context(), power.PressSoft); err == nil {
			t.Error("it was taken")
		}
	})
}

// However a machine ends a command, and whatever it says meanwhile: taken, or a fault in one bounded line.
func FuzzEnds(f *testing.F) {
	f.Add([]byte("sudo: a password is required\n"), "exit-status", []byte{0, 0, 0, 1}, true)
	f.Add([]byte(strings.Repeat("\x1b[2J", 5000)), "exit-status", []byte{0, 0}, true)
	f.Add([]byte{0xff, 0}, "exit-signal", []byte{0, 0, 0, 4, 'T', 'E', 'R', 'M', 0, 0xff, 0xff, 0xff, 0xff}, false)
	f.Add([]byte{}, "exit-signal", []byte{}, true)
	f.Add([]byte{}, "keepalive@openssh.com", []byte{1}, false)
	var now struct {
		said, payload []byte
		request       string
		closes        bool
	}
	key, private := signer(f)
	h := serve(f, key.PublicKey(), func(_ string, channel ssh.Channel, conn net.Conn) {
		_, _ = channel.Write(now.said)
		_, _ = channel.Stderr().Write(now.said)
		_, _ = channel.SendRequest(now.request, false, now.payload)
		_ = channel.Close()
		if !now.closes {
			_ = conn.Close()
		}
	})
	s, err := New(Options{
		Address: h.address, User: "root", Command: "poweroff", PrivateKey: private, Fingerprint: ssh.FingerprintSHA256(h.key.PublicKey()), Timeout: 3 * time.Second,
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, said []byte, request string, payload []byte, closes bool) {
		now.said, now.request, now.payload, now.closes = said[:min(len(said), 30000)], request, payload, closes
		err := s.Press(t.Context(), power.PressSoft)
		if err == nil {
			return
		}
		if !errors.Is(err, power.ErrRefused) && !errors.Is(err, power.ErrUnanswered) && !errors.Is(err, power.ErrUnreachable) && !errors.Is(err, power.ErrCredentials) {
			t.Errorf("the error has no class: %v", err)
		}
		if len([]rune(err.Error())) > 400 || strings.ContainsAny(err.Error(), "\r\n\x1b") {
			t.Errorf("the error is no line: %q", err)
		}
	})
}

// A machine that takes the login and then nothing was not told to shut down, and may be told again.
func TestAMachineThatGivesNoSessionWasNotAsked(t *testing.T) {
	key, private := signer(t)
	for name, stop := range map[string]func(net.Conn){
		"it hangs":    func(net.Conn) {},
		"it hangs up": func(conn net.Conn) { _ = conn.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			config := &ssh.ServerConfig{PublicKeyCallback: func(ssh.ConnMetadata, ssh.PublicKey) (*ssh.Permissions, error) { return nil, nil }}
			config.AddHostKey(key)
			address := once(t, func(conn net.Conn) {
				go func() {
					if _, channels, requests, err := ssh.NewServerConn(conn, config); err == nil {
						go ssh.DiscardRequests(requests)
						<-channels
						stop(conn)
					}
				}()
			})
			s, err := New(Options{Address: address, User: "root", Command: "poweroff", PrivateKey: private,
				Fingerprint: ssh.FingerprintSHA256(key.PublicKey()), Timeout: 300 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Press(t.Context(), power.PressSoft); !errors.Is(err, power.ErrUnreachable) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

func TestAPasswordThatAMachineSaysBackIsNotShown(t *testing.T) {
	h := serve(t, nil, exits(1, "sudo: secret: sorry, try again\n"))
	s, err := New(Options{Address: h.address, User: "root", Command: "poweroff", Password: "secret",
		Fingerprint: ssh.FingerprintSHA256(h.key.PublicKey()), Timeout: 3 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Press(t.Context(), power.PressSoft); err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("the error is %v", err)
	}
}

func TestAKeyWithAPassphraseIsNamed(t *testing.T) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte("open sesame"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = New(Options{Address: "worker.lan:22", User: "root", Command: "poweroff", PrivateKey: pem.EncodeToMemory(block), Fingerprint: "SHA256:x"})
	if !errors.Is(err, power.ErrCredentials) || !strings.Contains(err.Error(), "passphrase protected") {
		t.Errorf("the error is %v", err)
	}
}
