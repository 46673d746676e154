package demo

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) {
	machineroom.ServePowerCommand()
	os.Exit(m.Run())
}

// TestTheStoryComesTrue runs the whole demo: once as the story goes, and once for one machine, which the same client
// must boot alone because one pod is all it sees, and whose switch is two: a magic packet and ssh.
func TestTheStoryComesTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a control plane for minutes")
	}
	for name, story := range map[string]struct {
		replicas int
		wiring   bmc.Wiring
	}{
		"two pods, two machines": {2, ""}, "one pod, one machine": {1, bmc.ByPackets},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "sandbox")
			err := Run(t.Context(), Options{
				UpOptions: UpOptions{Dir: dir, Switch: story.wiring, Progress: t.Output()},
				Replicas:  story.replicas, Timeout: 4 * time.Minute, Plain: true, Out: t.Output(),
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the sandbox's folder is still there: %v", err)
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
		"a switch there is not":         {Options{Replicas: 1, Timeout: time.Minute, UpOptions: UpOptions{Switch: "telnet"}}, `a switch is one of [ipmi redfish ssh+wol http], not "telnet"`},
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
