package ipmi

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/types"

	"homecluster.dev/autoscaler/internal/power"
)

// forger is a BMC whose firmware is broken: it knows the password, so that what it says is signed and encrypted as it should
// be, and is nonsense.
type forger struct {
	keys  keys
	spoil func(message []byte) []byte
}

// hear follows the login.
func (f *forger) hear(datagram []byte) {
	if p, ok := parse(datagram); ok {
		f.keys.sent(p)
	}
}

// forge puts another message into an answer of the session.
func (f *forger) forge(answer []byte) []byte {
	p, ok := parse(answer)
	if !ok || p.kind != kindIPMI || !f.keys.sound(p) {
		if ok {
			f.keys.sound(p) // RAKP message 2 has the other half of the keys
		}
		return answer
	}
	iv, key := p.payload[:sizeAESBlock], f.keys.k2[:sizeAESBlock]
	plain, err := crypto.DecryptAES(append([]byte(nil), p.payload[sizeAESBlock:]...), key, iv)
	if err != nil {
		return answer
	}
	message := f.spoil(plain[:len(plain)-1-int(plain[len(plain)-1])])
	sealed, err := crypto.EncryptAES(crypto.PadAES(message), key, iv)
	if err != nil {
		return answer
	}
	forged := append([]byte(nil), answer[:payloadAt]...)
	binary.LittleEndian.PutUint16(forged[lengthAt:], uint16(sizeAESBlock+len(sealed)))
	forged = append(append(forged, iv...), sealed...)
	padding := (4 - (len(forged)-sessionAt+2)%4) % 4
	for range padding {
		forged = append(forged, 0xff)
	}
	forged = append(forged, byte(padding), 0x07)
	code, err := crypto.SessionIntegrityAuthCode(f.keys.integrity, forged[sessionAt:], f.keys.k1, f.keys.password)
	if err != nil {
		return answer
	}
	return append(forged, code...)
}

// newForger knows what a login with suite 17 is made of.
func newForger(spoil func([]byte) []byte) *forger {
	auth, integrity, _, _ := types.GetCipherSuiteAlgorithms(types.CipherSuiteID17)
	return &forger{keys: keys{auth: auth, integrity: integrity, username: "admin", password: "secret"}, spoil: spoil}
}

// An answer that is forged back to what it was is taken: the forger's signatures are right.
func TestTheForgerKnowsHowToSign(t *testing.T) {
	b, forged := &box{on: true}, 0
	f := newForger(func(message []byte) []byte { forged++; return message })
	address := tapped(t, b.serve(t), f.hear, func(_ int, answer []byte) [][]byte { return [][]byte{f.forge(answer)} })
	if state, err := the(t, address).State(t.Context()); err != nil || state != power.On || forged < 2 {
		t.Errorf("the state is %q, %v after %d forged answers", state, err, forged)
	}
}

// A BMC that says that it has no answer may have done what it was told: a cycle that is sent again would run twice.
func TestACommandThatABMCDidNotFinishMayHaveHappened(t *testing.T) {
	for name, tt := range map[string]struct {
		code byte
		want error
	}{
		"timed out":                {0xc3, power.ErrUnanswered},
		"has no answer to give":    {0xce, power.ErrUnanswered},
		"was busy, and did not":    {0xc0, power.ErrBusy},
		"is starting, and did not": {0xd2, power.ErrBusy},
		"says no":                  {0xff, power.ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			b, seen := &box{on: true}, 0
			f := newForger(func(message []byte) []byte {
				if seen++; seen == 2 { // the first answers the privilege
					message[6] = tt.code
					return append(message[:7], checksum(message[3:7]))
				}
				return message
			})
			address := tapped(t, b.serve(t), f.hear, func(_ int, answer []byte) [][]byte { return [][]byte{f.forge(answer)} })
			if err := the(t, address).Press(t.Context(), power.PressCycle); !errors.Is(err, tt.want) {
				t.Errorf("the error is %v, want %v", err, tt.want)
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if len(b.log) != 1 {
				t.Errorf("the chassis was told %v", b.log)
			}
		})
	}
}

// checksum makes the bytes and itself add up to nothing.
func checksum(bytes []byte) byte {
	var sum byte
	for _, b := range bytes {
		sum += b
	}
	return -sum
}

// Whatever a BMC signs: the switch says on, off or a fault, and does not crash.
func FuzzSigned(f *testing.F) {
	f.Add(2, 1000, 0, []byte{}, false)
	f.Add(1, 0, 0, []byte{}, true)
	f.Add(2, 7, 0, []byte{}, false)
	f.Add(2, 8, 0, []byte{}, false)
	f.Add(2, 1000, 6, []byte{0xc3}, false)
	f.Add(1, 1000, 6, []byte{0xd4}, false)
	f.Add(2, 1000, 0, make([]byte, 300), true)
	f.Add(2, 1000, 1, []byte{0xff, 0x00, 0x81}, false)
	f.Fuzz(func(t *testing.T, nth, keep, at int, put []byte, tail bool) {
		if len(put) > 1000 {
			put = put[:1000]
		}
		b, seen := &box{on: true}, 0
		forger := newForger(func(message []byte) []byte {
			if seen++; seen == nth {
				return spoil(message, keep, at, put, tail)
			}
			return message
		})
		address := tapped(t, b.serve(t), forger.hear, func(_ int, answer []byte) [][]byte { return [][]byte{forger.forge(answer)} })
		s := the(t, address, func(o *Options) { o.Timeout = 100 * time.Millisecond })
		state, err := s.State(t.Context())
		switch {
		case err == nil && state != power.On && state != power.Off:
			t.Errorf("the state is %q", state)
		case err != nil && !known(err):
			t.Errorf("the error has no class: %v", err)
		}
	})
}

// heap is a connection on which datagrams have come in.
type heap struct {
	net.Conn
	datagrams [][]byte
}

func (h *heap) Read(b []byte) (int, error) {
	if len(h.datagrams) == 0 {
		return 0, io.EOF
	}
	n := copy(b, h.datagrams[0])
	h.datagrams = h.datagrams[1:]
	return n, nil
}

// What passes the guard is a whole packet that answers, and never one of a session that nobody agreed the keys of.
func FuzzDatagrams(f *testing.F) {
	opened := append([]byte{6, 0, 0xff, 7, 6, kindOpened, 0, 0, 0, 0, 0, 0, 0, 0, sizeOpened, 0}, make([]byte, sizeOpened)...)
	f.Add(byte(kindOpen), opened, []byte{})
	f.Add(byte(kindOpen), opened[:25], []byte{})
	f.Add(byte(kindRAKP1), []byte{6, 0, 0xff, 7, 6, kindRAKP2, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0x0d}, opened)
	f.Add(byte(kindIPMI), []byte{6, 0, 0xff, 7, 6, authentic | encrypted, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, opened)
	f.Fuzz(func(t *testing.T, asked byte, first, second []byte) {
		auth, integrity, _, _ := types.GetCipherSuiteAlgorithms(types.CipherSuiteID17)
		g := &guarded{
			Conn: &heap{datagrams: [][]byte{first, second}}, heard: &atomic.Bool{}, asked: asked & kindMask,
			keys: keys{auth: auth, integrity: integrity, username: "admin", password: "secret"},
		}
		buffer := make([]byte, 1024)
		n, err := g.Read(buffer)
		if errors.Is(err, io.EOF) {
			return
		}
		p, ok := parse(buffer[:n])
		if !ok || p.kind == kindIPMI || p.kind != answerTo(g.asked) {
			t.Errorf("%x passed after %#x", buffer[:n], asked)
		}
	})
}
