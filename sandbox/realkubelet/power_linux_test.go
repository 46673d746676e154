package realkubelet

import (
	"context"
	"flag"
	"os"
	"os/exec"
	"testing"

	"github.com/google/go-cmp/cmp"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

var asked = flag.Bool("realkubelet", false, "run power as a real container, by a kubelet and containerd; wants root, and builds the kubelet")

func TestMain(m *testing.M) { house.Main(m, 4) }

// TestPowerRunsAsARealContainer has the manager's Jobs run by a real scheduler, kubelet, containerd and runc, in pods with
// a network of their own. The machines are simulated.
func TestPowerRunsAsARealContainer(t *testing.T) {
	needs(t)
	h := house.Vacant(t)
	start(t, h.ControlPlane)
	for name, test := range map[string]func(*testing.T, *house.House){
		"a declared switch takes a machine up and down": upAndDown,
		"a magic packet leaves the node":                magicPacket,
		"a wrong password is named":                     wrongPassword,
		"a Job that hangs is stopped when it is due":    hangs,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// needs skips the test unless it was asked for and can be run.
func needs(t *testing.T) {
	t.Helper()
	if !*asked {
		t.Skip("optional: make test-kubelet")
	}
	if os.Getuid() != 0 {
		t.Skip("a kubelet wants root")
	}
	for program, from := range map[string]string{
		"containerd": "containerd", "ctr": "containerd", "runc": "runc", "/usr/lib/cni/ptp": "containernetworking-plugins", "unshare": "util-linux",
	} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("there is no %s here, which Debian has in its package %s", program, from)
		}
	}
}

func upAndDown(t *testing.T, hs *house.House) {
	h := move(t, hs, house.Options{}, bmc.ByIPMI, bmc.Lies{})
	h.Ask(claimName, late)
	h.until(v2.ClaimReady)
	h.ran("startup", "power on: done: ipmi ")
	if !h.IsOn() {
		t.Error("the claim is ready, and the machine off")
	}
	h.TakeBack(claimName)
	h.UntilSlot("off, and owing nothing", func(slot *v2.Node) bool {
		return slot.Status.LastClaim.Phase == v2.ClaimCompleted && len(slot.Finalizers) == 0
	})
	h.ran("shutdown", "power soft: done: ipmi ")
	if h.IsOn() || h.Count(machineroom.SoftOffRequested) != 1 {
		t.Error("the machine was not shut down, or more than once")
	}
}

// magicPacket is sent from the network of the node: the machine is reached without a relay.
func magicPacket(t *testing.T, hs *house.House) {
	h := move(t, hs, house.Options{}, bmc.ByPackets, bmc.Lies{})
	h.Ask(claimName, late)
	h.until(v2.ClaimReady)
	if pod := h.ran("startup", "power on: unobserved: "); !pod.Spec.HostNetwork || !h.IsOn() {
		t.Errorf("the pod has the network of its node: %t; the machine is on: %t", pod.Spec.HostNetwork, h.IsOn())
	}
}

func wrongPassword(t *testing.T, hs *house.House) {
	h := move(t, hs, house.Options{}, bmc.ByIPMI, bmc.Lies{RejectPassword: true})
	h.Ask(claimName, late)
	h.tells("power on: credentials: ", "the user name or the password is wrong")
	h.until(v2.ClaimFailed)
}

// hangs gives power more patience than its Job has, and meanwhile asks the kernel what it may do.
func hangs(t *testing.T, hs *house.House) {
	o := house.Options{
		Group: func(group *v2.GroupSpec) { group.Timeouts.StartupJob = house.Seconds(20) },
		Slot: func(slot *v2.NodeSpec, _ *machineroom.Metal) {
			p := policy.Default()
			p.PowerImage = powerImage
			pod := job.PodSpec(&v2.Node{Spec: *slot}, v2.OperationStartup, p)
			pod.Args = append(pod.Args, "--reach=10m")
			slot.StartupPodSpec = pod
		},
	}
	h := move(t, hs, o, bmc.ByIPMI, bmc.Lies{AnswerNever: true})
	h.Ask(claimName, late)
	process := h.process("--reach=10m")
	want := map[string]string{
		"Uid": "65532 65532 65532 65532", "Gid": "65532 65532 65532 65532", "CapEff": "0000000000000000", "CapBnd": "0000000000000000",
		"NoNewPrivs": "1", "Seccomp": "2", "root": "ro",
	}
	if diff := cmp.Diff(want, confinement(t, process)); diff != "" {
		t.Errorf("what the process may do (-want +got):\n%s", diff)
	}
	h.tells(string(v2.ReasonStartupJobTimeout), "timed out")
	h.until(v2.ClaimFailed)
	h.Eventually("the container being gone", func(context.Context) string {
		if _, err := os.Stat(process); err == nil {
			return process + " is there"
		}
		return ""
	})
}
