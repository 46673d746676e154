package chart_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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
	release   = "homelab-autoscaler"
	namespace = "homelab-autoscaler-system"
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

// chartDir is the folder of the chart.
func chartDir(t testing.TB) string {
	t.Helper()
	dir, err := root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "charts", "homelab-autoscaler")
}

// helm runs Helm with a home of its own and answers its standard output; the error has what it complained of.
func helm(t testing.TB, arguments ...string) (string, error) {
	t.Helper()
	binary, err := helmBinary()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	command := exec.CommandContext(t.Context(), binary, arguments...)
	command.Env = append(os.Environ(), "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home)
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("helm %s: %w%s", strings.Join(arguments, " "), err, stderr(err))
	}
	return string(out), err
}

// template renders the chart with some values over its defaults.
func template(t testing.TB, values map[string]any, more ...string) (string, error) {
	t.Helper()
	arguments := append([]string{"template", release, chartDir(t), "--namespace=" + namespace, "--values=" + valuesFile(t, values)}, more...)
	return helm(t, arguments...)
}

func valuesFile(t testing.TB, values map[string]any) string {
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

// render is template for values that must do.
func render(t testing.TB, values map[string]any, more ...string) objects {
	t.Helper()
	text, err := template(t, values, more...)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
}

// renderAll renders the chart once for each of several values, in one run of Helm: as many parts of one umbrella chart,
// under other names, which is how some people install it. Where the name of a part would appear, the text has "part".
func renderAll(t testing.TB, values []map[string]any) []string {
	t.Helper()
	umbrella, parts := t.TempDir(), map[string]any{}
	if err := os.CopyFS(filepath.Join(umbrella, "charts", "homelab-autoscaler"), os.DirFS(chartDir(t))); err != nil {
		t.Fatal(err)
	}
	var dependencies []any
	alias := func(i int) string { return fmt.Sprintf("part%03d", i) }
	for i, v := range values {
		parts[alias(i)] = v
		dependencies = append(dependencies, map[string]any{"name": "homelab-autoscaler", "version": ">=0", "alias": alias(i)})
	}
	chart := dump(t, map[string]any{"apiVersion": "v2", "name": "umbrella", "version": "1.0.0", "dependencies": dependencies})
	if err := os.WriteFile(filepath.Join(umbrella, "Chart.yaml"), []byte(chart), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := helm(t, "template", release, umbrella, "--namespace="+namespace, "--values="+valuesFile(t, parts))
	if err != nil {
		t.Fatal(err)
	}
	rendered := make([]string, len(values))
	for document := range strings.SplitSeq(text, "\n---\n") {
		_, source, found := strings.Cut(document, "# Source: umbrella/charts/part")
		if !found {
			t.Fatalf("Helm renders something of its own:\n%s", document)
		}
		i, err := strconv.Atoi(source[:3])
		if err != nil {
			t.Fatal(err)
		}
		rendered[i] += "---\n" + strings.ReplaceAll(document, alias(i), "part") + "\n"
	}
	return rendered
}

// objects are rendered manifests, in the order in which Helm applies them.
type objects []*unstructured.Unstructured

func parse(t testing.TB, text string) objects {
	t.Helper()
	var found objects
	documents := utilyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return found
		}
		object := &unstructured.Unstructured{}
		if err == nil {
			err = yaml.UnmarshalStrict(document, &object.Object) // no key twice
		}
		if err != nil {
			t.Fatalf("reading what Helm rendered: %v\n%s", err, document)
		}
		if len(object.Object) > 0 {
			found = append(found, object)
		}
	}
}

// get is the object of a kind and name, which must be there.
func (o objects) get(t testing.TB, kind, name string) *unstructured.Unstructured {
	t.Helper()
	for _, object := range o {
		if object.GetKind() == kind && object.GetName() == name {
			return object
		}
	}
	t.Fatalf("the chart renders no %s %s", kind, name)
	return nil
}

// set puts values at dotted paths.
func set(values map[string]any, paths map[string]any) map[string]any {
	for path, value := range paths {
		steps := strings.Split(path, ".")
		at := values
		for _, step := range steps[:len(steps)-1] {
			next, ok := at[step].(map[string]any)
			if !ok {
				next = map[string]any{}
				at[step] = next
			}
			at = next
		}
		at[steps[len(steps)-1]] = value
	}
	return values
}
