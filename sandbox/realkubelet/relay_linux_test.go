package realkubelet

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// gateway is the host's end of the pods' network, as testdata/pods.conflist has it.
const gateway = "198.18.213.1"

// relay hands on to an address of loopback, which no pod can reach, what pods send to the address that it answers, and back.
func relay(t *testing.T, to string) *net.UDPAddr {
	t.Helper()
	listen := net.ListenConfig{Control: early}
	pods, err := listen.ListenPacket(t.Context(), "udp4", net.JoinHostPort(gateway, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = pods.Close() })
	go func() {
		ways, packet := map[string]net.Conn{}, make([]byte, 64<<10)
		for {
			n, pod, err := pods.ReadFrom(packet)
			if err != nil {
				return
			}
			way := ways[pod.String()]
			if way == nil {
				if way, err = (&net.Dialer{}).DialContext(t.Context(), "udp4", to); err != nil {
					continue
				}
				defer func() { _ = way.Close() }()
				ways[pod.String()] = way
				go answer(pods, pod, way)
			}
			_, _ = way.Write(packet[:n]) // a packet may be lost
		}
	}()
	return pods.LocalAddr().(*net.UDPAddr)
}

// answer brings a pod what comes back.
func answer(pods net.PacketConn, pod net.Addr, way net.Conn) {
	packet := make([]byte, 64<<10)
	for {
		n, err := way.Read(packet)
		if err != nil {
			return
		}
		_, _ = pods.WriteTo(packet[:n], pod)
	}
}

// early lets a socket have an address that the host will only have with its first pod.
func early(_, _ string, socket syscall.RawConn) error {
	var refused error
	err := socket.Control(func(fd uintptr) { refused = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, syscall.IP_FREEBIND, 1) })
	return errors.Join(err, refused)
}
