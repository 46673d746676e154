// Command plugin packs kubectl-homelab for krew: an archive for each platform, the same bytes for the same sources, and the
// manifest by which krew finds, checks and installs them.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// name is the plugin's: kubectl homelab.
const name = "homelab"

// platform is what a binary runs on.
type platform struct{ os, arch string }

// platforms are those that people sit at, and the small ones that clusters at home are made of.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "arm"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

func (p platform) String() string { return p.os + "/" + p.arch }

// binary is the name of the plugin's program there.
func (p platform) binary() string {
	if p.os == "windows" {
		return "kubectl-homelab.exe"
	}
	return "kubectl-homelab"
}

func (p platform) archive() string { return fmt.Sprintf("kubectl-homelab_%s_%s.tar.gz", p.os, p.arch) }

// options are the command line.
type options struct {
	version, url, out string
	// built are programs that need not be built any more, by platform.
	built map[string]string
}

func main() {
	o := options{built: map[string]string{}}
	flag.StringVar(&o.version, "version", "", "the version, for example v0.2.3")
	flag.StringVar(&o.url, "url", "", "where the archives will be downloaded from: the part before their names")
	flag.StringVar(&o.out, "out", "dist/plugin", "the folder to write to")
	flag.Func("built", "os/arch=FILE: a program that is built already; may be given again", func(text string) error {
		where, file, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("%q is not os/arch=FILE", text)
		}
		o.built[where] = file
		return nil
	})
	flag.Parse()
	if err := run(context.Background(), o, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "plugin:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, progress io.Writer) error {
	if !strings.HasPrefix(o.version, "v") {
		return fmt.Errorf("-version %q: krew wants a version that begins with v", o.version)
	}
	if !strings.HasPrefix(o.url, "http") {
		return fmt.Errorf("-url %q: say where the archives will be downloaded from", o.url)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	sums := map[platform]string{}
	for _, p := range platforms {
		_, _ = fmt.Fprintln(progress, "packing", p)
		program, err := o.program(ctx, p)
		if err != nil {
			return err
		}
		packed, err := pack(file{p.binary(), program, 0o755}, file{"LICENSE", licence, 0o644})
		if err != nil {
			return fmt.Errorf("packing for %s: %w", p, err)
		}
		if err := os.WriteFile(filepath.Join(o.out, p.archive()), packed, 0o644); err != nil {
			return err
		}
		sums[p] = sum(packed)
	}
	text, err := manifest(o.version, o.url, sums)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, name+".yaml"), text, 0o644)
}

// program is the binary for a platform, built if it is not there.
func (o options) program(ctx context.Context, p platform) ([]byte, error) {
	if file := o.built[p.String()]; file != "" {
		return os.ReadFile(file)
	}
	dir, err := os.MkdirTemp("", "kubectl-homelab-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	file := filepath.Join(dir, p.binary())
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", file, "./cmd/kubectl-homelab")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", p, err, out)
	}
	return os.ReadFile(file)
}
