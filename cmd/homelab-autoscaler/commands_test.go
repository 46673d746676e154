package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fed runs the command to its end with something on its standard input.
func fed(t *testing.T, in string, args ...string) (code int, out, complaints string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, args...)
	command.Env = []string{"HOME=" + t.TempDir(), "PATH=/nowhere"}
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(in), &stdout, &stderr
	var exit *exec.ExitError
	if err := command.Run(); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), stdout.String(), stderr.String()
}

func TestManifestsAreConvertedFromStandardInput(t *testing.T) {
	const group = "apiVersion: infra.homecluster.dev/v1alpha1\nkind: Group\nmetadata:\n  name: pool\nspec:\n  maxSize: 3\n"
	for name, test := range map[string]struct {
		in              string
		code            int
		out, complaints string
	}{
		"a group": {group, 0, "apiVersion: infra.homecluster.dev/v2alpha1\nkind: Group\nmetadata:\n  name: pool\nspec: {}\n",
			"Group pool: dropped spec.maxSize: 3: v2alpha1 has no such field: a pool is as large as it has slots\n1 objects of v1alpha1 rewritten\n"},
		"a slot that will be refused": {"{apiVersion: infra.homecluster.dev/v1alpha1, kind: Pool, metadata: {name: a}}", exitFailed,
			"apiVersion: infra.homecluster.dev/v1alpha1\nkind: Pool\nmetadata:\n  name: a\n",
			"Pool a: ERROR: v1alpha1 had no kind Pool: it is left as it is\n0 objects of v1alpha1 rewritten\n"},
		"no YAML": {"{", exitFailed, "", "homelab-autoscaler: reading document 1: yaml: line 1: did not find expected node content\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, complaints := fed(t, test.in, "convert")
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if diff := cmp.Diff(test.out, out); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.complaints, complaints); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestACommandUsedWrongSaysSo(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"an unknown flag":         {[]string{"convert", "--nope"}, exitUsage, "flag provided but not defined: -nope, see convert --help"},
		"a file instead of input": {[]string{"convert", "nodes.yaml"}, exitUsage, `unexpected argument "nodes.yaml", see convert --help`},
		"an unknown format":       {[]string{"preflight", "-o", "table"}, exitUsage, `-o "table" is not text or json`},
		"no cluster":              {[]string{"preflight"}, exitFailed, "no API server to talk to: pass --kubeconfig or set KUBECONFIG (in a pod the service account is used)"},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, complaints := outcome(t, test.args...)
			if code != test.code || out != "" || complaints != "homelab-autoscaler: "+test.want+"\n" {
				t.Errorf("exit code %d, output %q, complaints %q", code, out, complaints)
			}
		})
	}
}

func TestACommandReachesTheClusterThatKubectlReaches(t *testing.T) {
	home := t.TempDir()
	const nobody = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}], users: [{name: u, user: {}}]}`
	if err := os.MkdirAll(filepath.Join(home, ".kube"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, ".kube", "config"), []byte(nobody), 0o600); err != nil {
		t.Fatal(err)
	}
	const answers = "the API server at http://127.0.0.1:1 does not answer"
	list := func(files ...string) string {
		return "KUBECONFIG=" + strings.Join(files, string(filepath.ListSeparator))
	}
	for name, test := range map[string]struct{ env, want string }{
		"on a person's computer":              {"", answers},
		"by the files of a list":              {list("/nowhere/config", filepath.Join(home, ".kube", "config")), answers},
		"by a list of which nothing is there": {list("/nowhere/a", "/nowhere/b"), "reading kubeconfig /nowhere/a:/nowhere/b: invalid configuration: no configuration has been provided"},
		"in a pod":                            {"KUBERNETES_SERVICE_HOST=127.0.0.1", "service account"},
	} {
		t.Run(name, func(t *testing.T) {
			command := exec.CommandContext(t.Context(), binary, "preflight")
			command.Env = []string{"HOME=" + home, "PATH=/nowhere", "KUBERNETES_SERVICE_PORT=1", test.env}
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("got %v and %s, want %s", err, out, test.want)
			}
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	_, usage, _ := outcome(t, "--help")
	for _, name := range []string{"cloud-config", "preflight", "convert", "merged-crds", "quiesce"} {
		code, out, complaints := outcome(t, name, "--help")
		if code != 0 || complaints != "" || !strings.HasPrefix(out, "homelab-autoscaler "+name+" ") {
			t.Errorf("%s --help: exit code %d, output %q, complaints %q", name, code, out, complaints)
		}
		if !strings.Contains(usage, "\n  "+name+" ") {
			t.Errorf("--help does not name %s", name)
		}
	}
}
