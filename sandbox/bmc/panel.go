package bmc

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"slices"

	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// Protocol is a way to work a machine's power.
type Protocol string

// The protocols of a panel.
const (
	// IPMI is the controller beside the machine: RMCP+ with the cipher suites 3 and 17.
	IPMI Protocol = "ipmi"
	// Redfish is the same over HTTPS.
	Redfish Protocol = "redfish"
	// SSH is the server in the machine's operating system, by which it is shut down.
	SSH Protocol = "ssh"
	// Plug is a smart plug before the machine.
	Plug Protocol = "plug"
	// WakeOnLAN is the machine's network card, which can switch it on.
	WakeOnLAN Protocol = "wol"
)

// Protocols are all there are.
func Protocols() []Protocol { return []Protocol{IPMI, Redfish, SSH, Plug, WakeOnLAN} }

// Credentials are a user and the password that go with it.
type Credentials struct{ User, Password string }

// Options say what a panel has.
type Options struct {
	// Dir is the folder for the panel's keys and certificates; each machine gets one of its name in it.
	Dir string
	// Protocols are those it speaks. Default: IPMI alone.
	Protocols []Protocol
	// Credentials are for all protocols. Default: "admin" and a password that was made up.
	Credentials Credentials
}

// Panel is everything by which one machine's power can be worked.
type Panel struct {
	Machine     *machineroom.Metal
	Credentials Credentials
	// MAC is the hardware address that the machine's network card waits for.
	MAC net.HardwareAddr
	// CA is the file with the certificate of the authority that signed the Redfish service's, in PEM. KnownHosts is the
	// file with the SSH server's host key as ssh keeps it, and ClientKey the file with a private key that it lets in.
	CA, KnownHosts, ClientKey string

	addresses map[Protocol]string
	wires     map[Protocol]*wire
	cancel    context.CancelFunc
	stops     []func()
}

// Wire gives a machine its panel. Close it before the machine's room is stopped.
func Wire(ctx context.Context, machine *machineroom.Metal, o Options) (*Panel, error) {
	if len(o.Protocols) == 0 {
		o.Protocols = []Protocol{IPMI}
	}
	if o.Credentials == (Credentials{}) {
		o.Credentials = Credentials{User: "admin", Password: makeUp()}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p := &Panel{Machine: machine, Credentials: o.Credentials, MAC: macOf(machine.Name()), cancel: cancel,
		addresses: map[Protocol]string{}, wires: map[Protocol]*wire{}}
	keys, err := p.makeKeys(filepath.Join(o.Dir, machine.Name()), loopback(ctx))
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("wiring %s: %w", machine.Name(), err)
	}
	for _, protocol := range o.Protocols {
		if err := p.open(ctx, protocol, keys); err != nil {
			p.Close()
			return nil, fmt.Errorf("wiring %s: %w", machine.Name(), err)
		}
	}
	return p, nil
}

// open begins to speak a protocol.
func (p *Panel) open(ctx context.Context, protocol Protocol, k keys) (err error) {
	if p.wires[protocol] != nil {
		return fmt.Errorf("%s is named twice", protocol)
	}
	w := newWire(ctx, protocol, p.Machine)
	var address string
	var stop func()
	switch protocol {
	case IPMI:
		address, stop, err = serveIPMI(w, k.host, p.Credentials)
	case Redfish:
		address, stop, err = serveRedfish(w, k.host, p.Credentials, k.certificate)
	case SSH:
		if address, stop, err = serveSSH(w, k.host, p.Credentials, k.sshHost, k.sshClient); err == nil {
			err = p.trust(address, k.sshHost.PublicKey())
		}
	case Plug:
		address, stop, err = servePlug(w, k.host, p.Credentials)
	case WakeOnLAN:
		address, stop, err = serveMagic(w, k.host, p.MAC)
	default:
		return fmt.Errorf("there is no protocol %q; there are %v", protocol, Protocols())
	}
	if stop != nil {
		p.stops = append(p.stops, stop)
	}
	p.addresses[protocol], p.wires[protocol] = address, w
	return err
}

// Close ends all protocols. It may be called twice.
func (p *Panel) Close() {
	p.cancel()
	for _, stop := range p.stops {
		stop()
	}
	p.stops = nil
}

// Speaks is the protocols of this panel, in the order of Protocols.
func (p *Panel) Speaks() []Protocol {
	return slices.DeleteFunc(Protocols(), func(protocol Protocol) bool { return p.wires[protocol] == nil })
}

// Address is where a protocol is spoken, host and port; empty if it is not.
func (p *Panel) Address(protocol Protocol) string { return p.addresses[protocol] }

// SetLies replaces the lies of a protocol. What is under way follows at once.
func (p *Panel) SetLies(protocol Protocol, l Lies) error {
	w := p.wires[protocol]
	if w == nil {
		return fmt.Errorf("changing the lies of %s: it does not speak %s", p.Machine.Name(), protocol)
	}
	if err := w.set(l); err != nil {
		return fmt.Errorf("changing the lies of %s over %s: %w", p.Machine.Name(), protocol, err)
	}
	return nil
}

// Lies are the present lies of a protocol, with what was spent of them taken off.
func (p *Panel) Lies(protocol Protocol) Lies {
	if w := p.wires[protocol]; w != nil {
		return w.current()
	}
	return Lies{}
}

// Reads is how often a protocol was asked for the power state and told it.
func (p *Panel) Reads(protocol Protocol) int64 {
	if w := p.wires[protocol]; w != nil {
		return w.reads.Load()
	}
	return 0
}
