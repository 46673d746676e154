package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	// binaries is the only folder of programs.
	binaries = "usr/local/bin"
	// authorities is where Go looks for those it trusts.
	authorities = "etc/ssl/certs/ca-certificates.crt"
	// nobody is the user and group: any but root.
	nobody = "65532:65532"
)

// compile builds the program for a platform. Neither the folder nor the state of the checkout shows in what comes out.
func (p program) compile(ctx context.Context, root string, platform v1.Platform, version string) ([]byte, error) {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	binary := filepath.Join(folder, p.name)
	flags := p.ldflags
	if strings.Contains(flags, "%s") {
		flags = fmt.Sprintf(flags, version)
	}
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", binary, "./cmd/"+p.name)
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS="+platform.OS, "GOARCH="+platform.Architecture,
		"GOAMD64=v1", "GOARM64=v8.0")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", platform, err, out)
	}
	return os.ReadFile(binary)
}

// image has the program as its only content, beside what it needs to trust somebody.
func (p program) image(platform v1.Platform, binary []byte, version string) (v1.Image, error) {
	files := []file{{path.Join(binaries, p.name), 0o755, binary}}
	if p.roots {
		files = append(files, file{authorities, 0o644, rootsInPEM()})
	}
	contents, err := pack(files)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(contents)), nil },
		tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	img := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	if img, err = mutate.AppendLayers(img, layer); err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Variant = platform.OS, platform.Architecture, platform.Variant
	config.Config = v1.Config{
		User: nobody, Entrypoint: []string{"/" + path.Join(binaries, p.name)}, Env: []string{"PATH=/" + binaries},
		Labels: map[string]string{
			"org.opencontainers.image.title": p.title, "org.opencontainers.image.version": version,
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}

// rootsInPEM are the authorities that Mozilla trusts without conditions, as the Go project publishes them.
func rootsInPEM() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return text.Bytes()
}

// file is one of an image.
type file struct {
	path    string
	mode    int64
	content []byte
}

// pack makes the archive of files and their folders. All are root's, and of no particular time.
func pack(files []file) ([]byte, error) {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	made := map[string]bool{".": true}
	var folder func(string) error
	folder = func(name string) error {
		if made[name] {
			return nil
		}
		if err := folder(path.Dir(name)); err != nil {
			return err
		}
		made[name] = true
		return archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o755, Format: tar.FormatUSTAR})
	}
	for _, f := range files {
		if err := folder(path.Dir(f.path)); err != nil {
			return nil, err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.path, Mode: f.mode, Size: int64(len(f.content)), Format: tar.FormatUSTAR}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), archive.Close()
}

// newIndex makes an image for each platform and puts them under one name.
func newIndex(platforms []v1.Platform, image func(v1.Platform) (v1.Image, error)) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range platforms {
		img, err := image(platform)
		if err != nil {
			return nil, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

// compressed is how much of an image has to be pulled.
func compressed(img v1.Image) (int64, error) {
	layers, err := img.Layers()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, layer := range layers {
		size, err := layer.Size()
		if err != nil {
			return 0, err
		}
		sum += size
	}
	return sum, nil
}
