package main

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var both = []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}}

func indexOf(t *testing.T, p program) v1.ImageIndex {
	t.Helper()
	index, err := newIndex(both, func(platform v1.Platform) (v1.Image, error) {
		return p.image(platform, []byte("a program for "+platform.String()), "1.2.3")
	})
	if err != nil {
		t.Fatal(err)
	}
	return index
}

// What is pulled from a registry is what was built, for each platform.
func TestAnImageThatIsPushedCanBePulledForEachPlatform(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	at := strings.TrimPrefix(server.URL, "http://") + "/home/power:1.2.3"
	if err := push(context.Background(), indexOf(t, programs[1]), at); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := remote.Index(reference)
	if err == nil {
		err = validate.Index(pulled)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, platform := range both {
		img, err := remote.Image(reference, remote.WithPlatform(platform))
		if err != nil {
			t.Fatal(err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.Architecture != platform.Architecture || config.Config.User != nobody || !config.Created.IsZero() ||
			!slices.Equal(config.Config.Entrypoint, []string{"/usr/local/bin/power"}) || config.Config.Labels["org.opencontainers.image.version"] != "1.2.3" {
			t.Errorf("%s: %+v", platform, config)
		}
		files := filesOf(t, img)
		if got := files["usr/local/bin/power"]; got != "a program for "+platform.String() {
			t.Errorf("%s: the program is %q", platform, got)
		}
		if !strings.Contains(files[authorities], "BEGIN CERTIFICATE") {
			t.Errorf("%s: it trusts nobody", platform)
		}
	}
}

// filesOf are an image's files; a program must be one that anybody may run.
func filesOf(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	files := map[string]string{}
	contents := mutate.Extract(img)
	defer func() { _ = contents.Close() }()
	archive := tar.NewReader(contents)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if header.Uid != 0 || !header.ModTime.IsZero() && header.ModTime.Unix() != 0 {
			t.Errorf("%s is somebody's or of some day: %+v", header.Name, header)
		}
		if strings.HasPrefix(header.Name, binaries) && header.Mode != 0o755 {
			t.Errorf("%s has mode %o", header.Name, header.Mode)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files[header.Name] = string(text)
	}
}

func TestTheSameProgramGivesTheSameDigestAndArchive(t *testing.T) {
	var archives []string
	for _, folder := range []string{t.TempDir(), t.TempDir()} {
		path := filepath.Join(folder, "deep", "image.tar")
		if err := archive(indexOf(t, programs[0]), "homecluster.dev/homelab-autoscaler:1.2.3", path); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		archives = append(archives, string(text))
	}
	if archives[0] != archives[1] {
		t.Error("two archives of one image differ")
	}
}

// A container runtime finds the image's full name in the archive.
func TestAnArchiveSaysWhatItsImageIsCalled(t *testing.T) {
	const reference = "homecluster.dev/homelab-autoscaler:1.2.3"
	path := filepath.Join(t.TempDir(), "image.tar")
	if err := archive(indexOf(t, programs[0]), reference, path); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	found := tar.NewReader(in)
	for {
		header, err := found.Next()
		if err != nil {
			t.Fatalf("looking for index.json: %v", err)
		}
		if header.Name != "index.json" {
			continue
		}
		var index v1.IndexManifest
		if err := json.NewDecoder(found).Decode(&index); err != nil {
			t.Fatal(err)
		}
		if got := index.Manifests[0].Annotations["io.containerd.image.name"]; got != reference {
			t.Errorf("it is called %q", got)
		}
		return
	}
}

// The chart and the documentation name the images that are built by default.
func TestTheImagesThatAreBuiltAreThoseThatAreNamed(t *testing.T) {
	o, err := parse([]string{"-out=dist"})
	if err != nil || strings.Count(o.tag, ".") != 2 {
		t.Fatalf("%q, %v", o.tag, err)
	}
	for want, path := range map[string]string{
		"repository: " + o.repository + "/homelab-autoscaler\n": "charts/homelab-autoscaler/values.yaml",
		"repository: " + o.repository + "/power\n":              "charts/homelab-autoscaler/values.yaml",
		"image: " + o.repository + "/power:" + o.tag + "\n":     "docs/power.md",
	} {
		text, err := os.ReadFile(filepath.Join(o.root, path))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s does not name %q: %v", path, want, err)
		}
	}
}

func TestACommandLineThatCannotBeIsRefused(t *testing.T) {
	for name, args := range map[string][]string{
		"nowhere to put them":   {},
		"a platform of nowhere": {"-out=/tmp", "-platforms=a/b/c/d/e"},
		"a program of nobody":   {"-out=/tmp", "-only=powre"},
	} {
		if _, err := parse(args); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
