package controlplane

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// smallModule is a module that builds in a moment and claims to be of some Kubernetes.
func smallModule(t *testing.T, main string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":            "module small\n\ngo 1.26.0\n\nrequire k8s.io/kubernetes v1.99.7\n\nreplace k8s.io/kubernetes => ./stand-in\n",
		"go.sum":            "",
		"main.go":           main,
		"stand-in/go.mod":   "module k8s.io/kubernetes\n\ngo 1.26.0\n",
		"stand-in/empty.go": "package kubernetes\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const helloMain = "package main\n\nfunc main() { println(\"hello\") }\n"

// pane is a progress writer that many builds may share.
type pane struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (p *pane) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.Write(text)
}

func (p *pane) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

func TestManyBuildersBuildOnce(t *testing.T) {
	var seen pane
	o := BuildOptions{Module: smallModule(t, helloMain), Cache: t.TempDir(), Progress: &seen}
	var builders sync.WaitGroup
	paths := make([]string, 4)
	for i := range paths {
		builders.Go(func() {
			path, err := Build(t.Context(), o)
			if err != nil {
				t.Error(err)
			}
			paths[i] = path
		})
	}
	builders.Wait()
	if got := strings.Count(seen.String(), "built Kubernetes v1.99.7"); got != 1 {
		t.Errorf("built %d times:\n%s", got, seen.String())
	}
	for _, path := range paths {
		if path != paths[0] || !strings.HasPrefix(filepath.Base(path), "kube-v1.99.7-") {
			t.Errorf("paths %v", paths)
		}
	}
	if out, err := exec.CommandContext(t.Context(), paths[0]).CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Errorf("the binary said %q, %v", out, err)
	}
	if partial, _ := filepath.Glob(filepath.Join(o.Cache, "*.partial")); len(partial) > 0 {
		t.Errorf("left behind: %v", partial)
	}
}

func TestOtherSourcesAreAnotherBinary(t *testing.T) {
	cache := t.TempDir()
	first, err := planBuild(t.Context(), BuildOptions{Module: smallModule(t, helloMain), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	same, err := planBuild(t.Context(), BuildOptions{Module: smallModule(t, helloMain), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	other, err := planBuild(t.Context(), BuildOptions{Module: smallModule(t, helloMain+"// more\n"), Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	if first.binary != same.binary || first.binary == other.binary {
		t.Errorf("first %s, same %s, other %s", first.binary, same.binary, other.binary)
	}
}

func TestAnotherProgramOfTheModuleHasABinaryOfItsOwn(t *testing.T) {
	module := smallModule(t, helloMain)
	if err := os.Mkdir(filepath.Join(module, Kubelet), 0o755); err != nil {
		t.Fatal(err)
	}
	other := strings.ReplaceAll(helloMain, "hello", "kubelet")
	if err := os.WriteFile(filepath.Join(module, Kubelet, "main.go"), []byte(other), 0o644); err != nil {
		t.Fatal(err)
	}
	path, err := Build(t.Context(), BuildOptions{Module: module, Program: Kubelet, Cache: t.TempDir()})
	if err != nil || !strings.HasPrefix(filepath.Base(path), "kubelet-v1.99.7-") {
		t.Fatalf("%s, %v", path, err)
	}
	if out, err := exec.CommandContext(t.Context(), path).CombinedOutput(); err != nil || string(out) != "kubelet\n" {
		t.Errorf("the binary said %q, %v", out, err)
	}
}

func TestAFailedBuildSaysWhatTheCompilerSaid(t *testing.T) {
	cache := t.TempDir()
	_, err := Build(t.Context(), BuildOptions{
		Module: smallModule(t, "package main\n\nfunc main() { undefinedThing() }\n"), Cache: cache,
	})
	if err == nil || !strings.Contains(err.Error(), "undefined: undefinedThing") {
		t.Errorf("it said: %v", err)
	}
	if binaries, _ := filepath.Glob(filepath.Join(cache, "kube-*[0-9a-f]")); len(binaries) > 0 {
		t.Errorf("a failed build left %v", binaries)
	}
}

func TestLongUnusedBinariesArePruned(t *testing.T) {
	cache := t.TempDir()
	old, recent := filepath.Join(cache, "kube-v1.1.1-old"), filepath.Join(cache, "kube-v1.1.2-recent")
	for path, age := range map[string]time.Duration{old: unusedFor + time.Hour, recent: time.Hour} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
		when := time.Now().Add(-age)
		if err := os.Chtimes(path, when, when); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Build(t.Context(), BuildOptions{Module: smallModule(t, helloMain), Cache: cache}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the old binary: %v", err)
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("the recent binary: %v", err)
	}
}

func TestALockIsWaitedForAndWaitingEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(t.Context(), path, func() { t.Error("nobody had it") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lockFile(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("a held lock, and a context that ends: %v", err)
	}
	unlock2, err := lockFile(t.Context(), path, unlock)
	if err != nil {
		t.Fatalf("after the holder let go: %v", err)
	}
	unlock2()
}

func TestParallelCompilationsFitTheMemory(t *testing.T) {
	tests := map[string]struct {
		cores int
		bytes int64
		want  int
	}{
		"two cores and 8 GiB, the machine it must fit": {2, 8 << 30, 2},
		"many cores with little memory":                {16, 8 << 30, 4},
		"many cores with much":                         {16, 64 << 30, 16},
		"hardly any memory still builds":               {4, 1 << 30, 1},
		"memory that cannot be read":                   {4, 0, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := parallel(test.cores, test.bytes); got != test.want {
				t.Errorf("%d at once, want %d", got, test.want)
			}
		})
	}
}

func TestProgressCountsPackagesAndKeepsComplaints(t *testing.T) {
	var seen pane
	m := newMeter(&seen, "Kubernetes v1.99.7", 3)
	for _, text := range []string{"k8s.io/one\nk8s.io/t", "wo\n# k8s.io/two\nfile.go:1:2: undefined: x\n", "go: downloading y v1\n"} {
		if _, err := m.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	m.tell()
	if want := "2 of at most 3 packages"; !strings.Contains(seen.String(), want) || strings.Contains(seen.String(), "\r") {
		t.Errorf("told %q, want plain lines with %q", seen.String(), want)
	}
	if want := "file.go:1:2: undefined: x"; !strings.Contains(m.complaints(), want) {
		t.Errorf("complaints %q lack %q", m.complaints(), want)
	}
}

// TestALostPortIsNoticed takes the port that a start had found free, as another program may between the two.
func TestALostPortIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("wants a control plane")
	}
	binary, err := Build(t.Context(), BuildOptions{Progress: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	o := Options{}.withDefaults()
	cp, err := prepare(o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cp.Stop() }()
	if cp.ports.taken() {
		t.Fatal("ports that were found free are taken")
	}
	thief, err := listen(cp.ports.etcd)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = thief.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := cp.run(ctx, binary, o); err == nil || !strings.Contains(err.Error(), "etcd ended") {
		t.Errorf("it said: %v", err)
	}
	if !cp.ports.taken() {
		t.Error("the thief was not noticed")
	}
}
