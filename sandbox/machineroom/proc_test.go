package machineroom_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// processes counts the processes of this host that mention mark in their command line.
func processes(t *testing.T, mark string) int {
	t.Helper()
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) == 0 {
		t.Skip("this system has no /proc to look for processes in")
	}
	n := 0
	for _, line := range lines {
		if text, err := os.ReadFile(line); err == nil && strings.Contains(string(text), mark) {
			n++
		}
	}
	return n
}
