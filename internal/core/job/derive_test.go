package job

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
)

func secretRef(name string) v2.SecretReference { return v2.SecretReference{Name: name} }

func minutes(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Minute}
}

func TestASwitchGivesTheCommandLines(t *testing.T) {
	ipmi := &v2.IPMISwitch{Address: "bmc.lan", Port: 623, CredentialsSecretRef: secretRef("bmc"), PrivilegeLevel: v2.PrivilegeOperator}
	ssh := &v2.SSHSwitch{Address: "worker.lan", Port: 22, CredentialsSecretRef: secretRef("key")}
	plug := v2.HTTPSwitch{
		PowerOn:  &v2.HTTPRequest{URL: "http://plug.lan/relay/0?turn=on&timer=0"},
		PowerOff: &v2.HTTPRequest{Method: "POST", URL: "http://plug.lan/relay/0", Headers: map[string]string{"X-Key": "${token}"}, Body: "off"},
	}
	status := &v2.HTTPStatus{HTTPRequest: v2.HTTPRequest{URL: "http://plug.lan/relay/0"}, JSONPath: "ison", OnValue: "yes", OffValue: "no"}
	const taken, end = " --ok=already,unobserved", " --termination-log=/dev/termination-log"
	tests := map[string]struct {
		power    v2.PowerSwitch
		up, down string
	}{
		"a BMC": {v2.PowerSwitch{IPMI: ipmi},
			"power on --ipmi=bmc.lan:623 --credentials=/etc/power/switch --observe=1m0s --ok=already",
			"power soft --ipmi=bmc.lan:623 --credentials=/etc/power/switch --observe=4m0s --ok=already"},
		"a BMC as it is particular about": {v2.PowerSwitch{ForceAfter: minutes(2), IPMI: &v2.IPMISwitch{
			Address: "fe80::1", Port: 6230, CredentialsSecretRef: secretRef("bmc"), PrivilegeLevel: v2.PrivilegeAdministrator, CipherSuite: 3}},
			"power on --ipmi=[fe80::1]:6230 --ipmi-cipher-suite=3 --ipmi-administrator --credentials=/etc/power/switch --observe=1m0s --ok=already",
			"power soft --ipmi=[fe80::1]:6230 --ipmi-cipher-suite=3 --ipmi-administrator --credentials=/etc/power/switch --force-after=2m0s --observe=1m0s --ok=already"},
		"a grace that the Job does not have": {v2.PowerSwitch{ForceAfter: minutes(30), IPMI: ipmi},
			"power on --ipmi=bmc.lan:623 --credentials=/etc/power/switch --observe=1m0s --ok=already",
			"power soft --ipmi=bmc.lan:623 --credentials=/etc/power/switch --force-after=3m0s --observe=1m0s --ok=already"},
		"a Redfish service": {v2.PowerSwitch{Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan", SystemID: "1", CredentialsSecretRef: secretRef("bmc"),
			TLS: &v2.SwitchTLS{CASecretRef: ptr.To(secretRef("ca"))}}},
			"power on --redfish=https://bmc.lan --redfish-system=1 --credentials=/etc/power/switch --ca-file=/etc/power/ca/ca.crt --observe=1m0s --ok=already",
			"power soft --redfish=https://bmc.lan --redfish-system=1 --credentials=/etc/power/switch --ca-file=/etc/power/ca/ca.crt --observe=4m0s --ok=already"},
		"an unverified Redfish service, and ssh down": {v2.PowerSwitch{SSH: ssh, Redfish: &v2.RedfishSwitch{URL: "https://bmc.lan",
			CredentialsSecretRef: secretRef("bmc"), TLS: &v2.SwitchTLS{InsecureSkipVerify: true}}},
			"power on --redfish=https://bmc.lan --credentials=/etc/power/switch --insecure-skip-tls-verify --observe=1m0s --ok=already",
			"power soft --redfish=https://bmc.lan --credentials=/etc/power/switch --insecure-skip-tls-verify --ssh=worker.lan:22 --ssh-credentials=/etc/power/ssh --observe=4m0s --ok=already"},
		"a magic packet, and ssh down": {v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{MACAddress: "52:54:00:12:34:56"}, SSH: &v2.SSHSwitch{
			Address: "worker.lan", Port: 2222, User: "poweroff", CredentialsSecretRef: secretRef("key"), HostKeyFingerprint: "SHA256:abc", Command: "doas poweroff"}},
			"power on --wake-on-lan=52:54:00:12:34:56 --broadcast=255.255.255.255:9 --observe=0s" + taken,
			"power soft --ssh=poweroff@worker.lan:2222 --ssh-command=doas poweroff --ssh-fingerprint=SHA256:abc --ssh-credentials=/etc/power/ssh --observe=0s" + taken},
		"a magic packet of its own network": {v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{MACAddress: "52:54:00:12:34:56", Broadcast: "10.0.0.255", Port: 7}},
			"power on --wake-on-lan=52:54:00:12:34:56 --broadcast=10.0.0.255:7 --observe=0s" + taken, ""},
		"ssh alone": {v2.PowerSwitch{SSH: ssh}, "",
			"power soft --ssh=worker.lan:22 --ssh-credentials=/etc/power/ssh --observe=0s" + taken},
		"a plug that tells nothing is pulled": {v2.PowerSwitch{HTTP: &plug},
			"power on --http-on=http://plug.lan/relay/0?turn=on&timer=0 --observe=0s" + taken,
			`power off --http-off={"body":"off","headers":{"X-Key":"${token}"},"method":"POST","url":"http://plug.lan/relay/0"} --observe=0s` + taken},
		"a plug that is read, behind ssh": {v2.PowerSwitch{SSH: ssh, ForceAfter: minutes(2), HTTP: &v2.HTTPSwitch{
			PowerOn: plug.PowerOn, PowerOff: plug.PowerOn, Status: status, CredentialsSecretRef: ptr.To(secretRef("plug"))}},
			`power on --http-on=http://plug.lan/relay/0?turn=on&timer=0 --http-status={"jsonPath":"ison","off":"no","on":"yes","url":"http://plug.lan/relay/0"}` +
				" --credentials=/etc/power/switch --observe=1m0s --ok=already",
			`power soft --http-off=http://plug.lan/relay/0?turn=on&timer=0 --http-status={"jsonPath":"ison","off":"no","on":"yes","url":"http://plug.lan/relay/0"}` +
				" --credentials=/etc/power/switch --ssh=worker.lan:22 --ssh-credentials=/etc/power/ssh --force-after=2m0s --observe=1m0s --ok=already"},
		"a KVM's buttons": {v2.PowerSwitch{HTTP: &v2.HTTPSwitch{SoftOff: plug.PowerOn, Status: &v2.HTTPStatus{HTTPRequest: *plug.PowerOn, OnAbove: "10"}}}, "",
			`power soft --http-soft=http://plug.lan/relay/0?turn=on&timer=0 --http-status={"above":"10","url":"http://plug.lan/relay/0?turn=on&timer=0"} --observe=4m0s --ok=already`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			slot := &v2.Node{Spec: v2.NodeSpec{Power: &test.power}}
			for op, want := range map[v2.Operation]string{v2.OperationStartup: test.up, v2.OperationShutdown: test.down} {
				if want != "" {
					want += end
				}
				if diff := cmp.Diff(want, Derived(slot, op, policy.Default())); diff != "" {
					t.Errorf("%s (-want +got):\n%s", op, diff)
				}
			}
		})
	}
}

