package main

import (
	"archive/tar"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// push puts an image into a registry, for all its platforms.
func push(ctx context.Context, index v1.ImageIndex, reference string) error {
	tag, err := name.NewTag(reference)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing %s: %w", reference, err)
	}
	return nil
}

// archive writes an image as an OCI layout in a tar file, which container runtimes import under the name of the reference.
func archive(index v1.ImageIndex, reference, path string) (err error) {
	folder, err := os.MkdirTemp("", "image-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	at, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	_, tag, _ := strings.Cut(filepath.Base(reference), ":")
	if err := at.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"io.containerd.image.name": reference, "org.opencontainers.image.ref.name": tag,
	})); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() {
		if closed := out.Close(); err == nil {
			err = closed
		}
	}()
	return packFolder(out, os.DirFS(folder))
}

// packFolder archives files by the order of their names, and of no particular time.
func packFolder(out io.Writer, from fs.FS) error {
	archive := tar.NewWriter(out)
	err := fs.WalkDir(from, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(from, path)
		if err != nil {
			return err
		}
		if err := archive.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(content)), Format: tar.FormatUSTAR,
		}); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	if err != nil {
		return err
	}
	return archive.Close()
}
