package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"homecluster.dev/autoscaler/sandbox/chart"
)

const (
	release   = chart.Release
	namespace = chart.Namespace
)

// renderAll renders the chart once for each of several values, in one run of Helm: as many parts of one umbrella chart,
// under other names, which is how some people install it. Where the name of a part would appear, the text has "part".
func renderAll(t testing.TB, values []map[string]any) []string {
	t.Helper()
	umbrella, parts := t.TempDir(), map[string]any{}
	if err := os.CopyFS(filepath.Join(umbrella, "charts", "homelab-autoscaler"), os.DirFS(chart.Dir(t))); err != nil {
		t.Fatal(err)
	}
	var dependencies []any
	alias := func(i int) string { return fmt.Sprintf("part%03d", i) }
	for i, v := range values {
		parts[alias(i)] = v
		dependencies = append(dependencies, map[string]any{"name": "homelab-autoscaler", "version": ">=0", "alias": alias(i)})
	}
	definition := dump(t, map[string]any{"apiVersion": "v2", "name": "umbrella", "version": "1.0.0", "dependencies": dependencies})
	if err := os.WriteFile(filepath.Join(umbrella, "Chart.yaml"), []byte(definition), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := chart.Helm(t, "template", release, umbrella, "--namespace="+namespace, "--values="+chart.ValuesFile(t, parts))
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
