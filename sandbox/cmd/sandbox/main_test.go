package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// output is what the command line prints, on both streams, and its exit code.
func output(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	out, errs := tempFile(t, "out"), tempFile(t, "err")
	oldOut, oldErr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = out, errs
	defer func() { os.Stdout, os.Stderr = oldOut, oldErr }()
	code = realMain(args)
	return read(t, out), read(t, errs), code
}

func tempFile(t *testing.T, name string) *os.File {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), name))
	if err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file *os.File) string {
	t.Helper()
	text, err := os.ReadFile(file.Name())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCommandLine(t *testing.T) {
	tests := map[string]struct {
		args           []string
		stdout, stderr string
		code           int
	}{
		"nothing shows what there is":         {nil, "Commands:\n  demo ", "", exitOK},
		"help shows it too":                   {[]string{"--help"}, "Start with \"sandbox demo\"", "", exitOK},
		"a command explains its flags":        {[]string{"demo", "--help"}, "-replicas n", "", exitOK},
		"so does up":                          {[]string{"up", "-h"}, "-client", "", exitOK},
		"an unknown command":                  {[]string{"domo"}, "", "there is no command \"domo\"", exitUsage},
		"an unknown flag":                     {[]string{"demo", "--fast"}, "", "sandbox demo: flag provided but not defined: -fast", exitUsage},
		"a stray argument":                    {[]string{"up", "now"}, "", "sandbox up: unexpected argument \"now\"", exitUsage},
		"more replicas than machines":         {[]string{"demo", "--replicas", "7"}, "", "replicas must be 1 to 6, a machine each; got 7", exitUsage},
		"no replicas":                         {[]string{"demo", "--replicas", "0"}, "", "replicas must be 1 to 6", exitUsage},
		"a duration that is none":             {[]string{"demo", "--timeout", "soon"}, "", "invalid value \"soon\" for flag -timeout", exitUsage},
		"power without an action":             {[]string{"power"}, "power: usage: say what to do", "", exitUsage},
		"a switch that is not there":          {[]string{"power", "on", "--url", "http://127.0.0.1:1/x"}, "", "power: reaching the switch", exitFailed},
		"a cluster-autoscaler that is absent": {[]string{"demo", "--cluster-autoscaler", "/nowhere"}, "", "there is no cluster-autoscaler at /nowhere", exitUsage},
		"a folder that is not empty":          {[]string{"up", "--dir", "."}, "", "is not empty", exitUsage},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			stdout, stderr, code := output(t, test.args...)
			if !strings.Contains(stdout, test.stdout) || (test.stdout == "") != (stdout == "") {
				t.Errorf("standard output %q, want %q in it", stdout, test.stdout)
			}
			if !strings.Contains(stderr, test.stderr) || (test.stderr == "") != (stderr == "") {
				t.Errorf("standard error %q, want %q in it", stderr, test.stderr)
			}
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
		})
	}
}
