package v2alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PowerSwitch declares how a machine's power is worked, so that a slot needs no pod specs of its own: from it the operator
// derives Jobs that run the program power. At most one of ipmi, redfish, http and wakeOnLan says how the machine goes up;
// ssh, beside one of them or alone, is the orderly way down through its operating system. A field that says nothing of
// its own about a time takes it from the group's timeouts.
//
// +kubebuilder:validation:XValidation:rule="[has(self.ipmi), has(self.redfish), has(self.http), has(self.wakeOnLan)].filter(one, one).size() <= 1",message="takes at most one of ipmi, redfish, http and wakeOnLan: a machine has one switch, and ssh may go with any"
// +kubebuilder:validation:XValidation:rule="has(self.ipmi) || has(self.redfish) || has(self.http) || has(self.wakeOnLan) || has(self.ssh)",message="must say which switch the machine has: ipmi, redfish, http, wakeOnLan or ssh"
// +kubebuilder:validation:XValidation:rule="!has(self.forceAfter) || has(self.ipmi) || has(self.redfish) || has(self.http) && has(self.http.powerOff) && has(self.http.status)",fieldPath=".forceAfter",message="needs a switch that can cut the power and be read: ipmi, redfish, or http with powerOff and status"
// +kubebuilder:validation:XValidation:rule="!(has(self.ssh) && has(self.http) && has(self.http.softOff))",fieldPath=".ssh",message="http.softOff is an orderly way down already: keep one of the two"
type PowerSwitch struct {
	// A BMC that speaks IPMI 2.0 (RMCP+, which tools call lanplus): iDRAC, iLO, IPMI on a server board.
	// +optional
	IPMI *IPMISwitch `json:"ipmi,omitempty"`
	// A BMC that speaks Redfish. Where a BMC has both, this is the one to take: its answers are encrypted and its errors
	// speak.
	// +optional
	Redfish *RedfishSwitch `json:"redfish,omitempty"`
	// A switch that is worked by plain HTTP requests of your own: a smart plug, a KVM with power buttons, a home automation.
	// +optional
	HTTP *HTTPSwitch `json:"http,omitempty"`
	// A network card that wakes the machine by a magic packet. It cannot switch it off: add ssh, or a shutdownPodSpec.
	// +optional
	WakeOnLAN *WakeOnLANSwitch `json:"wakeOnLan,omitempty"`
	// The machine's own ssh server, by which it is asked to shut down. It wins over the soft-off of ipmi and redfish, and
	// over cutting the power by http, which then is only done as forceAfter says. It cannot switch a machine on: alone it
	// needs a startupPodSpec.
	// +optional
	SSH *SSHSwitch `json:"ssh,omitempty"`
	// For how long an orderly shutdown is waited for before the power is cut. It must leave a minute of the group's
	// timeouts.shutdownJob (5m by default). Cutting it loses what the machine has not written; a plug whose machine only
	// starts when its power returns needs it. Default: the power is never cut of a machine that does not obey.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self.matches('^([0-9]{1,5}([.][0-9]{1,9})?(ms|s|m|h))+$') && duration(self) >= duration('1s') && duration(self) <= duration('24h')",message="must be a duration from 1s to 24h, such as 90s, 15m or 1h30m"
	// +optional
	ForceAfter *metav1.Duration `json:"forceAfter,omitempty"`
	// Labels of the kubeNodes that may run the derived pods, for example those in the management network, or for a magic
	// packet those in the machine's own network segment. Default: any kubeNode that is not a slot of ours.
	// +kubebuilder:validation:MaxProperties=32
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^([a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$'))",message="a label's key is a name, with or without a prefix such as example.com/, of letters, digits, '-', '_' and '.', at most 63"
	// +kubebuilder:validation:XValidation:rule="self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$'))",message="a label's value is letters, digits, '-', '_' and '.', at most 63"
	// +optional
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
}

// SecretReference names a Secret of the slot's namespace. Only the pods that work the switch get to see what is in it.
type SecretReference struct {
	// The Secret's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*$')",message="must be the name of a Secret: lower-case letters, digits, '-' and '.', such as worker-01-bmc"
	Name string `json:"name"`
}

// PrivilegeLevel is what a session with a BMC may do.
//
// +kubebuilder:validation:Enum=Operator;Administrator
type PrivilegeLevel string

// The privilege levels that can switch a machine.
const (
	// PrivilegeOperator is enough for most BMCs.
	PrivilegeOperator PrivilegeLevel = "Operator"
	// PrivilegeAdministrator is what some ask for.
	PrivilegeAdministrator PrivilegeLevel = "Administrator"
)

// IPMISwitch is a BMC that speaks IPMI 2.0.
type IPMISwitch struct {
	// The BMC's host name, IPv4 or IPv6 address.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || self.matches('^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*[.]?$') && !self.matches('^[0-9.]+$')",message="must be a host name or an IP address without a port, such as worker-01-bmc.lan"
	Address string `json:"address"`
	// The UDP port. Default 623, IPMI's own.
	// +kubebuilder:default=623
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// The Secret with the keys username and password. The user needs the privilege level below, and IPMI over LAN.
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// What the session may do: Operator is enough to switch on most BMCs, some ask for Administrator. Default Operator.
	// +kubebuilder:default=Operator
	// +optional
	PrivilegeLevel PrivilegeLevel `json:"privilegeLevel,omitempty"`
	// The RMCP+ cipher suite: 17 (SHA-256) or 3 (SHA-1). Others are broken, or no encryption at all. Default: 17, and 3
	// where the BMC does not know that.
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=17
	// +kubebuilder:validation:XValidation:rule="self in [3, 17]",message="must be 17 or 3: the others do not encrypt, or are broken"
	// +optional
	CipherSuite int32 `json:"cipherSuite,omitempty"`
}

// RedfishSwitch is one computer system of a BMC that speaks Redfish.
type RedfishSwitch struct {
	// Where the BMC's service is, with a port where it is another than 443: its path is always /redfish/v1.
	// +kubebuilder:validation:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@[:space:]]+/?$') && isURL(self)",message="must be an address with https:// (or http://) and without a path or a password, such as https://worker-01-bmc.lan"
	URL string `json:"url"`
	// The id of the computer system, the last part of its path below /redfish/v1/Systems, where a BMC has several.
	// Default: the only one.
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[^/?#[:space:]]+$')",message="must be the last part of the system's path below /redfish/v1/Systems, such as 1 or System.Embedded.1"
	// +optional
	SystemID string `json:"systemID,omitempty"`
	// The Secret with the keys username and password, and perhaps ca.crt.
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// How the service's certificate is verified. Default: by ca.crt of the credentials, else by the well-known authorities.
	// +optional
	TLS *SwitchTLS `json:"tls,omitempty"`
}

// SwitchTLS says how the certificate of a power switch is verified.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.caSecretRef) && has(self.insecureSkipVerify) && self.insecureSkipVerify)",message="insecureSkipVerify verifies nothing, so caSecretRef has no use beside it"
type SwitchTLS struct {
	// The Secret whose key ca.crt holds, in PEM, the certificates to verify with, for example of your own authority, or the
	// switch's self-signed one. Default: ca.crt of the credentials, else the well-known authorities.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
	// Whether any certificate is taken. Whoever is on the network in between can then read the password. Default false.
	// +optional
	InsecureSkipVerify bool `json:"insecureSkipVerify,omitempty"`
}

// HTTPSwitch is a switch that is worked by HTTP requests. In urls, header values and bodies, ${username}, ${password} and
// ${token} stand for the keys of the credentials. Without ${password} anywhere, and without a header Authorization, user and
// password are sent as basic authentication. A request succeeds with any 2xx status.
//
// +kubebuilder:validation:XValidation:rule="has(self.powerOn) || has(self.powerOff) || has(self.softOff) || has(self.status)",message="needs a request that works the switch: powerOn, powerOff, softOff or status"
type HTTPSwitch struct {
	// The request that switches the machine on. It should be harmless on one that is on: a button that toggles needs a
	// status, which is looked at first. Default: none, and a startupPodSpec is needed.
	// +optional
	PowerOn *HTTPRequest `json:"powerOn,omitempty"`
	// The request that cuts the power. Where there is neither softOff nor ssh it is the way down, at once and without an
	// orderly shutdown. Default: none.
	// +optional
	PowerOff *HTTPRequest `json:"powerOff,omitempty"`
	// The request that asks for an orderly shutdown, such as a short press of a KVM's power button. Default: none.
	// +optional
	SoftOff *HTTPRequest `json:"softOff,omitempty"`
	// The request that reads the state, and how its answer is read. Without it nobody knows what a request did, and the
	// kubelet alone shows it. Default: none.
	// +optional
	Status *HTTPStatus `json:"status,omitempty"`
	// The Secret with the keys username, password and token, as far as they are needed, and perhaps ca.crt. Default: no
	// credentials.
	// +optional
	CredentialsSecretRef *SecretReference `json:"credentialsSecretRef,omitempty"`
	// How the switch's certificate is verified. Default: by ca.crt of the credentials, else by the well-known authorities.
	// +optional
	TLS *SwitchTLS `json:"tls,omitempty"`
}

// HTTPRequest is one request to a switch.
type HTTPRequest struct {
	// The method. Default: GET, and POST where there is a body.
	// +kubebuilder:validation:Enum=GET;POST;PUT;PATCH;DELETE
	// +optional
	Method string `json:"method,omitempty"`
	// Where to. Whoever may read slots can read it: write ${password} or ${token} where one belongs.
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@[:space:]]+([/?#][^[:space:]]*)?$') && isURL(self)",message="must be a URL with http:// or https:// and without a password before the host, such as http://plug.lan/relay/0?turn=on"
	// +kubebuilder:validation:XValidation:rule="!self.replace('${username}', '').replace('${password}', '').replace('${token}', '').contains('${')",message="only ${username}, ${password} and ${token} are replaced"
	URL string `json:"url"`
	// Further header fields. Default: none, and Content-Type application/json for a body that is JSON.
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(key, key.matches('^[-!#$%&*+.^_|~0-9A-Za-z]{1,128}$'))",message="a header field's name is letters, digits and '-', such as X-Api-Key"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !self[key].matches('[[:cntrl:]]'))",message="a header field's value is one line"
	// +kubebuilder:validation:XValidation:rule="self.all(key, !self[key].replace('${username}', '').replace('${password}', '').replace('${token}', '').contains('${'))",message="of a header field's value only ${username}, ${password} and ${token} are replaced"
	// +optional
	Headers map[string]string `json:"headers,omitempty"`
	// What is sent with it. Credentials are escaped in a body that is JSON. Default: nothing.
	// +kubebuilder:validation:MaxLength=4096
	// +kubebuilder:validation:XValidation:rule="!self.replace('${username}', '').replace('${password}', '').replace('${token}', '').contains('${')",message="only ${username}, ${password} and ${token} are replaced"
	// +optional
	Body string `json:"body,omitempty"`
}

// HTTPStatus reads the state of a switch: the value that is judged is what jsonPath leads to, or what pattern finds, or
// the whole answer. What is understood as neither on nor off is unknown, which never counts as off.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.jsonPath) && has(self.pattern))",message="takes jsonPath or pattern, not both"
// +kubebuilder:validation:XValidation:rule="!(has(self.onAbove) && (has(self.onValue) || has(self.offValue)))",message="onAbove compares numbers, so onValue and offValue have no use beside it"
type HTTPStatus struct {
	HTTPRequest `json:",inline"`
	// Where the value stands in an answer in JSON: names parted by dots, numbers in brackets, such as switch:0.output or
	// relays[0].ison. Default: the whole answer.
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^([$][.]?)?([^.$[:space:]\\\\[\\\\]]+|[\\\\[][0-9]{1,4}[\\\\]])([.][^.$[:space:]\\\\[\\\\]]+|[\\\\[][0-9]{1,4}[\\\\]])*$')",message="must be names parted by dots, with numbers in brackets, such as relays[0].ison"
	// +optional
	JSONPath string `json:"jsonPath,omitempty"`
	// A regular expression (RE2) that finds the value in an answer of any kind; its first group, if it has one, is the
	// value. Default: the whole answer.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Pattern string `json:"pattern,omitempty"`
	// The value that means on, compared without regard to case; write it in quotes. Default: on, true and 1.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	OnValue string `json:"onValue,omitempty"`
	// The value that means off, compared without regard to case; write it in quotes. Default: off, false and 0, unless
	// onValue is given: then nothing means off.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	OffValue string `json:"offValue,omitempty"`
	// The number of watts above which the machine is on, a decimal number in quotes; at it or below, it is off. A plug that
	// measures can tell a machine that shut down from one that runs, and is opened behind it. Default: values are compared.
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9]{1,6}([.][0-9]{1,6})?$')",message=`must be a decimal number, in quotes and not negative, such as "10"`
	// +optional
	OnAbove string `json:"onAbove,omitempty"`
}

// WakeOnLANSwitch is a network card that waits for a magic packet. Nobody answers one: whether the machine woke, its
// kubelet shows. The derived pod uses the network of the machine it runs on, since a broadcast does not leave a pod's own.
type WakeOnLANSwitch struct {
	// The hardware address of the machine's network card.
	// +kubebuilder:validation:MaxLength=17
	// +kubebuilder:validation:XValidation:rule="self.matches('^[0-9A-Fa-f][02468ACEace](:[0-9A-Fa-f]{2}){5}$') && self != '00:00:00:00:00:00'",message="must be the hardware address of one network card, with colons, such as 52:54:00:12:34:56"
	MACAddress string `json:"macAddress"`
	// The IPv4 address that the packet is sent to: the broadcast address of the machine's network where the pod's node has
	// several. Default 255.255.255.255, the network of the node's default route.
	// +kubebuilder:default="255.255.255.255"
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:XValidation:rule="isIP(self) && ip(self).family() == 4",message="must be an IPv4 address, such as 192.168.1.255"
	// +optional
	Broadcast string `json:"broadcast,omitempty"`
	// The UDP port. Cards do not look at it; a router in between may. Default 9, discard.
	// +kubebuilder:default=9
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
}

// SSHSwitch is the ssh server of the machine's operating system. Its host key must be known: by known_hosts of the
// credentials, or by hostKeyFingerprint.
type SSHSwitch struct {
	// The machine's host name, IPv4 or IPv6 address.
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="isIP(self) || self.matches('^[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?([.][A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*[.]?$') && !self.matches('^[0-9.]+$')",message="must be a host name or an IP address without a port, such as worker-01-bmc.lan"
	Address string `json:"address"`
	// The TCP port. Default 22.
	// +kubebuilder:default=22
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	// +optional
	Port int32 `json:"port,omitempty"`
	// Who logs in. Default: username of the credentials, else root.
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^[A-Za-z0-9_][-A-Za-z0-9_.]*[$]?$')",message="must be the name of a user of the machine, such as poweroff"
	// +optional
	User string `json:"user,omitempty"`
	// The Secret with the key ssh-privatekey (or password), and as far as they are needed username and known_hosts.
	CredentialsSecretRef SecretReference `json:"credentialsSecretRef"`
	// The SHA-256 fingerprint of the machine's host key, as ssh-keygen -l prints it. Default: known_hosts of the
	// credentials; with neither, the machine is not spoken to.
	// +kubebuilder:validation:MaxLength=50
	// +kubebuilder:validation:XValidation:rule="self == '' || self.matches('^SHA256:[A-Za-z0-9+/]{43}$')",message="must be what ssh-keygen -l prints, SHA256: and 43 characters"
	// +optional
	HostKeyFingerprint string `json:"hostKeyFingerprint,omitempty"`
	// What shuts the machine down. A forced command of its authorized_keys wins over it. Default: systemctl poweroff, with
	// sudo -n unless the user is root.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Command string `json:"command,omitempty"`
}

// SwitchReport is what was derived from a slot's switch. It has no secrets: those are in files of the pods.
type SwitchReport struct {
	// The image of the program power, as the manager was told by --power-image.
	Image string `json:"image"`
	// The command line that switches the machine on; absent where spec.startupPodSpec does.
	// +optional
	Startup string `json:"startup,omitempty"`
	// The command line that switches the machine off; absent where spec.shutdownPodSpec does.
	// +optional
	Shutdown string `json:"shutdown,omitempty"`
}
