package chart_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/sandbox/chart"
)

// What Helm made once must stay: certificates that change with an upgrade would part the manager from its client, and
// definitions that go with a release would take every slot along.
func TestAReleaseKeepsItsCertificatesAndLeavesItsDefinitions(t *testing.T) {
	c := newCluster(t)
	const home = "release"
	run := func(arguments ...string) {
		t.Helper()
		if _, err := chart.Helm(t, append(arguments, "--namespace="+home, "--kubeconfig="+c.cp.Kubeconfig())...); err != nil {
			t.Fatal(err)
		}
	}
	secrets := func() map[string]map[string][]byte {
		t.Helper()
		found := map[string]map[string][]byte{}
		for _, name := range []string{release + "-provider-tls", release + "-client-tls"} {
			secret, err := c.clients.CoreV1().Secrets(home).Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			found[name] = secret.Data
		}
		return found
	}
	run("install", release, chart.Dir(t), "--create-namespace")
	before := secrets()
	run("upgrade", release, chart.Dir(t), "--set=controllerManager.replicas=0")
	run("upgrade", release, chart.Dir(t), "--set=controllerManager.replicas=2")
	if diff := cmp.Diff(before, secrets()); diff != "" {
		t.Errorf("an upgrade changed certificates:\n%s", diff)
	}
	for _, name := range []string{"controller-manager", "cluster-autoscaler"} {
		if _, err := c.clients.AppsV1().Deployments(home).Get(t.Context(), release+"-"+name, metav1.GetOptions{}); err != nil {
			t.Error(err)
		}
	}
	run("uninstall", release, "--no-hooks") // no kubelet would run the hook's pod
	for _, plural := range []string{"groups", "nodes", "nodeclaims"} {
		if _, err := c.objects.Resource(definitions).Get(t.Context(), plural+".infra.homecluster.dev", metav1.GetOptions{}); err != nil {
			t.Errorf("crd.keep: %v", err)
		}
	}
}

// Notes are read once, by somebody who has just installed.
func TestTheNotesSayWhatWasForgotten(t *testing.T) {
	const forgotten = "homecluster.dev/power:"
	for name, test := range map[string]struct {
		values []string
		want   bool
	}{
		"images by their names":           {nil, false},
		"the manager's from a registry":   {[]string{"controllerManager.image.repository=registry.lan:5000/home/homelab-autoscaler"}, true},
		"both images from a registry":     {[]string{"controllerManager.image.repository=r.lan/a", "powerJobs.image.repository=r.lan/power"}, false},
		"a release that is staged so far": {[]string{"controllerManager.replicas=0"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			arguments := []string{"install", release, chart.Dir(t), "--namespace=" + namespace, "--dry-run=client"}
			for _, value := range test.values {
				arguments = append(arguments, "--set="+value)
			}
			text, err := chart.Helm(t, arguments...)
			if err != nil {
				t.Fatal(err)
			}
			_, notes, found := strings.Cut(text, "\nNOTES:\n")
			if !found || !strings.Contains(notes, "kubectl homelab status") {
				t.Fatalf("the notes are\n%s", notes)
			}
			if got := strings.Contains(notes, forgotten); got != test.want {
				t.Errorf("they tell of the image of the Jobs: %v, want %v\n%s", got, test.want, notes)
			}
		})
	}
}
