package kubelet

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func shell(t *testing.T, script string) *process {
	dir := t.TempDir()
	return &process{launch: launch{
		argv: []string{"sh", "-c", script}, env: []string{"PATH=" + os.Getenv("PATH"), "MESSAGE=" + filepath.Join(dir, "message")},
		dir: dir, log: filepath.Join(dir, "log"), message: filepath.Join(dir, "message"), fallback: true,
	}}
}

func never() time.Duration { return time.Minute }

func TestProcessExit(t *testing.T) {
	tests := map[string]struct {
		script string
		want   exit
	}{
		"a command that succeeds has no message": {"echo fine", exit{reason: reasonCompleted}},
		"a command that fails leaves its output": {
			"echo trying; echo 'wrong password' >&2; exit 7",
			exit{code: 7, reason: reasonError, message: "trying\nwrong password\n"},
		},
		"what it wrote as its message comes first": {
			"echo noise; printf 'no session' > $MESSAGE; exit 1",
			exit{code: 1, reason: reasonError, message: "no session"},
		},
		"a signal is 128 and its number": {"kill -9 $$", exit{code: 137, signal: 9, reason: reasonError}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := shell(t, test.script)
			if err := p.start(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := p.wait(nil, never)
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(exit{})); diff != "" {
				t.Errorf("exit (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProcessCannotStart(t *testing.T) {
	p := shell(t, "")
	p.launch.argv = []string{"/no/such/tool"}
	if err := p.start(t.Context()); err == nil {
		t.Error("a tool that is not there has started")
	}
}

// TestProcessEnds ends a process whose child would outlive it, in each way there is.
func TestProcessEnds(t *testing.T) {
	tests := map[string]struct {
		trap  string
		grace time.Duration
		pull  bool
		want  int32
	}{
		"asked, it ends by the signal":             {"", time.Minute, false, 143},
		"asked, it may end in its own way":         {"trap 'exit 3' TERM;", time.Minute, false, 3},
		"deaf, it is made to when grace has ended": {"trap '' TERM;", 10 * time.Millisecond, false, 137},
		"with the plug pulled it is gone at once":  {"trap '' TERM;", time.Minute, true, 137},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := shell(t, test.trap+" sleep 300 & echo $!; while :; do wait; done")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if err := p.start(ctx); err != nil {
				t.Fatal(err)
			}
			child := childOf(t, p.launch.log)
			stop := make(chan struct{})
			if test.pull {
				cancel()
			} else {
				close(stop)
			}
			if got := p.wait(stop, func() time.Duration { return test.grace }); got.code != test.want {
				t.Errorf("exit code %d, want %d", got.code, test.want)
			}
			waitUntilDead(t, child)
		})
	}
}

// childOf waits for the script to print the number of its child.
func childOf(t *testing.T, log string) int {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		text, err := os.ReadFile(log)
		if err != nil || !strings.Contains(string(text), "\n") {
			continue
		}
		pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatal("the script has not begun")
	return 0
}

func waitUntilDead(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if syscall.Kill(pid, 0) != nil || zombie(pid) {
			return
		}
	}
	t.Errorf("process %d is still there", pid)
}

// zombie says whether the process is dead and merely waits for a parent that is slow to notice.
func zombie(pid int) bool {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(text), ") Z ")
}

func TestLastLines(t *testing.T) {
	tests := map[string]struct {
		text string
		n    int
		want string
	}{
		"the last of three":           {"a\nb\nc\n", 1, "c\n"},
		"an unfinished line counts":   {"a\nb\nc", 2, "b\nc"},
		"fewer than asked is all":     {"a\nb\n", 5, "a\nb\n"},
		"of nothing there is nothing": {"", 3, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := string(lastLines([]byte(test.text), test.n)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
