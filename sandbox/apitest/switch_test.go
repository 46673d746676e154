package apitest

import (
	"context"
	"io"
	"io/fs"
	"os"

	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/validate"
	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/cli"
)

// halted is a clock on which nothing waits.
type halted struct{}

func (halted) Now() time.Time                                   { return time.Time{} }
func (halted) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// understood runs a command line of the program power that was stopped before it began: what it says is about the line, and
// not about a switch.
func understood(t *testing.T, args []string) string {
	t.Helper()
	var out strings.Builder
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	secret := map[string]string{"username": "u", "password": "p", "token": "t"}
	code := cli.Run(ctx, cli.Process{Args: args, Env: func(string) string { return "" }, Clock: halted{}, Out: &out, Errors: io.Discard,
		WriteFile: func(string, []byte) error { return nil },
		ReadFile: func(name string) ([]byte, error) {
			if text, ok := secret[filepath.Base(name)]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		}})
	if code == power.ExitCodes[power.Usage] {
		return out.String()
	}
	return ""
}

func TestAMisspelledCommandLineIsNotUnderstood(t *testing.T) {
	if understood(t, []string{"on", "--ipmi=bmc.lan", "--observ=1m"}) == "" {
		t.Error("the program takes a flag that it does not have")
	}
}

// The program power understands what the operator derives, from the samples and from all that can be said of a switch.
func TestWhatIsDerivedFromASwitchIsUnderstood(t *testing.T) {
	slots := map[string]*v2.Node{}
	for name, power := range switches() {
		slots[name] = &v2.Node{Spec: v2.NodeSpec{Power: power}}
	}
	files, err := filepath.Glob("../../config/samples/slot-power-*.yaml")
	if err != nil || len(files) < 4 {
		t.Fatalf("there are %d samples: %v", len(files), err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		slot := &v2.Node{}
		if err := yaml.UnmarshalStrict(text, slot); err != nil {
			t.Fatal(err)
		}
		for _, op := range []v2.Operation{v2.OperationStartup, v2.OperationShutdown} {
			if job.Derived(slot, op, policy.Default()) == "" {
				t.Errorf("%s: no %s is derived", file, op)
			}
		}
		if faults := validate.Slot(slot); len(faults) > 0 {
			t.Errorf("%s: %v", file, faults)
		}
		slots[filepath.Base(file)] = slot
	}
	for name, slot := range slots {
		for _, op := range []v2.Operation{v2.OperationStartup, v2.OperationShutdown} {
			spec := job.PodSpec(slot, op, policy.Default())
			if spec.Image == "" {
				continue
			}
			if complaint := understood(t, spec.Args); complaint != "" {
				t.Errorf("%s, %s: %s%q", name, op, complaint, spec.Args)
			}
		}
	}
}
