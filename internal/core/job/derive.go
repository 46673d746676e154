package job

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// Where the pod of a derived Job finds what its slot's Secrets hold.
const (
	switchFolder = "/etc/power/switch"
	sshFolder    = "/etc/power/ssh"
	caFolder     = "/etc/power/ca"
)

// nobody is the group of the derived container, as the program's image has it. A kubelet takes the user from the image and
// the group not, which without this is root's. containerd refuses a pod whose group is given and whose user is not.
const nobody = 65532

// PodSpec is the pod spec in force for an operation of a slot: the slot's own, or else the one that its power switch
// gives: the program power, with the policy's image, within the time that the policy gives the Job. It is empty where the
// slot has neither, which admission refuses.
func PodSpec(slot *v2.Node, op v2.Operation, p policy.Policy) v2.MinimalPodSpec {
	spec, timeout := slot.Spec.StartupPodSpec, p.StartupJob
	if op == v2.OperationShutdown {
		spec, timeout = slot.Spec.ShutdownPodSpec, p.ShutdownJob
	}
	power := slot.Spec.Power
	if spec.Image != "" || !facts.CanSwitch(power, op) {
		return spec
	}
	d := derived{power: power}
	if op == v2.OperationStartup {
		d.startup(timeout)
	} else {
		d.shutdown(timeout)
	}
	d.add("--ok="+strings.Join(d.ok, ","), "--termination-log="+corev1.TerminationMessagePathDefault)
	return v2.MinimalPodSpec{
		Image:           p.PowerImage,
		ImagePullPolicy: corev1.PullIfNotPresent, // a switch has to work while the internet does not
		Command:         []string{"power"},
		Args:            literal(d.args),
		Volumes:         d.volumes,
		// A broadcast does not leave a pod's own network.
		HostNetwork:        op == v2.OperationStartup && power.WakeOnLAN != nil,
		NodeSelector:       power.NodeSelector,
		SecurityContext:    &corev1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true), RunAsGroup: ptr.To[int64](nobody)},
		PodSecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)},
	}
}

// Derived is the command line of an operation that a slot leaves to its power switch; empty where a pod spec of its own wins.
func Derived(slot *v2.Node, op v2.Operation, p policy.Policy) string {
	own := slot.Spec.StartupPodSpec
	if op == v2.OperationShutdown {
		own = slot.Spec.ShutdownPodSpec
	}
	spec := PodSpec(slot, op, p)
	if own.Image != "" || spec.Image == "" {
		return ""
	}
	return single.Replace(strings.Join(append(spec.Command, spec.Args...), " "))
}

// A kubelet takes $(NAME) for a variable, of which every container has some, and $$ for one dollar sign. doubled writes a
// text so that the program gets it as it is; ${token}, which means nothing to a kubelet, stays easy to read. single is its
// reverse.
var (
	doubled = strings.NewReplacer("${", "${", "$", "$$")
	single  = strings.NewReplacer("$$", "$")
)

// literal are arguments that a kubelet hands on as they are given here.
func literal(args []string) []string {
	var written []string
	for _, arg := range args {
		written = append(written, doubled.Replace(arg))
	}
	return written
}

// Report is what is derived from a slot's switch, or nil where nothing is.
func Report(slot *v2.Node, p policy.Policy) *v2.SwitchReport {
	r := v2.SwitchReport{Image: p.PowerImage, Startup: Derived(slot, v2.OperationStartup, p), Shutdown: Derived(slot, v2.OperationShutdown, p)}
	if r.Startup == "" && r.Shutdown == "" {
		return nil
	}
	return &r
}

// derived is a command line of the program power in the making, with the Secrets it reads.
type derived struct {
	power   *v2.PowerSwitch
	args    []string
	volumes []v2.Volume
	// ok are the outcomes that are fine beside the one that was asked for.
	ok []string
}

func (d *derived) add(args ...string) { d.args = append(d.args, args...) }

func (d *derived) flag(name, value string) {
	if value != "" {
		d.add("--" + name + "=" + value)
	}
}

// startup goes up through the switch. ssh has no part in it.
func (d *derived) startup(timeout time.Duration) {
	d.add("on")
	d.machine(v2.OperationStartup)
	d.waits(timeout, facts.ReadableSwitch(d.power), nil)
}

// shutdown goes down in good order where there is a way, and reads the switch where that can be read.
func (d *derived) shutdown(timeout time.Duration) {
	verb := "soft"
	if http := d.power.HTTP; http != nil && http.SoftOff == nil && d.power.SSH == nil {
		verb = "off" // opening the plug is all there is
	}
	d.add(verb)
	d.machine(v2.OperationShutdown)
	d.ssh()
	var force *time.Duration
	if d.power.ForceAfter != nil {
		force = &d.power.ForceAfter.Duration
	}
	d.waits(timeout, facts.ReadableSwitch(d.power), force)
}

// Bounds of what a Job's time is spent on.
const (
	// reserve is what a Job keeps for its pod to be placed and to start, and for the last answer (1m).
	reserve = time.Minute
	// effect is how long the switch may take to show that it switched (1m).
	effect = time.Minute
	// reach is how long a switch is tried that does not answer (30s), as the program has it.
	reach = 30 * time.Second
)

