package upgrade_test

import (
	"strings"
	"testing"

	"homecluster.dev/autoscaler/internal/preflight"
)

// found is whether a check found something that blocks.
func found(report preflight.Report, check string) bool {
	for _, finding := range report.Findings {
		if finding.Check == check && finding.Severity == preflight.Blocks {
			return true
		}
	}
	return false
}

// mend runs, from top to bottom, what preflight says.
func (h *home) mend(t *testing.T, report preflight.Report) {
	t.Helper()
	for _, finding := range report.Findings {
		if finding.Severity != preflight.Blocks {
			continue
		}
		for _, command := range finding.Do {
			h.must(t, command)
		}
	}
}

// Whoever does what preflight says, and nothing else, comes to an upgrade that Helm and the API server take.
func TestWhatPreflightSaysIsEnough(t *testing.T) {
	h := newHome(t)
	h.installOld(t, "selectorSuffix=-old")
	h.must(t, `kubectl patch nodes.infra.homecluster.dev worker-02 -n `+namespace+` --type=merge -p '{"metadata":{"finalizers":["infra.homecluster.dev/node"]}}'`)
	report := h.report(t)
	for _, check := range []string{"autoscaler", "old-operator", "deployments", "old-objects", "stored-versions"} {
		if !found(report, check) {
			t.Errorf("%s finds nothing", check)
		}
	}
	h.mend(t, report)
	if report = h.report(t); report.Verdict != preflight.Ready {
		t.Fatalf("still: %+v", report.Findings)
	}
	h.must(t, "helm upgrade homelab-autoscaler charts/homelab-autoscaler --reset-values -n "+namespace)
	h.must(t, "cat *.v2alpha1.yaml >/dev/null; for f in *.v2alpha1.yaml; do kubectl apply -f $f; done")
	if report = h.report(t); report.Verdict != preflight.Ready || report.Installed != "0.2" {
		t.Errorf("after the upgrade: %+v", report)
	}
	h.works(t)

	nobody := `KUBECONFIG=nobody.kubeconfig homelab-autoscaler preflight`
	h.kubeconfigOf(t, "nobody", "nobody.kubeconfig")
	if out, code := h.sh(t, nobody); code != 1 || !strings.Contains(out, "NOT READ deployments: ") || !strings.Contains(out, "unknown: ") {
		t.Errorf("somebody without rights is told, with code %d:\n%s", code, out)
	}
}

func (h *home) kubeconfigOf(t *testing.T, user, file string) {
	t.Helper()
	config, err := h.cp.UserConfig(user)
	if err == nil {
		err = h.cp.WriteKubeconfig(h.dir+"/"+file, config)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// upgradeKeeping goes to the definitions of 0.2 with objects that were written under v1alpha1.
func (h *home) upgradeKeeping(t *testing.T) {
	t.Helper()
	h.installOld(t)
	h.must(t, "helm uninstall homelab-autoscaler -n "+namespace)
	h.must(t, "homelab-autoscaler merged-crds | kubectl apply --server-side --force-conflicts -f -")
}

// Objects that are stored anew as v2alpha1, and so can be read, still remember v1alpha1 in their managedFields.
func TestStaleManagedFieldsAreRecognisedAndCleared(t *testing.T) {
	g, h := readGuide(t, "upgrade.md"), newHome(t)
	const heading = "A write is refused because of managedFields"
	h.upgradeKeeping(t)
	h.must(t, "kubectl label nodes.v2alpha1.infra.homecluster.dev,groups.v2alpha1.infra.homecluster.dev -n "+namespace+" --all migrated=yes")
	h.must(t, preflight.StoredVersionsPatch("nodes"))
	h.must(t, preflight.StoredVersionsPatch("groups"))
	h.must(t, "kubectl apply --server-side --force-conflicts -f config/crd/bases")
	h.must(t, "kubectl get nodes.infra.homecluster.dev worker-01 -n "+namespace)
	const write = "kubectl apply --server-side -n " + namespace + " -f - <<<'{apiVersion: infra.homecluster.dev/v2alpha1, kind: Node, " +
		"metadata: {name: worker-01, labels: {written: \"yes\"}}}'"
	h.refused(t, write, g.blocks(heading, "text")[0])
	report := h.report(t)
	if !found(report, "managed-fields") {
		t.Errorf("preflight does not say so: %+v", report.Findings)
	}
	h.must(t, g.blocks(heading, "sh")[0])
	h.must(t, write)
	h.mend(t, h.report(t))
	if report = h.report(t); report.Verdict != preflight.Ready {
		t.Errorf("still: %+v", report.Findings)
	}
	h.works(t)
}

// Who patches the list without having deleted the objects has objects that nobody can read.
func TestObjectsThatNobodyCanReadAreRecognisedAndRecovered(t *testing.T) {
	g, h := readGuide(t, "upgrade.md"), newHome(t)
	h.upgradeKeeping(t)
	h.must(t, preflight.StoredVersionsPatch("nodes"))
	h.must(t, preflight.StoredVersionsPatch("groups"))
	h.must(t, "kubectl apply --server-side --force-conflicts -f config/crd/bases")
	h.refused(t, "kubectl get nodes.infra.homecluster.dev -A", "")
	report := h.report(t)
	if !found(report, "unreadable") {
		t.Fatalf("preflight does not say so: %+v", report.Findings)
	}
	for _, block := range g.blocks("Objects that nobody can read", "sh") {
		h.must(t, block)
	}
	h.mend(t, h.report(t)) // the groups
	if report = h.report(t); report.Verdict != preflight.Ready {
		t.Fatalf("still: %+v", report.Findings)
	}
	if got := h.must(t, "kubectl get crd nodes.infra.homecluster.dev -o jsonpath='{.status.storedVersions}'"); got != `["v2alpha1"]` {
		t.Errorf("stored versions are %s", got)
	}
	h.must(t, "kubectl apply -f groups.v2alpha1.yaml -f nodes.v2alpha1.yaml")
	h.works(t)
}
