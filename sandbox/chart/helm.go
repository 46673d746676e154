package chart

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// The names that people type: those of the guide to the upgrade from 0.1.
const (
	Release   = "homelab-autoscaler"
	Namespace = "homelab-autoscaler-system"
)

// root is the repository's.
var root = sync.OnceValues(controlplane.RepositoryRoot)

// helmBinary builds Helm, or finds what was built before.
var helmBinary = sync.OnceValues(func() (string, error) {
	dir, err := root()
	if err != nil {
		return "", err
	}
	command := exec.CommandContext(context.Background(), "go", "tool", "-modfile=tools/helm/go.mod", "-n", "helm")
	command.Dir = dir
	command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("building helm: %w%s", err, stderr(err))
	}
	return strings.TrimSpace(string(out)), nil
})

func stderr(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return "\n" + string(exit.Stderr)
	}
	return ""
}

// Dir is the folder of the chart.
func Dir(t testing.TB) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "charts", "homelab-autoscaler")
}

// HelmBinary is where Helm lies, built for that.
func HelmBinary(t testing.TB) string {
	t.Helper()
	binary, err := helmBinary()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

// Helm runs Helm with a home of its own and answers its standard output; the error has what it complained of.
func Helm(t testing.TB, arguments ...string) (string, error) {
	t.Helper()
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), HelmBinary(t), arguments...)
	command.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("helm %s: %w%s", strings.Join(arguments, " "), err, stderr(err))
	}
	return string(out), err
}

// Template renders the chart with some values over its defaults.
func Template(t testing.TB, values map[string]any, more ...string) (string, error) {
	t.Helper()
	arguments := append([]string{"template", Release, Dir(t), "--namespace=" + Namespace, "--values=" + ValuesFile(t, values)}, more...)
	return Helm(t, arguments...)
}

// ValuesFile writes values to a file, for Helm, and answers its path.
func ValuesFile(t testing.TB, values map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Render is Template for values that must do.
func Render(t testing.TB, values map[string]any, more ...string) Objects {
	t.Helper()
	text, err := Template(t, values, more...)
	if err != nil {
		t.Fatal(err)
	}
	return Parse(t, text)
}

// Objects are rendered manifests, in the order in which Helm applies them.
type Objects []*unstructured.Unstructured

// Parse reads manifests; no key may be there twice.
func Parse(t testing.TB, text string) Objects {
	t.Helper()
	var found Objects
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		object := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.UnmarshalStrict(document, &object.Object)
		}
		if err != nil {
			t.Fatalf("reading what Helm rendered: %v\n%s", err, document)
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

// Get is the object of a kind and name, which must be there.
func (o Objects) Get(t testing.TB, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range o {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	t.Fatalf("the chart renders no %s %s", kind, name)
	return nil
}
