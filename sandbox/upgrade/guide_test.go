package upgrade_test

import (
	"context"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/manager"
)

// guide is the page with its parts, by heading.
type guide struct {
	t     *testing.T
	parts map[string]string
	order []string
}

func readGuide(t *testing.T, name string) guide {
	t.Helper()
	page, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	g := guide{t: t, parts: map[string]string{}}
	heading, fenced := "", false
	for line := range strings.Lines(string(page)) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if !fenced && strings.HasPrefix(line, "#") {
			heading = strings.TrimSpace(strings.TrimLeft(line, "#"))
			g.order = append(g.order, heading)
		}
		g.parts[heading] += line
	}
	return g
}

// blocks are the fenced blocks of a kind under a heading.
func (g guide) blocks(heading, kind string) []string {
	g.t.Helper()
	part, known := g.parts[heading]
	if !known {
		g.t.Fatalf("the guide has no part %q", heading)
	}
	var found []string
	for _, text := range strings.Split(part, "```"+kind+"\n")[1:] {
		block, _, _ := strings.Cut(text, "```")
		found = append(found, strings.TrimSpace(block))
	}
	if len(found) == 0 {
		g.t.Fatalf("the guide's part %q has no block of %s", heading, kind)
	}
	return found
}

// steps are the numbered parts.
func (g guide) steps() []string {
	return slices.DeleteFunc(slices.Clone(g.order), func(h string) bool { return h == "" || h[0] < '0' || h[0] > '9' })
}

// preflights is what the guide's calls of preflight must answer, one after the other.
type preflights []int

// run runs the blocks of a step.
func (h *home) run(t *testing.T, g guide, step string, p *preflights) string {
	t.Helper()
	all := ""
	for _, block := range g.blocks(step, "sh") {
		before, found := strings.CutSuffix(block, "homelab-autoscaler preflight")
		if strings.TrimSpace(before) != "" {
			all += h.must(t, before)
		}
		if found {
			out, code := h.sh(t, "homelab-autoscaler preflight")
			if all += out; code != (*p)[0] {
				t.Fatalf("step %q: preflight exits with %d, want %d", step, code, (*p)[0])
			}
			*p = (*p)[1:]
		}
	}
	return all
}

func TestTheGuideWorksAsItIsPrinted(t *testing.T) {
	g, h := readGuide(t, "upgrade.md"), newHome(t)
	h.installOld(t)
	steps, codes := g.steps(), preflights{3, 0}
	if len(steps) != 8 {
		t.Fatalf("the guide has the steps %q", steps)
	}
	for i, step := range steps {
		if i == 4 {
			// Without this step the next is refused, as the guide quotes it.
			h.refused(t, g.blocks(steps[5], "sh")[0][:strings.Index(g.blocks(steps[5], "sh")[0], "\n")], g.blocks(step, "text")[0])
		}
		out := h.run(t, g, step, &codes)
		switch i {
		case 1:
			if !strings.Contains(strings.Join(strings.Fields(out), " "), "worker-01 on on ready worker-02 off <none> <none>") {
				t.Errorf("the slots in use are not shown:\n%s", out)
			}
		case 2:
			if !strings.Contains(out, "worker-01: dropped spec.powerState: on") || !strings.Contains(out, "3 objects of v1alpha1 rewritten") {
				t.Errorf("it is not said what was dropped:\n%s", out)
			}
		case 5:
			if strings.Count(out, "[v2alpha1]") != 3 || !strings.Contains(out, "ready: nothing stands in the way") {
				t.Errorf("the definitions are not replaced:\n%s", out)
			}
			if now := h.must(t, "kubectl get nodes.infra.homecluster.dev,groups.infra.homecluster.dev -A -o name"); strings.Contains(now, "/") {
				t.Errorf("there are objects left: %s", now)
			}
		}
	}
	if len(codes) > 0 {
		t.Errorf("preflight was not asked %d times", len(codes))
	}
	raw := h.must(t, "kubectl get nodes.infra.homecluster.dev -n "+namespace+" -o yaml")
	if strings.Contains(raw, "powerState") || strings.Contains(raw, "v1alpha1") || strings.Count(raw, "kind: Node\n") != 2 {
		t.Errorf("the slots are\n%s", raw)
	}
	h.works(t)
}

// works starts a manager on what the upgrade has left, and waits until it has looked at the slots.
func (h *home) works(t *testing.T) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	m, err := manager.New(h.cp.Config(), config.Config{Namespace: namespace, GRPCAddress: "127.0.0.1:0", GRPC: config.GRPC{Insecure: true},
		MetricsAddress: config.Off, ProbeAddress: "127.0.0.1:0", StartTimeout: time.Minute}, manager.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	err = wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.ProbeAddress()+"/readyz", nil)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // the port is not open yet
		}
		_ = response.Body.Close()
		var slots v2.NodeList
		if err := h.client.List(ctx, &slots, client.InNamespace(namespace)); err != nil {
			return false, err
		}
		seen := !slices.ContainsFunc(slots.Items, func(slot v2.Node) bool { return slot.Status.Phase == "" })
		return response.StatusCode == http.StatusOK && seen, nil
	})
	if err != nil {
		t.Errorf("the manager does not work: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// The longer way: both versions are served until the objects are gone.
func TestTheOtherWayKeepsTheObjectsReadable(t *testing.T) {
	g, h := readGuide(t, "upgrade.md"), newHome(t)
	h.installOld(t)
	steps := g.steps()
	out := ""
	for _, block := range g.blocks("Another way: with the objects readable until the end", "sh") {
		out += h.must(t, block)
	}
	if !strings.Contains(out, "worker-01") || !strings.Contains(out, "3 objects of v1alpha1 rewritten") {
		t.Errorf("the objects are not readable:\n%s", out)
	}
	const stored = "kubectl get crd nodes.infra.homecluster.dev -o jsonpath='{.status.storedVersions}'"
	if got := h.must(t, stored); got != `["v1alpha1","v2alpha1"]` {
		t.Errorf("stored versions are %s", got)
	}
	codes := preflights{0}
	h.run(t, g, steps[3], &codes)
	h.refused(t, "helm upgrade homelab-autoscaler charts/homelab-autoscaler -n "+namespace+" --reset-values --set controllerManager.replicas=0",
		g.blocks(steps[4], "text")[0])
	for _, step := range steps[4:] {
		h.run(t, g, step, &codes)
	}
	h.works(t)
}
