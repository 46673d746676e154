package controlplane

import (
	"context"
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
		listener, err := listen(0)
		if err != nil {
			return ports{}, fmt.Errorf("finding a free port: %w", err)
		}
		defer func() { _ = listener.Close() }()
		*port = listener.Addr().(*net.TCPAddr).Port
	}
	return p, nil
}

// listen takes a port of the loopback interface; 0 is any.
func listen(port int) (net.Listener, error) {
	var config net.ListenConfig
	return config.Listen(context.Background(), "tcp", fmt.Sprintf("%s:%d", loopback, port)) // resolves nothing
}

// taken reports, once our own components are gone, whether somebody else holds one of the ports.
func (p *ports) taken() bool {
	for _, port := range p.each() {
		if *port == 0 {
			continue
		}
		listener, err := listen(*port)
		if err != nil {
			return true
		}
		_ = listener.Close()
	}
	return false
}

// FreeAddress is an address on the loopback interface where nobody listens now.
func FreeAddress() (string, error) {
	listener, err := listen(0)
	if err != nil {
		return "", fmt.Errorf("finding a free address: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}
