package main

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"
)

// built is the program, built as its image has it.
func built(t testing.TB) string {
	t.Helper()
	return build(t, ".")
}

// build makes a static program of a package.
func build(t testing.TB, source string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "program")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building it: %v\n%s", err, out)
	}
	return program
}

// A scratch image has no dynamic linker. The size is printed (go test -v), not judged.
func TestTheProgramIsStatic(t *testing.T) {
	program := built(t)
	if runtime.GOOS == "linux" {
		file, err := elf.Open(program)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = file.Close() }()
		if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("it needs %v, %v", libraries, err)
		}
		if slices.ContainsFunc(file.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
			t.Error("it asks for a dynamic linker")
		}
	}
	info, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("power: %.1f MB", float64(info.Size())/1e6)
}

// BenchmarkColdStart says what one start costs, from the fork to the exit, and how often that of a program that does
// nothing: the rest of it is the computer's.
func BenchmarkColdStart(b *testing.B) {
	empty := filepath.Join(b.TempDir(), "main.go")
	if err := os.WriteFile(empty, []byte("package main\n\nfunc main() {}\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	nothing, program := build(b, empty), built(b)
	start := func(program string, args ...string) time.Duration {
		began := time.Now()
		if out, err := exec.CommandContext(b.Context(), program, args...).CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return time.Since(began)
	}
	var idle, work []time.Duration
	for b.Loop() {
		idle = append(idle, start(nothing))
		work = append(work, start(program, "--version"))
	}
	slices.Sort(idle)
	slices.Sort(work)
	middle := len(work) / 2
	b.ReportMetric(float64(work[middle])/float64(time.Millisecond), "ms/start")
	b.ReportMetric(float64(work[len(work)-1])/float64(time.Millisecond), "ms/worst")
	b.ReportMetric(float64(work[middle])/float64(idle[middle]), "x-nothing")
	b.ReportMetric(0, "ns/op")
}

func TestTheProcessExitsAsTheOutcomeSays(t *testing.T) {
	program := built(t)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"dance"}, 2, "power: usage: say what to do"},
		{[]string{"status", "--http-status=http://127.0.0.1:1", "--reach=0"}, 6, "power status: unreachable: "},
	} {
		out, err := exec.CommandContext(t.Context(), program, tt.args...).Output()
		exit, failed := errors.AsType[*exec.ExitError](err)
		if !failed || exit.ExitCode() != tt.code || !bytes.Contains(out, []byte(tt.says)) {
			t.Errorf("power %v: %v, %s; want %d, %s", tt.args, err, out, tt.code, tt.says)
		}
	}
}
