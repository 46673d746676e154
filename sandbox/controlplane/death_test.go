package controlplane_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// ownerVar makes this test binary a program that owns a control plane and waits for its end.
const ownerVar = "HOMECLUSTER_TEST_OWNER"

func TestMain(m *testing.M) {
	if os.Getenv(ownerVar) != "" {
		own()
	}
	controlplane.Main(m)
}

// owned is what the owner tells of its control plane.
type owned struct {
	Dir  string
	PIDs []int
}

// own starts a control plane, reports it and then does nothing until it is killed, or panics when told to.
func own() {
	cp, err := controlplane.Start(context.Background(), controlplane.Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(owned{Dir: cp.Dir, PIDs: cp.PIDs()})
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	go panic("told to")
	select {}
}

func TestNothingSurvivesItsOwner(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane")
	}
	tests := map[string]func(*exec.Cmd, io.Writer) error{
		"that is killed outright":             func(c *exec.Cmd, _ io.Writer) error { return c.Process.Kill() },
		"that is interrupted from a terminal": interruptGroup,
		"that panics in some other goroutine": func(_ *exec.Cmd, in io.Writer) error {
			_, err := fmt.Fprintln(in, "panic")
			return err
		},
	}
	for name, end := range tests {
		t.Run(name, func(t *testing.T) {
			owner := exec.CommandContext(t.Context(), os.Args[0])
			owner.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
			owner.Env = append(os.Environ(), ownerVar+"=1")
			in, err := owner.StdinPipe()
			must(t, err)
			out, err := owner.StdoutPipe()
			must(t, err)
			must(t, owner.Start())
			var its owned
			if err := json.NewDecoder(out).Decode(&its); err != nil {
				t.Fatalf("reading what the owner owns: %v", err)
			}
			for _, pid := range its.PIDs {
				if !alive(pid) {
					t.Errorf("process %d does not run before its owner's end", pid)
				}
			}
			must(t, end(owner, in))
			_ = owner.Wait() // it ends badly, as it should
			assertGone(t, its.PIDs, its.Dir)
		})
	}
}

// interruptGroup does what Ctrl-C does: everybody in the foreground gets the signal.
func interruptGroup(c *exec.Cmd, _ io.Writer) error {
	return syscall.Kill(-c.Process.Pid, syscall.SIGINT)
}

// assertGone waits a moment for processes and a folder to disappear: the kernel tells the components of their owner's
// end, and they need a few milliseconds to act.
func assertGone(t *testing.T, pids []int, dir string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		var left []string
		for _, pid := range pids {
			if alive(pid) {
				left = append(left, fmt.Sprint("process ", pid))
			}
		}
		if _, err := os.Stat(dir); dir != "" && err == nil {
			left = append(left, "folder "+dir)
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %s", strings.Join(left, ", "))
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// alive reports whether a process runs. An ended one that its new parent has not collected yet does not; where there is
// no /proc to tell, it counts as running until it is collected.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		_, noProc := os.Stat("/proc/self/stat")
		return noProc != nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func TestAComponentThatDiesEarlyIsReportedWithItsLog(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane")
	}
	begun := time.Now()
	_, err := controlplane.Start(t.Context(), controlplane.Options{
		ExtraArgs: map[string][]string{controlplane.APIServer: {"--no-such-flag"}},
	})
	if err == nil {
		t.Fatal("a component with a wrong flag started")
	}
	for _, want := range []string{"kube-apiserver ended (exit status 1)", "unknown flag: --no-such-flag"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the report lacks %q:\n%v", want, err)
		}
	}
	if took := time.Since(begun); took > time.Minute {
		t.Errorf("it took %s to notice", took)
	}
}

func TestAStartThatTakesTooLongSaysWhatItWaitedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane")
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{ReadyTimeout: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "waiting for ") || !strings.Contains(err.Error(), "not ready within 300ms") {
		t.Errorf("it said: %v", err)
	}
}

func TestALaterDeathIsDelivered(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane")
	}
	cp, err := controlplane.Start(t.Context(), controlplane.Options{})
	must(t, err)
	t.Cleanup(func() { _ = cp.Stop() })
	cp.Kill(controlplane.Scheduler)
	select {
	case err := <-cp.Failed():
		if !strings.Contains(err.Error(), "kube-scheduler ended (signal: killed)") {
			t.Errorf("delivered: %v", err)
		}
	case <-time.After(10 * time.Second):
		t.Error("nobody was told")
	}
	must(t, cp.Stop())
	select {
	case err := <-cp.Failed():
		t.Errorf("a stop that was asked for was reported as a death: %v", err)
	default:
	}
}
