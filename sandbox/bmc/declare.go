package bmc

import (
	"fmt"
	"net"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Declare is the machine's slot as a person writes one: with its switch, which the Secret beside it opens, and without pod
// specs.
func (p *Panel) Declare(w Wiring, namespace, group string) (*v2.Node, *corev1.Secret, error) {
	data, err := p.Secret()
	if err != nil {
		return nil, nil, err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.Machine.Name() + "-switch"}, Data: data}
	slot := p.Machine.Slot(namespace, group)
	slot.Spec.StartupPodSpec, slot.Spec.ShutdownPodSpec = v2.MinimalPodSpec{}, v2.MinimalPodSpec{}
	if slot.Spec.Power, err = p.power(w, v2.SecretReference{Name: secret.Name}); err != nil {
		return nil, nil, fmt.Errorf("declaring the switch of %s: %w", p.Machine.Name(), err)
	}
	return &slot, secret, nil
}

// power is the machine's switch as a slot declares it.
func (p *Panel) power(w Wiring, secret v2.SecretReference) (*v2.PowerSwitch, error) {
	host, port, err := address(p.Address(w.Protocols()[0]))
	if err != nil {
		return nil, err
	}
	power := &v2.PowerSwitch{}
	switch w {
	case ByIPMI:
		power.IPMI = &v2.IPMISwitch{Address: host, Port: port, CredentialsSecretRef: secret}
		return power, nil
	case ByRedfish:
		power.Redfish = &v2.RedfishSwitch{URL: "https://" + p.Address(Redfish), CredentialsSecretRef: secret}
		return power, nil
	case ByPackets:
		power.WakeOnLAN = &v2.WakeOnLANSwitch{MACAddress: p.MAC.String(), Broadcast: host, Port: port}
	case ByPlug:
		plug := "http://" + p.Address(Plug) + "/rpc/Switch."
		power.HTTP = &v2.HTTPSwitch{
			PowerOn: &v2.HTTPRequest{URL: plug + "Set?id=0&on=true"}, PowerOff: &v2.HTTPRequest{URL: plug + "Set?id=0&on=false"},
			Status:               &v2.HTTPStatus{HTTPRequest: v2.HTTPRequest{URL: plug + "GetStatus?id=0"}, JSONPath: "apower", OnAbove: "10"},
			CredentialsSecretRef: &secret,
		}
	}
	if host, port, err = address(p.Address(SSH)); err != nil {
		return nil, err
	}
	power.SSH = &v2.SSHSwitch{Address: host, Port: port, User: p.Credentials.User, CredentialsSecretRef: secret, Command: "poweroff"}
	return power, nil
}

// address takes host and port apart.
func address(of string) (string, int32, error) {
	host, text, err := net.SplitHostPort(of)
	if err != nil {
		return "", 0, err
	}
	port, err := strconv.ParseInt(text, 10, 32)
	return host, int32(port), err
}
