package bmc

import (
	"net"
	"sync/atomic"

	"github.com/bougou/go-ipmi/pkg/protocol"
	"github.com/bougou/go-ipmi/pkg/rmcpplus"
	"github.com/bougou/go-ipmi/pkg/transport/udp"
	"github.com/bougou/go-ipmi/pkg/types"
)

// line is the controller's network, on which the lies about packets and sessions are told.
type line struct {
	*udp.Conn
	w *wire
	// lose is how many of the next answers get lost.
	lose atomic.Int32
}

// ReadFrom returns the next packet that reaches the controller.
func (l *line) ReadFrom(buf []byte) (int, net.Addr, error) {
	for {
		n, from, err := l.Conn.ReadFrom(buf)
		if err != nil {
			return n, from, err
		}
		if !l.w.withholds() && !l.w.drops() && !l.turnsAway(buf[:n], from) {
			return n, from, nil
		}
	}
}

// WriteTo sends an answer, unless it is one that gets lost.
func (l *line) WriteTo(packet []byte, to net.Addr) (int, error) {
	if l.lose.Load() > 0 {
		l.lose.Add(-1)
		return len(packet), nil
	}
	return l.Conn.WriteTo(packet, to)
}

// turnsAway answers the packet of somebody who wants a session and shall get none. It also notes a login that will fail,
// for the controller itself does not say.
func (l *line) turnsAway(packet []byte, from net.Addr) bool {
	_, _, payload, _, body, ok := protocol.ParseRMCPPlusHeader(packet)
	if !ok {
		return false
	}
	switch types.PayloadType(payload) {
	case types.PayloadTypeRAKPMessage1:
		if l.w.current().RejectPassword {
			l.w.reject("")
		}
		return false
	case types.PayloadTypeRmcpOpenSessionRequest:
	default:
		return false
	}
	var request rmcpplus.OpenSessionRequest
	if request.Unpack(body) != nil || !l.w.refuses() {
		return false
	}
	answer := rmcpplus.OpenSessionResponse{
		MessageTag: request.MessageTag, RemoteConsoleSessionID: request.RemoteConsoleSessionID,
		RmcpStatusCode: types.RmcpStatusCodeNoResToCreateSess,
	}
	// Whoever asked will notice if it does not reach him.
	_, _ = l.Conn.WriteTo(protocol.BuildRMCPPlusPacket(uint8(types.PayloadTypeRmcpOpenSessionResponse), 0, 0, 0, answer.Pack()), from)
	return true
}
