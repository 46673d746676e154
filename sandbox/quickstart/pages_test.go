package quickstart_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"homecluster.dev/autoscaler/hack/docs"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// Blocks of a shell that are not run here carry one of these words after "sh", which readers do not see.
var excuses = map[string]string{
	"host":      "it is typed on a host of a cluster, or needs a program of one",
	"elsewhere": "it is the command of tests that run anyway",
}

// TestFirstPages runs each page on a cluster that the pages before it left tidy.
func TestFirstPages(t *testing.T) {
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	c := newCluster(t, root)
	for _, page := range []struct {
		file string
		// run and excused are how many blocks of a shell there are, so that one that is lost or excused is noticed.
		run, excused int
	}{
		{"README.md", 0, 1},
		{"docs/quickstart.md", 7, 1},
		{"docs/install.md", 2, 3},
	} {
		t.Run(page.file, func(t *testing.T) {
			read, err := docs.Read(filepath.Join(root, page.file))
			if err != nil {
				t.Fatal(err)
			}
			run, excused := c.follow(t, read)
			c.tidy(t)
			if run != page.run || excused != page.excused {
				t.Errorf("%d blocks were run and %d are excused, want %d and %d", run, excused, page.run, page.excused)
			}
		})
	}
}

// follow does what a page says, and answers how many of its blocks were run, and how many have an excuse.
func (c *cluster) follow(t *testing.T, page *docs.Page) (run, excused int) {
	t.Helper()
	for _, block := range page.Blocks {
		language, after, _ := strings.Cut(block.Info, " ")
		switch {
		case language == "yaml" && strings.HasSuffix(after, ".yaml"):
			c.write(t, after, block.Text)
		case language != "sh":
		case after != "":
			if excuses[after] == "" {
				t.Errorf("%s:%d: %q is no reason not to run a block", page.File, block.Line, after)
			}
			excused++
		default:
			c.before(t, block.Text)
			c.shell(t, block.Text)
			c.after(t)
			run++
		}
		if t.Failed() {
			t.Fatalf("stopped at %s:%d", page.File, block.Line)
		}
	}
	return run, excused
}

// tidy takes away what a page leaves, as a person does: slots first, so that their machines go off. No pod runs here to be
// the chart's hook, which sandbox/uninstall plays.
func (c *cluster) tidy(t *testing.T) {
	t.Helper()
	if _, err := c.deployment(t.Context()); err == nil {
		c.shell(t, "kubectl --namespace="+namespace+" delete slot,hlgroup --all\nhelm uninstall --no-hooks homelab-autoscaler --namespace="+namespace)
	}
	c.shell(t, "kubectl delete namespace --ignore-not-found "+namespace)
	c.after(t)
}

// write saves a file that a page shows. A machine that it describes gets the switch of the simulated one.
func (c *cluster) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(c.wired(t, text)), 0o600); err != nil {
		t.Fatal(err)
	}
}
