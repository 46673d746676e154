package pages

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/cli"
	"homecluster.dev/autoscaler/internal/power/process"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

const patience = 30 * time.Second

// unplayed are slots whose switch no simulator has; power has to understand their arguments all the same.
var unplayed = []string{"smart-plug.md Node worker-16", "smart-plug.md Node worker-17", "wake-on-lan.md Node talos-1"}

// TestTheSlotsWorkTheirMachines runs what each slot's Jobs would run against a simulated machine with such a switch, with the
// keys of the Secrets that the page tells to make and no others: up and down again, and the machine's power log decides.
func TestTheSlotsWorkTheirMachines(t *testing.T) {
	all := objects(t)
	known := secrets(t, all)
	for name, slot := range slots(t, all) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := job.PodSpec(slot, v2.OperationStartup, policy.Default())
			down := job.PodSpec(slot, v2.OperationShutdown, policy.Default())
			h := newHome(t)
			if slices.Contains(unplayed, name) {
				h.understands(up)
				h.understands(down)
				return
			}
			h.runs(up, known)
			h.happens(machineroom.PoweredOn)
			h.happens(machineroom.BootDone)
			h.runs(down, known)
			h.happens(machineroom.PoweredOff)
			if h.room.PowerOns("m") != 1 || h.room.DoubleBoots("m") != 0 || h.panel.Machine.Status().On {
				t.Errorf("the machine was switched on %d times, and is on: %t", h.room.PowerOns("m"), h.panel.Machine.Status().On)
			}
		})
	}
}

// home is a machine with every switch there is.
type home struct {
	t     *testing.T
	room  *machineroom.Room
	panel *bmc.Panel
}

func newHome(t *testing.T) *home {
	t.Helper()
	room, err := machineroom.Bare(t.Context(), machineroom.Options{
		Dir: t.TempDir(), BootTime: time.Millisecond, ShutdownTime: 200 * time.Millisecond, PowerCommand: []string{"power"}})
	if err != nil {
		t.Fatal(err)
	}
	metal, err := room.AddMachine(machineroom.Machine{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	panel, err := bmc.Wire(t.Context(), metal, bmc.Options{Dir: t.TempDir(), Protocols: bmc.Protocols()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		panel.Close()
		if t.Failed() {
			for _, event := range room.Log() {
				t.Log(event)
			}
		}
		if err := room.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &home{t, room, panel}
}

func (h *home) happens(kind machineroom.Kind) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	if _, err := h.panel.Machine.WaitFor(ctx, machineroom.Is(kind)); err != nil {
		h.t.Fatalf("waiting for %s: %v", kind, err)
	}
}

// runs runs a Job's pod, which must end well.
func (h *home) runs(pod v2.MinimalPodSpec, known map[string][]string) {
	h.t.Helper()
	args := h.address(pod.Args)
	for _, volume := range pod.Volumes {
		keys := known[volume.SecretName]
		if len(keys) == 0 {
			h.t.Fatalf("no page tells to make the Secret %s", volume.SecretName)
		}
		folder := h.mount(keys)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "="+volume.MountPath, "="+folder)
		}
	}
	// A simulated machine is quick, and so is the look at it.
	args = append(args, "--poll=100ms")
	if slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "--force-after=") }) {
		args = append(args, "--force-after=2s")
	}
	if code, said := h.power(args); code != 0 {
		h.t.Fatalf("power %s\nended with %d:\n%s", strings.Join(args, " "), code, said)
	}
}

// understands reads the arguments of a Job's pod, and presses nothing: nobody is there.
func (h *home) understands(pod v2.MinimalPodSpec) {
	h.t.Helper()
	if !slices.Equal(pod.Command, []string{"power"}) {
		return // another program's
	}
	args := append(h.address(pod.Args), "--dry-run", "--reach=0s", "--timeout=1s")
	if code, said := h.power(args); code == power.ExitCodes[power.Usage] {
		h.t.Errorf("power %s\nis not understood:\n%s", strings.Join(args, " "), said)
	}
}

// power runs the program. The termination log is a pod's.
func (h *home) power(args []string) (code int, said string) {
	args = slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return strings.HasPrefix(arg, "--termination-log=") })
	var out bytes.Buffer
	code = cli.Run(h.t.Context(), cli.Process{
		Args: args, Env: func(string) string { return "" }, ReadFile: os.ReadFile, Out: &out, Errors: &out, Clock: process.Clock{}})
	return code, out.String()
}

// mount writes a Secret's keys into files, with what the simulated machine wants in them.
func (h *home) mount(keys []string) string {
	h.t.Helper()
	data, err := h.panel.Secret()
	if err != nil {
		h.t.Fatal(err)
	}
	folder := h.t.TempDir()
	for _, key := range keys {
		text, there := data[key]
		if !there {
			h.t.Fatalf("the machine has no use for the key %s", key)
		}
		if err := os.WriteFile(filepath.Join(folder, key), text, 0o600); err != nil {
			h.t.Fatal(err)
		}
	}
	return folder
}

// address puts the simulated machine's addresses into the arguments.
func (h *home) address(args []string) []string {
	p := h.panel
	var addressed []string
	for _, arg := range args {
		for _, there := range []struct {
			pattern *regexp.Regexp
			here    string
		}{
			{regexp.MustCompile(`^(--ipmi=).*`), p.Address(bmc.IPMI)},
			{regexp.MustCompile(`^(--redfish=https://).*`), p.Address(bmc.Redfish)},
			{regexp.MustCompile(`^(--wake-on-lan=).*`), p.MAC.String()},
			{regexp.MustCompile(`^(--broadcast=).*`), p.Address(bmc.WakeOnLAN)},
			{regexp.MustCompile(`^(--ssh=)[^@]*$`), p.Address(bmc.SSH)},
			{regexp.MustCompile(`^(--ssh=).*@.*`), p.Credentials.User + "@" + p.Address(bmc.SSH)},
			{regexp.MustCompile(`(http://)[^/"]+`), p.Address(bmc.Plug)},
		} {
			if there.pattern.MatchString(arg) {
				arg = there.pattern.ReplaceAllString(arg, "${1}"+there.here)
				break
			}
		}
		addressed = append(addressed, arg)
	}
	return addressed
}
