// Image builds the container images of the operator and of the programs around power: one static file each, without a shell and
// without root, for several platforms at once. It needs Go and nothing else: no daemon, no base image, no registry. The same
// commit gives the same digests, wherever it is built.
//
//	go -C tools/image run . -out ../../dist                 as archives, for "ctr images import" and its like
//	go -C tools/image run . -push registry.lan:5000/home    to a registry, by the credentials of docker login
//
// ko was weighed for this and set aside: it wants a base image from a registry, and brings the clients of four clouds.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// program is one of ours that gets an image of its own.
type program struct {
	name, title string
	// ldflags are for the linker; %s is the version.
	ldflags string
	// roots is whether it calls strangers over TLS, so that its image has the authorities that browsers trust.
	roots bool
}

var programs = []program{
	{name: "homelab-autoscaler", title: "homelab-autoscaler", ldflags: "-s -w -X homecluster.dev/autoscaler/internal/manager.version=%s"},
	{name: "power", title: "power, for the Jobs of homelab-autoscaler", ldflags: "-s -w", roots: true},
	{name: "power-observer", title: "power-observer, beside homelab-autoscaler", ldflags: "-s -w", roots: true},
}

// options are the command line.
type options struct {
	root, out, push, repository, tag, only string
	platforms                              []v1.Platform
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	var o options
	var platforms string
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	flags.StringVar(&o.root, "root", "../..", "`folder` of the repository")
	flags.StringVar(&o.out, "out", "", "`folder` for an archive of each image")
	flags.StringVar(&o.push, "push", "", "`repository` under which each image is pushed, by its program's name")
	flags.StringVar(&o.repository, "repository", "homecluster.dev", "`repository` that the archives name")
	flags.StringVar(&o.tag, "tag", "", "`tag` and version (default: the chart's appVersion)")
	flags.StringVar(&o.only, "only", "", "the one `program` to make an image of (default: all)")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64", "comma-separated `platforms`")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.out == "" && o.push == "" {
		return o, errors.New("nowhere to put them: pass -out or -push")
	}
	for name := range strings.SplitSeq(platforms, ",") {
		platform, err := v1.ParsePlatform(name)
		if err != nil {
			return o, fmt.Errorf("-platforms %q: %w", name, err)
		}
		o.platforms = append(o.platforms, *platform)
	}
	if len(o.programs()) == 0 {
		return o, fmt.Errorf("-only %q: there is no such program", o.only)
	}
	var err error
	if o.tag == "" {
		o.tag, err = appVersion(filepath.Join(o.root, "charts/homelab-autoscaler/Chart.yaml"))
	}
	return o, err
}

// programs are those to make an image of.
func (o options) programs() []program {
	if o.only == "" {
		return programs
	}
	return slices.DeleteFunc(slices.Clone(programs), func(p program) bool { return p.name != o.only })
}

// appVersion is the version that the chart asks for.
func appVersion(chart string) (string, error) {
	text, err := os.ReadFile(chart)
	if err != nil {
		return "", err
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if version, found := strings.CutPrefix(line, "appVersion:"); found {
			return strings.Trim(strings.TrimSpace(version), `"`), nil
		}
	}
	return "", fmt.Errorf("%s has no appVersion", chart)
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	for _, p := range o.programs() {
		if err := o.make(ctx, p, out); err != nil {
			return fmt.Errorf("making the image of %s: %w", p.name, err)
		}
	}
	return nil
}

// make builds one program's image and puts it where it was asked for.
func (o options) make(ctx context.Context, p program, out io.Writer) error {
	index, err := newIndex(o.platforms, func(platform v1.Platform) (v1.Image, error) {
		binary, err := p.compile(ctx, o.root, platform, o.tag)
		if err != nil {
			return nil, err
		}
		img, err := p.image(platform, binary, o.tag)
		if err != nil {
			return nil, err
		}
		size, err := compressed(img)
		if err == nil {
			_, err = fmt.Fprintf(out, "%s %s: %.1f MB, compressed %.1f MB\n", p.name, platform, float64(len(binary))/1e6, float64(size)/1e6)
		}
		return img, err
	})
	if err != nil {
		return err
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	if o.push != "" {
		at := o.push + "/" + p.name + ":" + o.tag
		if err := push(ctx, index, at); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s@%s\n", at, digest)
	}
	if err == nil && o.out != "" {
		path := filepath.Join(o.out, p.name+"-"+o.tag+".tar")
		if err := archive(index, o.repository+"/"+p.name+":"+o.tag, path); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out, "%s@%s in %s\n", p.name, digest, path)
	}
	return err
}
