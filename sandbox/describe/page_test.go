package describe_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// file is the page that shows what kubectl prints.
const file = "../../docs/troubleshooting.md"

// page is the documentation, whose blocks after a command are held to what that command prints.
type page struct {
	t    *testing.T
	text string
}

func readPage(t *testing.T) *page {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return &page{t: t, text: string(text)}
}

// holds compares the block below the command with the command's output now, or takes it over.
func (p *page) holds(h home, kind, name string) {
	p.t.Helper()
	command := "$ kubectl describe " + strings.ToLower(kind) + "." + v2.GroupVersion.Group + " " + h.tidy(name) + "\n"
	_, after, found := strings.Cut(p.text, "```text\n"+command)
	shown, _, closed := strings.Cut(after, "```")
	if !found || !closed {
		p.t.Fatalf("%s has no block that begins with %q", file, command)
	}
	prints := h.tidy(h.describe(kind, name))
	if *rewrite {
		p.text = strings.Replace(p.text, command+shown, command+prints, 1)
		return
	}
	if diff := cmp.Diff(shown, prints); diff != "" {
		p.t.Errorf("%s shows what kubectl does not print; run the test with -rewrite and read the diff (-page +kubectl):\n%s", file, diff)
	}
}

// done writes the page, if it was to be rewritten.
func (p *page) done() {
	p.t.Helper()
	if !*rewrite {
		return
	}
	if err := os.WriteFile(file, []byte(p.text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

var (
	uid      = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	created  = regexp.MustCompile(`(Creation Timestamp: +)\S+`)
	revision = regexp.MustCompile(`(Resource Version: +)\d+`)
	podSpec  = regexp.MustCompile(`(?m)^(  (?:Startup|Shutdown) Pod Spec:)\n(?:    .*\n)+`)
	columns  = regexp.MustCompile(`(?m)[ \t]+$`)
)

// tidy puts fixed values where each run has its own, the names that a person would have chosen, and leaves out how the
// simulated machine is switched. The times of the story are the clock's, and stay.
func (h home) tidy(text string) string {
	text = strings.ReplaceAll(text, h.Machine, "worker-01")
	text = strings.ReplaceAll(text, h.Namespace, "homelab-autoscaler-system")
	text = uid.ReplaceAllString(text, "7b1e4c52-9d0f-4f6e-8a53-2c6d1f0e9ab4")
	text = created.ReplaceAllString(text, "${1}2025-03-04T10:00:00Z")
	text = revision.ReplaceAllString(text, "${1}4711")
	text = podSpec.ReplaceAllString(text, "$1\n    ...\n")
	return columns.ReplaceAllString(text, "")
}
