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
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "power")
	build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", program, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building it: %v\n%s", err, out)
	}
	return program
}

// A scratch image has no dynamic linker. Size and cold start are printed (go test -v), not judged: they are the machine's.
func TestTheProgramIsStaticAndSmallAndStartsAtOnce(t *testing.T) {
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
	var starts []time.Duration
	for range 20 {
		began := time.Now()
		if out, err := exec.CommandContext(t.Context(), program, "--version").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		starts = append(starts, time.Since(began))
	}
	slices.Sort(starts)
	t.Logf("power: %.1f MB, cold start %s in the middle of %d, %s at worst", float64(info.Size())/1e6,
		starts[len(starts)/2].Round(100*time.Microsecond), len(starts), starts[len(starts)-1].Round(100*time.Microsecond))
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
