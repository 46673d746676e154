package ipmi

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/bougou/go-ipmi/pkg/types"
)

// guard dials the BMC for the library and holds what comes back to the session: only whole RMCP+ packets pass, of the kind
// that answers what was sent last, with the algorithms that were proposed, and, once keys are agreed, with the right
// authentication code and a sound encryption. Everything else is a silence.
//
// The library needs this: it takes the first packet for its answer, accepts unauthenticated ones (so anybody in the network
// could say "off"), and parses in goroutines of its own, where a panic over a malformed one ends the program.
type guard struct {
	ctx                context.Context
	address            string
	suite              types.CipherSuiteID
	username, password string
	// heard is whether anything at all came back since the last packet was sent.
	heard *atomic.Bool
}

// Dial connects to the BMC, whatever the library calls it: it knows no IPv6 addresses.
func (g guard) Dial(string, string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(g.ctx, "udp", g.address)
	if err != nil {
		return nil, err
	}
	auth, integrity, _, _ := types.GetCipherSuiteAlgorithms(g.suite)
	return &guarded{Conn: conn, heard: g.heard, keys: keys{
		auth: auth, integrity: integrity, username: g.username, password: g.password,
	}}, nil
}

type guarded struct {
	net.Conn
	heard *atomic.Bool
	// asked is the kind of the last packet that was sent. Writing and reading take turns.
	asked byte
	// opened is whether the BMC has given us a session.
	opened bool
	keys   keys
}

// errNoSession is a command that no session is there for: the library takes leave of a BMC that turned it away.
var errNoSession = errors.New("no session was opened")

// Write sends a request, to which nothing was heard yet.
func (g *guarded) Write(b []byte) (int, error) {
	g.heard.Store(false)
	if sent, ok := parse(b); ok {
		if sent.kind == kindIPMI && !g.opened {
			return 0, errNoSession
		}
		g.asked = sent.kind
		g.keys.sent(sent)
	}
	return g.Conn.Write(b)
}

// Read waits for the datagram that answers.
func (g *guarded) Read(b []byte) (int, error) {
	for {
		n, err := g.Conn.Read(b)
		if err != nil {
			return n, err
		}
		g.heard.Store(true)
		n = lengthen(b, n)
		if got, ok := parse(b[:n]); ok && got.kind == answerTo(g.asked) && g.keys.sound(got) {
			g.opened = g.opened || got.kind == kindOpened && got.payload[statusAt] == 0
			return n, nil
		}
	}
}
