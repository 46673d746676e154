package controlplane

import (
	"cmp"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"
)

// BuildOptions say what to build and where to keep it. The zero value serves inside a checkout of the repository.
type BuildOptions struct {
	// Module is the folder of the module that builds the control plane's binary. Empty: sandbox/controlplane/kube of
	// the repository that holds the working directory.
	Module string
	// Program is the folder, below Module, of a program to build in place of the control plane, such as Kubelet. Empty: the
	// control plane.
	Program string
	// Cache is the folder of finished binaries. Empty: homelab-autoscaler in the user's cache folder.
	Cache string
	// Progress receives what a person wants to see of a build that takes many minutes. Nil: nothing is said.
	Progress io.Writer
}

// Kubelet is the kubelet of the control plane's version, as a BuildOptions.Program. It builds for Linux alone.
const Kubelet = "kubelet"

// cacheName is the folder below the user's cache folder.
const cacheName = "homelab-autoscaler"

// unusedFor is how long a binary of another version stays after it was last used; one is about 140 MB.
const unusedFor = 14 * 24 * time.Hour

// Build returns the path of the control plane's binary, building it if the cache has none of this version, these
// sources and this toolchain. Builders of the same binary wait for the first of them. An interrupted build loses
// little: what was compiled stays in Go's own build cache.
func Build(ctx context.Context, o BuildOptions) (string, error) {
	plan, err := planBuild(ctx, o)
	if err != nil {
		return "", err
	}
	if plan.use() {
		return plan.binary, nil
	}
	unlock, err := lockFile(ctx, plan.binary+".lock", func() {
		say(o.Progress, "another build of %s is under way; waiting for it", filepath.Base(plan.binary))
	})
	if err != nil {
		return "", fmt.Errorf("waiting for the build lock: %w", err)
	}
	defer unlock()
	if plan.use() { // somebody else finished it while this one waited
		return plan.binary, nil
	}
	if err := plan.run(ctx, o.Progress); err != nil {
		return "", fmt.Errorf("building %s from %s: %w", plan.what(), plan.module, err)
	}
	plan.prune()
	return plan.binary, nil
}

// build is one binary to be: from which module, of which version, kept where.
type build struct {
	module, program, binary, version string
}

// name is what the binary is called.
func (b build) name() string { return cmp.Or(b.program, "kube") }

// what says to a person what is built.
func (b build) what() string {
	if b.program == "" {
		return "Kubernetes " + b.version + ", etcd included"
	}
	return "the " + b.program + " of Kubernetes " + b.version
}

func planBuild(ctx context.Context, o BuildOptions) (build, error) {
	module := o.Module
	if module == "" {
		root, err := RepositoryRoot()
		if err != nil {
			return build{}, err
		}
		module = filepath.Join(root, kubeModule)
	}
	version, err := kubernetesVersion(filepath.Join(module, "go.mod"))
	if err != nil {
		return build{}, err
	}
	id, err := identity(ctx, module, o.Program)
	if err != nil {
		return build{}, err
	}
	cache := o.Cache
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return build{}, fmt.Errorf("finding the user's cache folder: %w", err)
		}
		cache = filepath.Join(base, cacheName)
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return build{}, fmt.Errorf("making the cache folder: %w", err)
	}
	plan := build{module: module, program: o.Program, version: version}
	plan.binary = filepath.Join(cache, plan.name()+"-"+version+"-"+id)
	return plan, nil
}

// kubeModule is where the repository keeps the module of the control plane's binary.
const kubeModule = "sandbox/controlplane/kube"

// RepositoryRoot walks up from the working directory to the folder that holds the control plane's module.
func RepositoryRoot() (string, error) {
	wd, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for dir := wd; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, kubeModule, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("no %s above %s: run inside a checkout of the repository", kubeModule, wd)
		}
	}
}

var requiresKubernetes = regexp.MustCompile(`(?m)^(?:require)?\s*k8s\.io/kubernetes (v\d+\.\d+\.\d+\S*)`)

// kubernetesVersion reads which Kubernetes the module requires; its go.mod is the one place that says it.
func kubernetesVersion(goMod string) (string, error) {
	text, err := os.ReadFile(goMod)
	if err != nil {
		return "", fmt.Errorf("reading the control plane's module: %w", err)
	}
	match := requiresKubernetes.FindSubmatch(text)
	if match == nil {
		return "", fmt.Errorf("%s requires no k8s.io/kubernetes", goMod)
	}
	return string(match[1]), nil
}

