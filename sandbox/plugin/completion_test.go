package plugin_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/hack/docs"
	"homecluster.dev/autoscaler/internal/plugin"
	"homecluster.dev/autoscaler/sandbox/controlplane"
	"homecluster.dev/autoscaler/sandbox/house"
)

// TestKubectlCompletesThePlugin does what the page says, and asks kubectl as a shell does.
func TestKubectlCompletesThePlugin(t *testing.T) {
	home := house.New(t).Home(t, house.Options{})
	root, err := controlplane.RepositoryRoot()
	if err != nil {
		t.Fatal(err)
	}
	page, err := docs.Read(filepath.Join(root, "docs/kubectl-homelab.md"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(page.Blocks, func(b docs.Block) bool { return strings.Contains(b.Text, "kubectl_complete-homelab") })
	if at < 0 {
		t.Fatal("the page does not say how kubectl completes the plugin")
	}
	person := t.TempDir()
	bin := filepath.Join(person, ".local/bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	call(t, root, nil, "go", "build", "-o", filepath.Join(bin, "kubectl-homelab"), "./cmd/kubectl-homelab")
	call(t, filepath.Join(root, "sandbox"), nil, "go", "build", "-o", filepath.Join(bin, "kubectl"), "./cmd/kubectl")
	environment := []string{"HOME=" + person, "PATH=" + bin + ":/usr/bin:/bin", "KUBECONFIG=" + home.ControlPlane.Kubeconfig()}
	call(t, person, environment, "sh", "-c", page.Blocks[at].Text)
	out := call(t, person, environment, filepath.Join(bin, "kubectl"), "__complete", "homelab", "-n", home.Namespace, "down", "")
	if !strings.Contains(out, home.Machine) {
		t.Errorf("kubectl offers\n%s", out)
	}
}

// TestCompletionOffersSlots asks as a shell does that completes a command line.
func TestCompletionOffersSlots(t *testing.T) {
	home := house.New(t).Home(t, house.Options{})
	s := shell{t, home}
	for name, tt := range map[string]struct {
		args []string
		want []string
	}{
		"the slot of a command that wants one": {[]string{"down", ""}, []string{home.Machine, ":4"}},
		"the slot of a story":                  {[]string{"why", ""}, []string{home.Machine, ":4"}},
		"no second slot":                       {[]string{"hold", home.Machine, ""}, []string{":4"}},
		"commands":                             {[]string{"h"}, []string{"help", "history", "hold", ":4"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := s.tryBefore(append([]string{"__complete"}, tt.args[:len(tt.args)-1]...), tt.args[len(tt.args)-1])
			var offered []string
			for line := range strings.Lines(out) {
				if word, _, _ := strings.Cut(strings.TrimSpace(line), "\t"); word != "" && !strings.HasPrefix(word, "Completion ended") {
					offered = append(offered, word)
				}
			}
			if diff := cmp.Diff(tt.want, offered); diff != "" || err != nil {
				t.Errorf("offered (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

// tryBefore is try for a command whose last word comes after the flags.
func (s shell) tryBefore(args []string, last string) (string, error) {
	var out bytes.Buffer
	command := plugin.New(strings.NewReader(""), &out, io.Discard)
	command.SetArgs(append(args, "--kubeconfig", s.home.ControlPlane.Kubeconfig(), "-n", s.home.Namespace, last))
	err := command.ExecuteContext(s.t.Context())
	return out.String(), err
}
