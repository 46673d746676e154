package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheSameFilesAreTheSameBytes(t *testing.T) {
	files := []file{{"kubectl-homelab", []byte("program"), 0o755}, {"LICENSE", []byte("terms"), 0o644}}
	first, err := pack(files...)
	if err != nil {
		t.Fatal(err)
	}
	again, err := pack(files...)
	if err != nil {
		t.Fatal(err)
	}
	if sum(first) != sum(again) {
		t.Error("packed twice, the archives differ")
	}
	if diff := cmp.Diff([]string{"-rwxr-xr-x 0 1970 kubectl-homelab program", "-rw-r--r-- 0 1970 LICENSE terms"}, list(t, first)); diff != "" {
		t.Errorf("the archive holds (-want +got):\n%s", diff)
	}
}

func list(t *testing.T, packed []byte) (files []string) {
	t.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewReader(zipped)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(archive)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, fmt.Sprintf("%s %d %d %s %s", header.FileInfo().Mode(), header.Uid, header.ModTime.UTC().Year(), header.Name, text))
	}
}

func TestMistakesAreToldBeforeAnythingIsBuilt(t *testing.T) {
	for name, test := range map[string]struct {
		options options
		want    string
	}{
		"no version":     {options{url: "https://example.org"}, "krew wants a version that begins with v"},
		"no place":       {options{version: "v1.0.0"}, "say where the archives will be downloaded from"},
		"another's mark": {options{version: "1.0.0", url: "https://example.org"}, "krew wants a version that begins with v"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(t.Context(), test.options, io.Discard); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

func TestAManifestWantsEveryPlatform(t *testing.T) {
	if _, err := manifest("v1.0.0", "https://example.org", map[platform]string{{"linux", "amd64"}: "sum"}); err == nil {
		t.Error("it does without most of them")
	}
}