// identity digests all that the binary is made of: sources, requirements, toolchain and platform.
func identity(ctx context.Context, module, program string) (string, error) {
	sources, err := filepath.Glob(filepath.Join(module, program, "*.go"))
	if err != nil {
		return "", fmt.Errorf("listing the control plane's sources: %w", err)
	}
	sum := sha256.New()
	for _, path := range append(sources, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum")) {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("reading the control plane's sources: %w", err)
		}
		sum.Write(fmt.Appendf(nil, "%s %d\n%s", filepath.Base(path), len(text), text))
	}
	command := goCommand(ctx, module, "env", "GOVERSION", "GOOS", "GOARCH")
	platform, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("asking go for its version: %w", err)
	}
	sum.Write(platform)
	return fmt.Sprintf("%x", sum.Sum(nil)[:6]), nil
}

// use reports whether the binary is there, and if so notes that it was used.
func (b build) use() bool {
	if _, err := os.Stat(b.binary); err != nil {
		return false
	}
	now := time.Now()
	_ = os.Chtimes(b.binary, now, now) // only delays pruning
	return true
}

func (b build) run(ctx context.Context, out io.Writer) error {
	temporary := fmt.Sprintf("%s.%d.partial", b.binary, os.Getpid())
	defer func() { _ = os.Remove(temporary) }() // of a build that failed; else it has its name already
	total, err := b.packages(ctx)
	if err != nil {
		return err
	}
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false", "-p", fmt.Sprint(parallel(runtime.NumCPU(), memory())),
		"-ldflags", b.stamp(), "-o", temporary, "./" + b.program}
	command := goCommand(ctx, b.module, args...)
	command.Env = append(command.Env, "GOMEMLIMIT="+softLimit)
	meter := newMeter(out, b.what(), total)
	command.Stderr = meter
	stop := meter.start()
	err = command.Run()
	stop()
	if err != nil {
		return cmp.Or(ctx.Err(), fmt.Errorf("%w\n%s", err, meter.complaints()))
	}
	if err := os.Rename(temporary, b.binary); err != nil {
		return fmt.Errorf("keeping the binary: %w", err)
	}
	meter.done()
	return nil
}

// packages counts what a build from nothing compiles; it also downloads the modules, so that their fetching is not
// taken for a build that hangs.
func (b build) packages(ctx context.Context) (int, error) {
	var complaint strings.Builder
	command := goCommand(ctx, b.module, "list", "-deps", "./"+b.program)
	command.Stderr = &complaint
	list, err := command.Output()
	if err != nil {
		return 0, cmp.Or(ctx.Err(), fmt.Errorf("listing packages: %w\n%s", err, complaint.String()))
	}
	return strings.Count(string(list), "\n"), nil
}

// stamp gives the binary its version: clients refuse a server whose version they cannot parse. A module has no commit
// of Kubernetes' repository, and forty hex digits are expected, so the digest of the module's version stands in.
func (b build) stamp() string {
	parts := strings.SplitN(strings.TrimPrefix(b.version, "v"), ".", 3)
	flags := []string{"-s", "-w"}
	for _, kv := range [][2]string{
		{"gitVersion", b.version}, {"gitMajor", parts[0]}, {"gitMinor", parts[1]}, {"gitTreeState", "clean"},
		{"gitCommit", fmt.Sprintf("%x", sha1.Sum([]byte("k8s.io/kubernetes@"+b.version)))},
	} {
		flags = append(flags, "-X", "k8s.io/component-base/version."+kv[0]+"="+kv[1])
	}
	return strings.Join(flags, " ")
}

// prune removes binaries that nobody has used for long. It is housekeeping: failures leave a file for next time.
func (b build) prune() {
	old, _ := filepath.Glob(filepath.Join(filepath.Dir(b.binary), b.name()+"-*"))
	for _, path := range old {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) || path == b.binary || path == b.binary+".lock" {
			continue
		}
		if err == nil && time.Since(info.ModTime()) > unusedFor {
			_ = os.Remove(path)
		}
	}
}

// goCommand runs go in the module alone: a workspace above it or flags of the caller would change what is built. cgo is
// off so that no C compiler is needed.
func goCommand(ctx context.Context, module string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = module
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	return command
}
