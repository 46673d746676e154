package upgrade_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// newer puts a chart beside ours as a later release may be: its definitions have a field more in a slot's spec, in a
// claim's spec and in a claim's status.
func (h *home) newer(t *testing.T) {
	t.Helper()
	ours, err := filepath.EvalSymlinks(filepath.Join(h.dir, "charts", "homelab-autoscaler"))
	if err != nil {
		t.Fatal(err)
	}
	next := filepath.Join(h.dir, "next")
	if err := os.CopyFS(next, os.DirFS(ours)); err != nil {
		t.Fatal(err)
	}
	for file, fields := range map[string]map[string]string{
		"Chart.yaml": {"version: 0.2.": "version: 0.2.9"},
		"templates/crd/infra.homecluster.dev_nodes.yaml":      {"              watts:\n": "              volts: {type: integer}\n"},
		"templates/crd/infra.homecluster.dev_nodeclaims.yaml": {"              episode:\n": "              patience: {type: string}\n", "              attempt:\n": "              mood: {type: string}\n"},
	} {
		path := filepath.Join(next, file)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for at, field := range fields {
			before, after, there := strings.Cut(string(text), at)
			if !there {
				t.Fatalf("%s has no %q", file, at)
			}
			text = []byte(before + field + at + after)
			if file == "Chart.yaml" {
				text = []byte(before + field + after)
			}
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// Claims survive the way to a later release and back. What the earlier one does not know it leaves alone as long as the
// definitions know it.
func TestClaimsSurviveARollbackInsideTheRelease(t *testing.T) {
	h := newHome(t)
	h.newer(t)
	h.must(t, "helm install homelab-autoscaler charts/homelab-autoscaler -n "+namespace+" --create-namespace --set controllerManager.replicas=0")
	h.must(t, "kubectl wait --for=condition=Established crd/nodes.infra.homecluster.dev crd/nodeclaims.infra.homecluster.dev crd/groups.infra.homecluster.dev")
	h.must(t, "helm upgrade homelab-autoscaler next -n "+namespace+" --set controllerManager.replicas=0")
	var pool strings.Builder
	pool.WriteString("apiVersion: infra.homecluster.dev/v2alpha1\nkind: Group\nmetadata: {name: pool}\nspec: {engine: None}\n")
	for i := range 3 {
		fmt.Fprintf(&pool, `---
apiVersion: infra.homecluster.dev/v2alpha1
kind: Node
metadata: {name: m%[1]d, labels: {group: pool}}
spec: {kubernetesNodeName: m%[1]d, volts: 230, startupPodSpec: {image: a}, shutdownPodSpec: {image: b}}
---
apiVersion: infra.homecluster.dev/v2alpha1
kind: NodeClaim
metadata: {name: c%[1]d, labels: {group: pool, infra.homecluster.dev/node: m%[1]d}}
spec: {slotRef: {name: m%[1]d}, patience: much, request: {call: Create, group: pool}}
`, i)
	}
	if err := os.WriteFile(filepath.Join(h.dir, "pool.yaml"), []byte(pool.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	h.must(t, "kubectl apply --validate=strict -n "+namespace+" -f pool.yaml")
	h.must(t, "for c in c0 c1 c2; do kubectl patch nodeclaim $c -n "+namespace+
		` --subresource=status --type=merge -p '{"status":{"phase":"ready","attempt":1,"mood":"good"}}'; done`)
	const claims = "kubectl get nodeclaim -n " + namespace +
		` -o jsonpath='{range .items[*]}{.metadata.name} {.status.phase} {.metadata.finalizers} {.spec.patience} {.status.mood}{"\n"}{end}'`
	const volts = "kubectl get nodes.infra.homecluster.dev -n " + namespace + " -o jsonpath='{.items[*].spec.volts}'"
	want := func(format string) (lines string) {
		for i := range 3 {
			lines += fmt.Sprintf(format, i) + "\n"
		}
		return lines
	}

	h.works(t)
	if got := h.must(t, claims); got != want(`c%d ready ["infra.homecluster.dev/nodeclaim-finalizer"] much good`) {
		t.Errorf("under newer definitions the manager leaves\n%s", got)
	}
	if got := h.must(t, volts); got != "230 230 230" {
		t.Errorf("under newer definitions the manager leaves the volts at %q", got)
	}
	h.must(t, "helm rollback homelab-autoscaler -n "+namespace)
	h.works(t)
	if got := h.must(t, claims); got != want(`c%d ready ["infra.homecluster.dev/nodeclaim-finalizer"]  `) {
		t.Errorf("after the rollback there are\n%s", got)
	}
	if report := h.report(t); report.Verdict != "ready" {
		t.Errorf("after the rollback preflight says %+v", report.Findings)
	}
}
