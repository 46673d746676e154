package plugin_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// TestKrewInstallsThePlugin packs the plugin, lets krew's own validator judge the manifest and install every platform's
// archive from a server, and runs what krew installed here.
func TestKrewInstallsThePlugin(t *testing.T) {
	if testing.Short() {
		t.Skip("builds krew and the plugin; skipped with -short")
	}
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	dist, home := t.TempDir(), t.TempDir()
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	t.Cleanup(server.Close)
	pack(t, root, dist, server.URL)

	krew := tool(t, root, "krew")
	shim := t.TempDir()
	// The validator calls krew as a plugin of kubectl, and takes no other name.
	if err := os.WriteFile(filepath.Join(shim, "kubectl"), []byte("#!/bin/sh\nshift\nexec "+krew+" \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := "PATH=" + shim + ":" + os.Getenv("PATH")
	manifest := filepath.Join(dist, "homelab.yaml")
	out := call(t, root, []string{path}, tool(t, root, "validate-krew-manifest"), "-manifest", manifest)
	if !strings.Contains(out, "all 6 spec.platforms installed fine") {
		t.Errorf("the validator did not install every platform:\n%s", out)
	}

	archive := filepath.Join(dist, "kubectl-homelab_"+runtime.GOOS+"_"+runtime.GOARCH+".tar.gz")
	call(t, root, []string{path, "KREW_ROOT=" + home}, krew, "install", "--manifest="+manifest, "--archive="+archive)
	if help := call(t, root, nil, filepath.Join(home, "bin", "kubectl-homelab"), "--help"); !strings.Contains(help, "kubectl homelab [command]") {
		t.Errorf("what krew installed does not help:\n%s", help)
	}
}

// pack builds the plugin for this machine and packs it; a stand-in is enough for machines that could not run it here.
func pack(t *testing.T, root, dist, url string) {
	t.Helper()
	built, standIn := filepath.Join(t.TempDir(), "kubectl-homelab"), filepath.Join(t.TempDir(), "stand-in")
	call(t, root, nil, "go", "build", "-o", built, "./cmd/kubectl-homelab")
	if err := os.WriteFile(standIn, []byte("not for here"), 0o755); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"run", "./hack/plugin", "-version=v0.2.3", "-url=" + url, "-out=" + dist}
	here := runtime.GOOS + "/" + runtime.GOARCH
	for _, platform := range []string{"linux/amd64", "linux/arm64", "linux/arm", "darwin/amd64", "darwin/arm64", "windows/amd64"} {
		file := standIn
		if platform == here {
			file = built
		}
		arguments = append(arguments, "-built="+platform+"="+file)
	}
	call(t, root, nil, "go", arguments...)
}

// tool is a program of krew's, built or found.
func tool(t *testing.T, root, name string) string {
	t.Helper()
	return strings.TrimSpace(call(t, root, []string{"GOWORK=off", "GOFLAGS="}, "go", "tool", "-modfile=tools/krew/go.mod", "-n", name))
}

// call runs a program in the repository that has to succeed, and answers all that it printed.
func call(t *testing.T, root string, environment []string, program string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	command.Dir = root
	command.Env = append(os.Environ(), environment...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(arguments, " "), err, out)
	}
	return string(out)
}
