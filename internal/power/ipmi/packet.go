package ipmi

import (
	"encoding/binary"

	"github.com/bougou/go-ipmi/pkg/crypto"
	"github.com/bougou/go-ipmi/pkg/types"
)

// packet is one RMCP+ datagram, taken apart.
type packet struct {
	kind          byte
	authenticated bool
	encrypted     bool
	payload       []byte
	// signed is what the authentication code is made over, together with the code at its end.
	signed []byte
}

// The layout of a datagram: an RMCP header, then the session's header, whose first byte is the format.
const (
	rmcpVersion = 0x06
	rmcpIPMI    = 0x07
	formatPlus  = 0x06
	sessionAt   = 4
	kindAt      = 5
	lengthAt    = 14
	payloadAt   = 16
)

// The kinds of payload that are spoken here.
const (
	kindIPMI     = 0x00
	kindOpen     = 0x10
	kindOpened   = 0x11
	kindRAKP1    = 0x12
	kindRAKP2    = 0x13
	kindRAKP3    = 0x14
	kindRAKP4    = 0x15
	kindMask     = 0x3f
	authentic    = 0x40
	encrypted    = 0x80
	statusAt     = 1
	sizeOpened   = 36
	sizeRAKP1    = 28
	sizeRAKP2    = 40
	sizeRAKP4    = 8
	sizeRefusal  = 8
	sizeAESBlock = 16
	leastMessage = 8
)

// parse takes a datagram apart, if it has the parts that it says it has.
func parse(b []byte) (packet, bool) {
	if len(b) < payloadAt || b[0] != rmcpVersion || b[3] != rmcpIPMI || b[sessionAt] != formatPlus {
		return packet{}, false
	}
	end := payloadAt + int(binary.LittleEndian.Uint16(b[lengthAt:]))
	if len(b) < end {
		return packet{}, false
	}
	return packet{
		kind: b[kindAt] & kindMask, authenticated: b[kindAt]&authentic != 0, encrypted: b[kindAt]&encrypted != 0,
		payload: b[payloadAt:end], signed: b[sessionAt:],
	}, true
}

// lengthen makes a refusal as long as the library wants one: OpenIPMI, for one, ends it after the status. It returns the
// datagram's length.
func lengthen(b []byte, n int) int {
	p, ok := parse(b[:n])
	if !ok || p.kind == kindIPMI || len(p.payload) <= statusAt || p.payload[statusAt] == 0 ||
		len(p.payload) >= sizeRefusal || len(b) < payloadAt+sizeRefusal {
		return n
	}
	clear(b[payloadAt+len(p.payload) : payloadAt+sizeRefusal])
	binary.LittleEndian.PutUint16(b[lengthAt:], sizeRefusal)
	return payloadAt + sizeRefusal
}

// answerTo is the kind of packet that answers one: in the session's setup the next number, else the same.
func answerTo(kind byte) byte {
	if kind == kindIPMI {
		return kind
	}
	return kind + 1
}

// keys are what a session's packets are held to. They are derived from the packets themselves and the password, as both
// ends do.
type keys struct {
	auth               types.AuthAlg
	integrity          types.IntegrityAlg
	username, password string
	// consoleRandom and role are of the RAKP message 1 that was sent.
	consoleRandom []byte
	role          byte
	// k1 signs and k2 encrypts; nil until RAKP message 2 has come.
	k1, k2 []byte
}

// sent notes what of a packet of ours goes into the keys.
func (k *keys) sent(p packet) {
	if p.kind == kindRAKP1 && len(p.payload) >= sizeRAKP1 {
		k.consoleRandom, k.role = append([]byte(nil), p.payload[8:24]...), p.payload[24]
		k.k1, k.k2 = nil, nil
	}
}

// sound is whether an answer is what it should be.
func (k *keys) sound(p packet) bool {
	if p.kind == kindIPMI {
		return p.authenticated && p.encrypted && k.signed(p) && k.decrypts(p)
	}
	if len(p.payload) < sizeRefusal || p.authenticated || p.encrypted {
		return false
	}
	refused := p.payload[statusAt] != 0
	switch p.kind {
	case kindOpened:
		return refused || len(p.payload) >= sizeOpened && p.payload[16] == byte(k.auth) && p.payload[24] == byte(k.integrity) &&
			p.payload[32] == byte(types.CryptAlg_AES_CBC_128)
	case kindRAKP2:
		return refused || len(p.payload) >= sizeRAKP2+crypto.RAKP2AuthCodeLen(k.auth) && k.derive(p.payload[8:24])
	case kindRAKP4:
		return refused || len(p.payload) >= sizeRAKP4+crypto.RAKP4ICVLen(k.auth)
	}
	return false
}

// derive makes the keys, now that both random numbers are known. Whether the BMC knows the password the library checks.
func (k *keys) derive(bmcRandom []byte) bool {
	var err error
	_, k.k1, k.k2, err = crypto.DeriveSessionKeys(k.auth, k.consoleRandom, bmcRandom, k.role, k.username,
		crypto.PadPassword20([]byte(k.password)))
	return err == nil
}

// signed is whether the packet ends in the right authentication code.
func (k *keys) signed(p packet) bool {
	length, known := crypto.IntegrityAuthCodeLen(k.integrity)
	if !known || k.k1 == nil || len(p.signed) < length {
		return false
	}
	text, code := p.signed[:len(p.signed)-length], p.signed[len(p.signed)-length:]
	want, err := crypto.SessionIntegrityAuthCode(k.integrity, text, k.k1, k.password)
	return err == nil && crypto.Equal(want, code)
}

// decrypts is whether the payload is an initialisation vector and whole blocks, padded as they should be, around a message.
func (k *keys) decrypts(p packet) bool {
	if len(p.payload) < 2*sizeAESBlock || len(p.payload)%sizeAESBlock != 0 || len(k.k2) < sizeAESBlock {
		return false
	}
	plain, err := crypto.DecryptAES(append([]byte(nil), p.payload[sizeAESBlock:]...), k.k2[:sizeAESBlock], p.payload[:sizeAESBlock])
	if err != nil || len(plain) == 0 {
		return false
	}
	padding := int(plain[len(plain)-1])
	return padding < sizeAESBlock && len(plain)-padding-1 >= leastMessage
}