func TestTheReportSaysWhatIsDerivedAndNothingElse(t *testing.T) {
	ssh := &v2.PowerSwitch{SSH: &v2.SSHSwitch{Address: "a"}}
	own := v2.MinimalPodSpec{Image: "mine"}
	const down = "power soft --ssh=a --ssh-credentials=/etc/power/ssh --observe=0s --ok=already,unobserved --termination-log=/dev/termination-log"
	tests := map[string]struct {
		spec v2.NodeSpec
		want *v2.SwitchReport
	}{
		"no switch":            {v2.NodeSpec{StartupPodSpec: own, ShutdownPodSpec: own}, nil},
		"a way down":           {v2.NodeSpec{StartupPodSpec: own, Power: ssh}, &v2.SwitchReport{Image: policy.DefaultPowerImage, Shutdown: down}},
		"a way that is unused": {v2.NodeSpec{StartupPodSpec: own, ShutdownPodSpec: own, Power: ssh}, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Report(&v2.Node{Spec: test.spec}, policy.Default())); diff != "" {
				t.Errorf("report (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADerivedPodIsHardenedAndReadsItsSecretsAsFiles(t *testing.T) {
	p := policy.Default()
	p.PowerImage = "registry.lan/power:1"
	slot := &v2.Node{Spec: v2.NodeSpec{Power: &v2.PowerSwitch{
		HTTP:         &v2.HTTPSwitch{PowerOff: &v2.HTTPRequest{URL: "https://plug"}, CredentialsSecretRef: ptr.To(secretRef("plug")), TLS: &v2.SwitchTLS{CASecretRef: ptr.To(secretRef("ca"))}},
		SSH:          &v2.SSHSwitch{CredentialsSecretRef: secretRef("key")},
		NodeSelector: map[string]string{"room": "cellar"},
	}}}
	got := PodSpec(slot, v2.OperationShutdown, p)
	got.Args = nil
	want := v2.MinimalPodSpec{
		Image: "registry.lan/power:1", ImagePullPolicy: corev1.PullIfNotPresent, Command: []string{"power"},
		Volumes: []v2.Volume{
			{Name: "switch", MountPath: "/etc/power/switch", SecretName: "plug", ReadOnly: true},
			{Name: "ca", MountPath: "/etc/power/ca", SecretName: "ca", ReadOnly: true},
			{Name: "ssh", MountPath: "/etc/power/ssh", SecretName: "key", ReadOnly: true},
		},
		NodeSelector:       map[string]string{"room": "cellar"},
		SecurityContext:    &corev1.SecurityContext{ReadOnlyRootFilesystem: ptr.To(true), RunAsGroup: ptr.To[int64](65532)},
		PodSecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: ptr.To(true)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod spec (-want +got):\n%s", diff)
	}
	slot.Spec.Power = &v2.PowerSwitch{WakeOnLAN: &v2.WakeOnLANSwitch{}, SSH: &v2.SSHSwitch{}}
	if up, down := PodSpec(slot, v2.OperationStartup, p), PodSpec(slot, v2.OperationShutdown, p); !up.HostNetwork || down.HostNetwork {
		t.Errorf("the host's network: up %v, down %v, want it for the packet alone", up.HostNetwork, down.HostNetwork)
	}
}

func TestAPodSpecOfTheSlotsOwnWins(t *testing.T) {
	slot := &v2.Node{Spec: v2.NodeSpec{StartupPodSpec: v2.MinimalPodSpec{Image: "mine"}, Power: &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "bmc"}}}}
	if got := PodSpec(slot, v2.OperationStartup, policy.Default()); got.Image != "mine" {
		t.Errorf("the startup Job runs %s", got.Image)
	}
	if got := Derived(slot, v2.OperationStartup, policy.Default()); got != "" {
		t.Errorf("%q is derived and never runs", got)
	}
	if got := PodSpec(slot, v2.OperationShutdown, policy.Default()); got.Image != policy.DefaultPowerImage {
		t.Errorf("the shutdown Job runs %s", got.Image)
	}
	if got := PodSpec(&v2.Node{}, v2.OperationShutdown, policy.Default()); got.Image != "" {
		t.Errorf("a slot without any way down runs %s", got.Image)
	}
}

// What a Job waits for ends before the Job does, however short its time is.
func TestADerivedCommandEndsWithinItsJob(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 10 * time.Second, time.Minute, 90 * time.Second, 2 * time.Minute, 5 * time.Minute, time.Hour} {
		p := policy.Default()
		p.StartupJob, p.ShutdownJob = timeout, timeout
		for _, force := range []*metav1.Duration{nil, {Duration: time.Second}, {Duration: 24 * time.Hour}} {
			slot := &v2.Node{Spec: v2.NodeSpec{Power: &v2.PowerSwitch{IPMI: &v2.IPMISwitch{Address: "bmc"}, ForceAfter: force}}}
			for _, op := range []v2.Operation{v2.OperationStartup, v2.OperationShutdown} {
				var waits time.Duration
				for _, arg := range PodSpec(slot, op, p).Args {
					name, value, _ := strings.Cut(arg, "=")
					if d, err := time.ParseDuration(value); err == nil && (name == "--observe" || name == "--force-after") {
						waits += d
					}
				}
				if waits <= 0 || waits >= timeout {
					t.Errorf("%s with %s, forced after %v: waits for %s", op, timeout, force, waits)
				}
			}
		}
	}
}