// waits splits a Job's time: what comes of a soft shutdown is waited for until the reserve is left, a cut has its own
// minute after the grace. A switch that cannot be read is believed: its kubelet will show.
func (d *derived) waits(timeout time.Duration, readable bool, force *time.Duration) {
	d.ok = []string{"already"}
	if !readable {
		d.ok = append(d.ok, "unobserved")
		d.add("--observe=0s")
		return
	}
	left := timeout - min(reserve, timeout/2)
	observe := min(effect, left/2)
	switch {
	case force != nil:
		d.add("--force-after=" + min(*force, left-observe).String())
	case d.args[0] == "soft":
		observe = left
	}
	d.add("--observe=" + observe.String())
	if left/2 < reach {
		d.add("--reach=" + (left / 2).String())
	}
}

// LongestGrace is the most that a Job of that time can wait for an orderly shutdown before it cuts the power.
func LongestGrace(timeout time.Duration) time.Duration {
	left := timeout - min(reserve, timeout/2)
	return left - min(effect, left/2)
}

// machine names the switch itself.
func (d *derived) machine(op v2.Operation) {
	switch p := d.power; {
	case p.IPMI != nil:
		d.flag("ipmi", at(p.IPMI.Address, p.IPMI.Port))
		if p.IPMI.CipherSuite != 0 {
			d.flag("ipmi-cipher-suite", strconv.Itoa(int(p.IPMI.CipherSuite)))
		}
		if p.IPMI.PrivilegeLevel == v2.PrivilegeAdministrator {
			d.add("--ipmi-administrator")
		}
		d.secret("switch", switchFolder, "credentials", &p.IPMI.CredentialsSecretRef)
	case p.Redfish != nil:
		d.flag("redfish", p.Redfish.URL)
		d.flag("redfish-system", p.Redfish.SystemID)
		d.secret("switch", switchFolder, "credentials", &p.Redfish.CredentialsSecretRef)
		d.tls(p.Redfish.TLS)
	case p.HTTP != nil:
		d.http(p.HTTP, op)
	case p.WakeOnLAN != nil && op == v2.OperationStartup:
		d.flag("wake-on-lan", p.WakeOnLAN.MACAddress)
		d.flag("broadcast", at(cmp.Or(p.WakeOnLAN.Broadcast, "255.255.255.255"), cmp.Or(p.WakeOnLAN.Port, 9)))
	}
}

// http gives the requests that the operation may need.
func (d *derived) http(p *v2.HTTPSwitch, op v2.Operation) {
	if op == v2.OperationStartup {
		d.flag("http-on", request(p.PowerOn))
	} else {
		d.flag("http-soft", request(p.SoftOff))
		d.flag("http-off", request(p.PowerOff))
	}
	if s := p.Status; s != nil {
		d.flag("http-status", compact(map[string]any{
			"method": s.Method, "url": s.URL, "headers": s.Headers, "body": s.Body,
			"jsonPath": s.JSONPath, "pattern": s.Pattern, "on": s.OnValue, "off": s.OffValue, "above": s.OnAbove,
		}))
	}
	d.secret("switch", switchFolder, "credentials", p.CredentialsSecretRef)
	d.tls(p.TLS)
}

func (d *derived) ssh() {
	p := d.power.SSH
	if p == nil {
		return
	}
	address := at(p.Address, p.Port)
	if p.User != "" {
		address = p.User + "@" + address
	}
	d.flag("ssh", address)
	d.flag("ssh-command", p.Command)
	d.flag("ssh-fingerprint", p.HostKeyFingerprint)
	d.secret("ssh", sshFolder, "ssh-credentials", &p.CredentialsSecretRef)
}

func (d *derived) tls(p *v2.SwitchTLS) {
	if p == nil {
		return
	}
	if p.InsecureSkipVerify {
		d.add("--insecure-skip-tls-verify")
	}
	if p.CASecretRef != nil {
		d.add("--ca-file=" + caFolder + "/ca.crt")
		d.volumes = append(d.volumes, v2.Volume{Name: "ca", MountPath: caFolder, SecretName: p.CASecretRef.Name, ReadOnly: true})
	}
}

// secret mounts a Secret and tells the program where.
func (d *derived) secret(name, folder, flag string, ref *v2.SecretReference) {
	if ref == nil {
		return
	}
	d.flag(flag, folder)
	d.volumes = append(d.volumes, v2.Volume{Name: name, MountPath: folder, SecretName: ref.Name, ReadOnly: true})
}

// at is an address with its port; the program knows the ports that protocols have.
func at(address string, port int32) string {
	if strings.Contains(address, ":") {
		address = "[" + address + "]"
	}
	if port == 0 {
		return address
	}
	return address + ":" + strconv.Itoa(int(port))
}

// request is a request as the program reads it: its URL where that is all.
func request(r *v2.HTTPRequest) string {
	switch {
	case r == nil:
		return ""
	case r.Method == "" && len(r.Headers) == 0 && r.Body == "":
		return r.URL
	}
	return compact(map[string]any{"method": r.Method, "url": r.URL, "headers": r.Headers, "body": r.Body})
}

// compact is JSON without what is empty, its keys in order.
func compact(fields map[string]any) string {
	for name, value := range fields {
		if headers, ok := value.(map[string]string); value == "" || ok && len(headers) == 0 {
			delete(fields, name)
		}
	}
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false) // a URL's & is written as it is
	if err := encoder.Encode(fields); err != nil {
		return fmt.Sprint(fields) // texts and maps of texts always are JSON
	}
	return strings.TrimSpace(out.String())
}
