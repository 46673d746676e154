package plugin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/story"
	"homecluster.dev/autoscaler/internal/plugin"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func TestMain(m *testing.M) { house.Main(m, 2) }

// shell runs the plugin as somebody with a kubeconfig does.
type shell struct {
	t    *testing.T
	home *house.Home
}

// run runs a command that has to succeed, and answers what it printed.
func (s shell) run(args ...string) string {
	s.t.Helper()
	out, err := s.try(args...)
	if err != nil {
		s.t.Fatalf("kubectl homelab %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (s shell) try(args ...string) (string, error) {
	var out bytes.Buffer
	command := plugin.New(strings.NewReader(""), &out, &out)
	command.SetArgs(append(args, "--kubeconfig", s.home.ControlPlane.Kubeconfig(), "-n", s.home.Namespace))
	err := command.ExecuteContext(s.t.Context())
	return out.String(), err
}

// says waits until a command prints all of the words.
func (s shell) says(words []string, args ...string) {
	s.t.Helper()
	s.home.Eventually("kubectl homelab "+strings.Join(args, " "), func(context.Context) string {
		out := s.run(args...)
		for _, word := range words {
			if !strings.Contains(out, word) {
				return "no " + word + " in:\n" + out
			}
		}
		return ""
	})
}

// TestADayAtTheShell wakes a machine by hand, looks at it, holds it, and gives it back.
func TestADayAtTheShell(t *testing.T) {
	home := house.New(t).Home(t, house.Options{Slot: func(slot *v2.NodeSpec, _ *machineroom.Metal) {
		slot.Watts, slot.Pricing = new(int32(60)), &v2.Pricing{HourlyRate: "0.02", PodRate: "0"}
	}})
	home.Manage(home.ControlPlane.Config())
	s, machine := shell{t, home}, home.Machine

	s.says([]string{machine, "off", house.Pool + ":"}, "status")
	s.says([]string{"Nobody has asked for it yet"}, "why", machine)
	s.says([]string{"No machine is on"}, "top")
	s.says([]string{"nothing keeps it back"}, "reset", machine)
	s.says([]string{"asks for " + machine}, "up", machine)
	if out, err := s.try("up", machine); err == nil || !strings.Contains(err.Error(), "is claimed already") {
		t.Errorf("a second claim: %v, %s", err, out)
	}
	s.says([]string{machine, "ready", "on"}, "status")
	s.says([]string{machine, "60", "0.02", "all"}, "top")
	s.says([]string{"is wanted and ready", "asked with Create", "startup Job", "succeeded", "ready after"}, "why", machine)
	s.says([]string{"CLAIM", "ready", "READY-FOR"}, "history", machine)
	s.says([]string{"ASKED-BY", "KUBENODE"}, "status", "-o", "wide")

	var told story.Story
	if err := json.Unmarshal([]byte(s.run("why", machine, "-o", "json")), &told); err != nil || told.Slot != machine || told.Claim == "" {
		t.Errorf("the story as JSON: %+v, %v", told, err)
	}
	s.says([]string{"is wanted and ready"}, "why", told.Claim)

	if out, err := s.try("hold", machine); err == nil || !strings.Contains(err.Error(), "--reason") {
		t.Errorf("a hold without a reason: %v, %s", err, out)
	}
	s.run("hold", machine, "--reason", "a new disk", "--for", "1h")
	s.says([]string{"held"}, "status")
	s.run("down", machine)
	s.says([]string{"the end of a hold", "a new disk", "kubectl homelab release"}, "why", machine)
	if !home.IsOn() {
		t.Error("a held machine was switched off")
	}
	s.run("release", machine)
	home.Await(machineroom.PoweredOff)
	s.says([]string{"rests", "completed", "DeletedByHand"}, "why", machine)
	s.says([]string{"there is nothing to give back"}, "down", machine)
}

// TestFindOutWhyABootFailed breaks the power switch, reads the cause, mends it and goes on at once.
func TestFindOutWhyABootFailed(t *testing.T) {
	home := house.New(t).Home(t, house.Options{
		Temperament: machineroom.Temperament{StartupSwitch: machineroom.SwitchErrors},
		Group: func(group *v2.GroupSpec) {
			group.Timeouts.StartupJob, group.Timeouts.Registration, group.Timeouts.ReadinessGate = house.Seconds(20), house.Seconds(1), house.Seconds(1)
		},
	})
	home.Manage(home.ControlPlane.Config())
	s, machine := shell{t, home}, home.Machine
	s.run("up", machine)
	s.says([]string{"is being switched off", "failed, exit code 1", "Waiting for", "the power command failed"}, "why", machine)
	s.says([]string{"is off", "failed: StartupJobFailed"}, "why", machine)
	s.failedBefore(3)
	s.says([]string{"cooling off"}, "status")
	s.says([]string{"the end of the cool-off", "kubectl homelab reset " + machine}, "why", machine)
	home.Temper(machineroom.Temperament{})
	s.says([]string{"its failed boots are forgotten"}, "reset", machine)
	s.run("up", machine)
	s.says([]string{"is wanted and ready"}, "why", machine)
	s.run("down", machine)
	home.Await(machineroom.PoweredOff)
}

// failedBefore makes the failed claim the n-th in a row.
func (s shell) failedBefore(n int32) {
	s.t.Helper()
	s.home.Eventually("the claim's attempt to be written", func(ctx context.Context) string {
		var claims v2.NodeClaimList
		if err := s.home.Client.List(ctx, &claims, client.InNamespace(s.home.Namespace)); err != nil || len(claims.Items) != 1 {
			return fmt.Sprintf("%d claims, %v", len(claims.Items), err)
		}
		claims.Items[0].Status.Attempt = n
		if err := s.home.Client.Status().Update(ctx, &claims.Items[0]); err != nil {
			return err.Error()
		}
		return ""
	})
}

func TestMistakesAreAnswered(t *testing.T) {
	home := house.New(t).Home(t, house.Options{})
	s := shell{t, home}
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"an unknown slot":                {[]string{"up", "nobody"}, "there is no slot nobody in namespace " + home.Namespace + "; there are " + home.Machine},
		"an unknown story":               {[]string{"why", "nobody"}, "there is neither a slot nor a claim"},
		"an unknown format":              {[]string{"status", "-o", "xml"}, `unknown output format "xml": use table, wide, json or yaml`},
		"no slot named":                  {[]string{"down"}, "name one slot: kubectl homelab down SLOT"},
		"two stories":                    {[]string{"why", "a", "b"}, "name one slot or claim: kubectl homelab why SLOT|CLAIM"},
		"a format of what shows nothing": {[]string{"up", home.Machine, "-o", "json"}, "unknown shorthand flag: 'o' in -o"},
		"nothing to tell":                {[]string{"history", home.Machine}, "nobody has asked for this machine yet"},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := s.try(tt.args...)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q\n%s", err, tt.want, out)
			}
		})
	}
}

// TestWhatTheAPIServerWarnsOfIsShown asks for a held machine, of which the manager's webhook warns.
func TestWhatTheAPIServerWarnsOfIsShown(t *testing.T) {
	home := house.New(t).Home(t, house.Options{})
	home.Manage(home.ControlPlane.Config())
	s := shell{t, home}
	s.run("hold", home.Machine, "--reason", "a new disk")
	home.Eventually("a warning", func(context.Context) string {
		out := s.run("up", home.Machine)
		s.run("down", home.Machine)
		if !strings.Contains(out, "Warning: slot "+home.Machine+" is held") {
			return "there is none in:\n" + out
		}
		return ""
	})
}
