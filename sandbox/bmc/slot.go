package bmc

import (
	"fmt"
	"net"
	"os"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Wiring is how the program power works a machine: by one protocol, or by one that goes up and another that goes down.
type Wiring string

// The wirings.
const (
	// ByIPMI and ByRedfish go up, down and are read through the controller.
	ByIPMI    Wiring = "ipmi"
	ByRedfish Wiring = "redfish"
	// ByPackets goes up by a magic packet and down by ssh, and can be read only while the machine is up.
	ByPackets Wiring = "ssh+wol"
	// ByPlug goes up and is read through a smart plug, and goes down by ssh before the plug is opened.
	ByPlug Wiring = "http"
)

// Wirings are all there are.
func Wirings() []Wiring { return []Wiring{ByIPMI, ByRedfish, ByPackets, ByPlug} }

// Protocols are those that a panel must speak for it.
func (w Wiring) Protocols() []Protocol {
	switch w {
	case ByIPMI:
		return []Protocol{IPMI}
	case ByRedfish:
		return []Protocol{Redfish}
	case ByPackets:
		return []Protocol{WakeOnLAN, SSH}
	case ByPlug:
		return []Protocol{Plug, SSH}
	}
	return nil
}

// Validate refuses what is not among Wirings.
func (w Wiring) Validate() error {
	if !slices.Contains(Wirings(), w) {
		return fmt.Errorf("a switch is one of %v, not %q", Wirings(), w)
	}
	return nil
}

// Args are the arguments with which the program power works this machine; credentials is the folder that holds what
// Secret has.
func (p *Panel) Args(w Wiring, credentials string) []string {
	args := []string{"--credentials=" + credentials}
	ssh := []string{"--ssh=" + p.Credentials.User + "@" + p.Address(SSH), "--ssh-command=poweroff"}
	switch w {
	case ByIPMI:
		// The controller's one user is an administrator, who can log in as an operator too.
		return append(args, "--ipmi="+p.Address(IPMI))
	case ByRedfish:
		return append(args, "--redfish=https://"+p.Address(Redfish))
	case ByPackets:
		return slices.Concat(args, []string{"--wake-on-lan=" + p.MAC.String(), "--broadcast=" + p.Address(WakeOnLAN)}, ssh)
	case ByPlug:
		plug := "http://" + p.Address(Plug) + "/rpc/Switch."
		return slices.Concat(args, []string{
			"--http-on=" + plug + "Set?id=0&on=true", "--http-off=" + plug + "Set?id=0&on=false",
			fmt.Sprintf(`--http-status={"url": %q, "jsonPath": "apower", "above": "10"}`, plug+"GetStatus?id=0"),
		}, ssh)
	}
	return args
}

// Secret is what a person puts into the Secret of a machine's switch, by key.
func (p *Panel) Secret() (map[string][]byte, error) {
	data := map[string][]byte{"username": []byte(p.Credentials.User), "password": []byte(p.Credentials.Password)}
	for key, file := range map[string]string{"ca.crt": p.CA, "known_hosts": p.KnownHosts, "ssh-privatekey": p.ClientKey} {
		if key == "known_hosts" && p.wires[SSH] == nil {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the keys of %s: %w", p.Machine.Name(), err)
		}
		data[key] = text
	}
	return data, nil
}

// mountPath is where a slot's pods find their machine's Secret.
const mountPath = "/etc/power"

// Slot is the machine's slot, worked by the program power with the credentials in the Secret beside it. flags are given to
// power at every start and at every shutdown.
func (p *Panel) Slot(w Wiring, namespace, group string, flags ...string) (*v2.Node, *corev1.Secret, error) {
	data, err := p.Secret()
	if err != nil {
		return nil, nil, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Machine.Name() + "-switch"}, Data: data}
	slot := p.Machine.Slot(namespace, group)
	slot.Spec.StartupPodSpec = p.podSpec(w, secret.Name, slices.Concat(flags, []string{"--ok=already", "on"})...)
	slot.Spec.ShutdownPodSpec = p.podSpec(w, secret.Name, slices.Concat(flags, []string{"--ok=already", "soft"})...)
	if w == ByPackets {
		// Whether the machine is off nobody can read: a shutdown that was taken is all there is.
		slot.Spec.ShutdownPodSpec = p.podSpec(w, secret.Name, slices.Concat(flags, []string{"--ok=unobserved", "--observe=0s", "soft"})...)
	}
	return &slot, secret, nil
}

// podSpec is a pod that runs the program power once. Simulated machines are quick, and so is the look at them.
func (p *Panel) podSpec(w Wiring, secret string, args ...string) v2.MinimalPodSpec {
	spec := p.Machine.StartupPodSpec()
	spec.Args = slices.Concat(p.Args(w, mountPath), []string{"--poll=300ms"}, args)
	spec.Volumes = []v2.Volume{{Name: "switch", MountPath: mountPath, SecretName: secret, ReadOnly: true}}
	return spec
}

// ByHand is a command line with which a person works the switch, with a tool of the protocol's own.
func (p *Panel) ByHand(w Wiring) string {
	c := p.Credentials
	switch w {
	case ByIPMI:
		host, port, _ := net.SplitHostPort(p.Address(IPMI)) // it is of our making
		return fmt.Sprintf("ipmitool -I lanplus -H %s -p %s -U %s -P %s power status", host, port, c.User, c.Password)
	case ByRedfish:
		return fmt.Sprintf("curl --cacert %s -u %s:%s https://%s%s", p.CA, c.User, c.Password, p.Address(Redfish), redfishSystem)
	case ByPackets:
		host, port, _ := net.SplitHostPort(p.Address(SSH))
		return fmt.Sprintf("ssh -i %s -o UserKnownHostsFile=%s -p %s %s@%s poweroff", p.ClientKey, p.KnownHosts, port, c.User, host)
	case ByPlug:
		return fmt.Sprintf("curl -u %s:%s 'http://%s/rpc/Switch.GetStatus?id=0'", c.User, c.Password, p.Address(Plug))
	}
	return ""
}
