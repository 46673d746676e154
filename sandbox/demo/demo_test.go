package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	os.Exit(m.Run())
}

// TestTheStoryComesTrue runs the whole demo: for a machine of each switch there is, and for one machine, which the same
// client must boot alone because one pod is all it sees. No slot has a pod spec: what works the machines is derived from the
// switches that they declare, and the power log has to name those.
func TestTheStoryComesTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a control plane for minutes")
	}
	for name, story := range map[string]struct {
		replicas int
		switches []bmc.Wiring
		up, down []string
	}{
		"four pods, a machine of each switch": {4, bmc.Wirings(), []string{"ipmi", "redfish", "wol", "plug"}, []string{"ipmi", "redfish", "ssh", "ssh"}},
		"one pod, one machine":                {1, []bmc.Wiring{bmc.ByPackets}, []string{"wol"}, []string{"ssh"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sandbox")
			var told bytes.Buffer
			err := Run(t.Context(), Options{
				UpOptions: UpOptions{Dir: dir, Switches: story.switches, Progress: t.Output()},
				Replicas:  story.replicas, Timeout: 4 * time.Minute, Plain: true, Out: io.MultiWriter(&told, t.Output()),
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the sandbox's folder is still there: %v", err)
			}
			for i := range story.switches {
				for kind, by := range map[machineroom.Kind]string{
					machineroom.PowerOnRequested: story.up[i], machineroom.SoftOffRequested: story.down[i],
				} {
					if want := fmt.Sprintf("worker-%d: %s %s", i+1, kind, by); strings.Count(told.String(), want) != 1 {
						t.Errorf("the power log has %q %d times, want it once", want, strings.Count(told.String(), want))
					}
				}
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	tests := map[string]struct {
		options Options
		want    string
	}{
		"no replicas":                   {Options{Replicas: 0, Timeout: time.Minute}, "replicas must be 1 to 6, a machine each; got 0"},
		"more replicas than machines":   {Options{Replicas: 7, Timeout: time.Minute}, "replicas must be 1 to 6, a machine each; got 7"},
		"no time":                       {Options{Replicas: 1}, "timeout must be positive, is 0s"},
		"a switch there is not":         {Options{Replicas: 1, Timeout: time.Minute, UpOptions: UpOptions{Switches: []bmc.Wiring{"telnet"}}}, `a switch is one of [ipmi redfish ssh+wol http], not "telnet"`},
		"as many replicas as there are": {Options{Replicas: MaxReplicas(), Timeout: time.Minute}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := test.options.Validate(); err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("fault %q, want %q", got, test.want)
			}
		})
	}
}
