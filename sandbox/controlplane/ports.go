package controlplane

import (
	"fmt"
	"net"
)

// ports are where the components listen, all on the loopback interface.
type ports struct {
	etcd, etcdPeer, api, controllerManager, scheduler int
}

func (p *ports) each() []*int {
	return []*int{&p.etcd, &p.etcdPeer, &p.api, &p.controllerManager, &p.scheduler}
}

// freePorts asks the kernel for ports that nobody uses. It holds all of them until it has the last, so that they differ.
func freePorts() (ports, error) {
	var p ports
	for _, port := range p.each() {
		listener, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
		if err != nil {
			return ports{}, fmt.Errorf("finding a free port: %w", err)
		}
		defer listener.Close()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// taken reports, once our own components are gone, whether somebody else holds one of the ports.
func (p *ports) taken() bool {
	for _, port := range p.each() {
		if *port == 0 {
			continue
		}
		listener, err := net.Listen("tcp", fmt.Sprintf("%s:%d", loopback, *port))
		if err != nil {
			return true
		}
		_ = listener.Close()
	}
	return false
}
