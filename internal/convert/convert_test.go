package convert

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what comes of testdata/*.in.yaml into testdata")

func TestManifestsAreConvertedWithTheirComments(t *testing.T) {
	files, err := filepath.Glob("testdata/*.in.yaml")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(file, ".in.yaml")
		t.Run(filepath.Base(name), func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			result, err := Manifests(bytes.NewReader(in))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".out.yaml", string(result.YAML))
			golden(t, name+".notes.txt", lines(result.Notes))
			again, err := Manifests(bytes.NewReader(in))
			if err != nil || !bytes.Equal(again.YAML, result.YAML) || lines(again.Notes) != lines(result.Notes) {
				t.Error("the second time it is different")
			}
			stable, err := Manifests(bytes.NewReader(result.YAML))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(result.YAML), string(stable.YAML)); diff != "" {
				t.Errorf("what was converted is not left alone:\n%s", diff)
			}
		})
	}
}

func lines(notes []Note) string {
	var out strings.Builder
	for _, note := range notes {
		out.WriteString(note.String() + "\n")
	}
	return out.String()
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

func TestWhatIsNoManifestIsRefused(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"no YAML":           {"a: [", "reading document 1: yaml: line 1: did not find expected node content"},
		"no object":         {"kind: Group\n---\n- a list\n", "converting document 2: line 3: it is no object"},
		"a list of nothing": {"kind: List\napiVersion: v1\nitems: none\n", "converting document 1: line 3: the items of a list are none"},
		"a merge":           {"a: &a {b: c}\nd:\n  <<: *a\n", "converting document 1: line 3: the merge key << is not understood: write out what it merges"},
		"a billion lol":     {laughs(), "converting document 1: line 1: its aliases make it too large"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Manifests(strings.NewReader(test.in))
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v and %q, want %s", err, result.YAML, test.want)
			}
		})
	}
}

// laughs is a small document that is large without its aliases.
func laughs() string {
	var out strings.Builder
	out.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for _, c := range "12345678" {
		previous := string(c - 1)
		out.WriteString("a" + string(c) + ": &a" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*a"+previous+", ", 10), ", ") + "]\n")
	}
	return out.String()
}

func TestNothingComesOfNothing(t *testing.T) {
	for _, in := range []string{"", "---\n", "null\n"} {
		result, err := Manifests(strings.NewReader(in))
		if err != nil || len(result.YAML) > 0 || result.Converted != 0 || result.Faulty() {
			t.Errorf("of %q comes %q, %v", in, result.YAML, err)
		}
	}
}

func TestNoCommentIsLostThatStandsAlone(t *testing.T) {
	for name, test := range map[string]struct{ in, want string }{
		"in a file of its own":  {"# nothing here yet\n", "# nothing here yet\n"},
		"before the first":      {"# ours\n---\n# the pool\n---\nkind: A\n", "# ours\n# the pool\n\nkind: A\n"},
		"between two":           {"kind: A\n---\n# the pool\n# at home\n---\nkind: B\n", "kind: A\n---\n# the pool\n# at home\n\nkind: B\n"},
		"behind a list":         {"kind: List\nitems: [{kind: A}]\n---\n---\n# the end\n", "kind: A\n\n# the end\n"},
		"behind the last":       {"kind: A\n---\n# the end\n", "kind: A\n\n# the end\n"},
		"where nothing else is": {"---\n# a\n---\n# b\n---\n# c\n", "---\n# a\n---\n# b\n---\n# c\n"},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Manifests(strings.NewReader(test.in))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, string(result.YAML)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestListsAreTakenApartWhereTheyAreLists(t *testing.T) {
	for name, test := range map[string]struct {
		in, want  string
		converted int
	}{
		"items that leave out what their list says": {
			"apiVersion: infra.homecluster.dev/v1alpha1\nkind: GroupList\nitems:\n- metadata:\n    name: a\n",
			"apiVersion: infra.homecluster.dev/v2alpha1\nkind: Group\nmetadata:\n  name: a\n", 1},
		"an object of another kind that is called a list": {
			"apiVersion: net.example.com/v1\nkind: AllowList\nmetadata:\n  name: a\nitems:\n  - from: b\n",
			"apiVersion: net.example.com/v1\nkind: AllowList\nmetadata:\n  name: a\nitems:\n  - from: b\n", 0},
		"a list that is empty": {"apiVersion: v1\nkind: List\nitems: null\n", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			result, err := Manifests(strings.NewReader(test.in))
			if err != nil || result.Converted != test.converted {
				t.Errorf("%d converted, %v", result.Converted, err)
			}
			if diff := cmp.Diff(test.want, string(result.YAML)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWhatTheAPIServerTakesForNoStringIsQuotedInMetadata(t *testing.T) {
	const in = "apiVersion: infra.homecluster.dev/v1alpha1\nkind: Group\nmetadata:\n  name: on\n  labels:\n    group: 1\n    rack: a\n" +
		"  annotations:\n    infra.homecluster.dev/hold: true\n"
	const want = "apiVersion: infra.homecluster.dev/v2alpha1\nkind: Group\nmetadata:\n  name: \"on\"\n  labels:\n    group: \"1\"\n    rack: a\n" +
		"  annotations:\n    infra.homecluster.dev/hold: \"true\"\n"
	result, err := Manifests(strings.NewReader(in))
	if err != nil || result.Faulty() || len(result.Notes) != 3 {
		t.Errorf("%v, %v", result.Notes, err)
	}
	if diff := cmp.Diff(want, string(result.YAML)); diff != "" {
		t.Error(diff)
	}
}
