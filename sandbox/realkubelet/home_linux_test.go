package realkubelet

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

const (
	claimName = "asked"
	// late is the window of a boot that must not run out of it.
	late = 10 * time.Minute
)

// home is a house.Home whose power Jobs are run by the real node.
type home struct{ *house.Home }

// move makes a home whose slot declares such a switch, one of whose protocols lies so, and starts its manager. Pods that have a
// network of their own reach a controller by a relay.
func move(t *testing.T, hs *house.House, o house.Options, wiring bmc.Wiring, lies bmc.Lies) home {
	t.Helper()
	var secret *corev1.Secret
	change := o.Slot
	o.Slot = func(slot *v2.NodeSpec, metal *machineroom.Metal) {
		panel, err := bmc.Wire(t.Context(), metal, bmc.Options{Dir: t.TempDir(), Protocols: wiring.Protocols()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(panel.Close)
		if err := panel.SetLies(wiring.Protocols()[0], lies); err != nil {
			t.Fatal(err)
		}
		var declared *v2.Node
		if declared, secret, err = panel.Declare(wiring, "", house.Pool); err != nil {
			t.Fatal(err)
		}
		*slot = declared.Spec
		if ipmi := slot.Power.IPMI; ipmi != nil {
			at := relay(t, panel.Address(bmc.IPMI))
			ipmi.Address, ipmi.Port = at.IP.String(), int32(at.Port)
		}
		if change != nil {
			change(slot, metal)
		}
	}
	h := home{hs.Home(t, o)}
	secret.Namespace = h.Namespace
	h.Create(secret)
	h.Configure = func(c *config.Config) { c.PowerImage = powerImage }
	h.Manage(h.ControlPlane.Config())
	return h
}

// until waits for the claim's phase.
func (h home) until(phase v2.ClaimPhase) {
	h.T.Helper()
	h.Eventually("the claim being "+string(phase), func(ctx context.Context) string {
		claim, err := h.Claim(ctx, claimName)
		if err != nil || claim == nil || claim.Status.Phase != phase {
			return fmt.Sprintf("%v, it is %+v", err, claim)
		}
		return ""
	})
}

// ran waits until the Job of an operation is complete, and answers its only pod. The real node must have run it, and its
// container have said so at its end.
func (h home) ran(operation, says string) *corev1.Pod {
	h.T.Helper()
	h.Eventually("the Job of the "+operation+" being complete", func(context.Context) string {
		if jobs := h.Jobs(operation); len(jobs) != 1 || jobs[0].Status.Succeeded != 1 {
			return fmt.Sprintf("they are %+v", jobs)
		}
		return ""
	})
	var pods corev1.PodList
	if err := h.Client.List(h.T.Context(), &pods, client.InNamespace(h.Namespace), client.MatchingLabels{v2.LabelOperation: operation}); err != nil {
		h.T.Fatal(err)
	}
	if len(pods.Items) != 1 || pods.Items[0].Spec.NodeName != nodeName {
		h.T.Fatalf("it took these pods: %+v", pods.Items)
	}
	status := pods.Items[0].Status.ContainerStatuses[0]
	said := status.State.Terminated.Message
	h.T.Logf("%s of %s said: %s", status.ContainerID, status.Image, said)
	if !strings.HasPrefix(status.ContainerID, "containerd://") || !strings.HasPrefix(said, says) {
		h.T.Errorf("the container of the %s ended so: %+v", operation, status)
	}
	return &pods.Items[0]
}

// tells waits for the event that the claim failed, which must say all the words.
func (h home) tells(words ...string) {
	h.T.Helper()
	h.Eventually("an event of the failure", func(context.Context) string {
		for _, told := range h.Told() {
			if told.Reason != v2.EventClaimFailed {
				continue
			}
			h.T.Logf("%s: %s", told.Reason, told.Note)
			for _, word := range words {
				if !strings.Contains(told.Note, word) {
					h.T.Errorf("it says nothing of %q", word)
				}
			}
			return ""
		}
		return "it was not told"
	})
}

// process waits for the program power with that argument, in a container, and answers its folder in /proc.
func (h home) process(arg string) string {
	h.T.Helper()
	var found string
	h.Eventually("a process of power with "+arg, func(context.Context) string {
		commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
		for _, file := range commands {
			text, _ := os.ReadFile(file) // it may have ended
			if args := strings.Split(string(text), "\x00"); args[0] == "power" && slices.Contains(args, arg) {
				found = filepath.Dir(file)
				return ""
			}
		}
		return "there is none"
	})
	return found
}

// confinement is what the kernel lets a process be and do.
func confinement(t *testing.T, process string) map[string]string {
	t.Helper()
	status, err := os.ReadFile(filepath.Join(process, "status"))
	if err != nil {
		t.Fatal(err)
	}
	mounts, err := os.ReadFile(filepath.Join(process, "mounts"))
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]string{}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		switch name {
		case "Uid", "Gid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp":
			is[name] = strings.Join(strings.Fields(value), " ")
		}
	}
	for line := range strings.Lines(string(mounts)) {
		if fields := strings.Fields(line); fields[1] == "/" {
			is["root"], _, _ = strings.Cut(fields[3], ",")
		}
	}
	return is
}