func TestAKubeletHandsOnWhatASwitchSaysAsItIs(t *testing.T) {
	// What a kubelet makes of an argument: two dollar signs are one, and no variable is left to be read.
	kubelet := strings.NewReplacer("$$", "$", "$(", "a variable: ")
	for _, command := range []string{"echo $(KUBERNETES_SERVICE_HOST)", "kill $$", "$$(", "$$${token} 5$", "price $ä"} {
		slot := &v2.Node{Spec: v2.NodeSpec{Power: &v2.PowerSwitch{SSH: &v2.SSHSwitch{Address: "a", Command: command}}}}
		written := PodSpec(slot, v2.OperationShutdown, policy.Default()).Args[2]
		want := "--ssh-command=" + command
		if got := kubelet.Replace(written); got != want {
			t.Errorf("of %q, written as %q, the program gets %q", command, written, got)
		}
		if shown := Derived(slot, v2.OperationShutdown, policy.Default()); !strings.Contains(shown, want+" ") {
			t.Errorf("%q is shown as %q", command, shown)
		}
	}
	token := v2.PowerSwitch{HTTP: &v2.HTTPSwitch{PowerOn: &v2.HTTPRequest{URL: "http://plug/${token}"}}}
	if got := PodSpec(&v2.Node{Spec: v2.NodeSpec{Power: &token}}, v2.OperationStartup, policy.Default()).Args[1]; got != "--http-on=http://plug/${token}" {
		t.Errorf("a placeholder is written as %s", got)
	}
}
