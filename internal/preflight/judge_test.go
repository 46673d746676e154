package preflight

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/internal/schema"
)

var rewrite = flag.Bool("rewrite", false, "write the report of a cluster with 0.1 into testdata")

// change makes a snapshot another.
type change func(*testing.T, *Snapshot)

// snapshot is a cluster in which nothing of ours is installed, with changes.
func snapshot(t *testing.T, changes ...change) *Snapshot {
	t.Helper()
	ours, err := schema.Ours()
	if err != nil {
		t.Fatal(err)
	}
	s := &Snapshot{Namespace: "homelab-autoscaler-system", Kubernetes: "v1.37.2", Major: 1, Minor: 37, Ours: ours, Served: map[string]bool{},
		Definitions: map[string]*apiextensionsv1.CustomResourceDefinition{}}
	for _, resource := range needed {
		s.Served[resource] = true
	}
	for _, c := range changes {
		c(t, s)
	}
	return s
}

// old is what 0.1 installed: two definitions of v1alpha1 that belong to Helm, and the objects given.
func old(objects ...string) change {
	return func(t *testing.T, s *Snapshot) {
		for _, plural := range []string{"nodes", "groups"} {
			s.Definitions[plural] = defined(plural, apiextensionsv1.CustomResourceDefinitionVersion{Name: Old, Served: true, Storage: true})
			s.Definitions[plural].Status.StoredVersions = []string{Old}
		}
		put(t, s, objects)
	}
}

// current is what 0.2 installs.
func current(objects ...string) change {
	return func(t *testing.T, s *Snapshot) {
		for _, kind := range s.Ours {
			text, err := json.Marshal(kind.Schema)
			version := apiextensionsv1.CustomResourceDefinitionVersion{Name: New, Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{}}
			if err == nil {
				err = json.Unmarshal(text, &version.Schema.OpenAPIV3Schema)
			}
			if err != nil {
				t.Fatal(err)
			}
			s.Definitions[kind.Plural] = defined(kind.Plural, version)
			s.Definitions[kind.Plural].Status.StoredVersions = []string{New}
		}
		put(t, s, objects)
	}
}

func defined(plural string, versions ...apiextensionsv1.CustomResourceDefinitionVersion) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: crd(plural), Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm"}},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Versions: versions},
	}
}

func put(t *testing.T, s *Snapshot, objects []string) {
	t.Helper()
	for _, object := range objects {
		var u unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(object), &u.Object); err != nil {
			t.Fatal(err)
		}
		if u.GetNamespace() == "" {
			u.SetNamespace(s.Namespace)
		}
		if u.GetKind() == "Group" {
			s.Groups = append(s.Groups, u)
		} else {
			s.Slots = append(s.Slots, u)
		}
	}
}

func deployed(name, image string, replicas int32, args ...string) change {
	return func(_ *testing.T, s *Snapshot) {
		d := appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}, Spec: appsv1.DeploymentSpec{Replicas: ptr.To(replicas)}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: image, Args: args}}
		s.Deployments = append(s.Deployments, d)
	}
}

func kubeNodes(names ...string) change {
	return func(_ *testing.T, s *Snapshot) {
		for _, name := range names {
			name, id, _ := strings.Cut(name, "=")
			s.KubeNodes = append(s.KubeNodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: id}})
		}
	}
}

func with(f func(*Snapshot)) change { return func(_ *testing.T, s *Snapshot) { f(s) } }

const (
	offSlot   = `{kind: Node, metadata: {name: worker-01, labels: {group: worker-nodes}}, spec: {kubernetesNodeName: worker-01}}`
	onSlot    = `{kind: Node, metadata: {name: worker-02, labels: {group: worker-nodes}}, spec: {kubernetesNodeName: worker-02, powerState: "on"}, status: {powerState: "on", progress: ready}}`
	stuckSlot = `{kind: Node, metadata: {name: worker-03, finalizers: [infra.homecluster.dev/x]}, spec: {kubernetesNodeName: worker-03}}`
	group     = `{kind: Group, metadata: {name: worker-nodes}}`
)

func TestWhatStandsInTheWayIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		changes []change
		verdict Verdict
		want    []string
	}{
		"nothing is installed": {nil, Ready, nil},
		"all of 0.2 as it should be": {[]change{current(offSlot, group), kubeNodes("cp", "worker-01=homelab://worker-01"),
			deployed("homelab-autoscaler-cluster-autoscaler", "x", 1), deployed("homelab-autoscaler-controller-manager", "h/homelab-autoscaler:0.2.3", 1)}, Ready, nil},
		"an old Kubernetes": {[]change{with(func(s *Snapshot) { s.Kubernetes, s.Minor = "v1.29.3", 29 })}, Blocked, []string{"blocks kubernetes v1.29.3"}},
		"an API that is switched off": {[]change{with(func(s *Snapshot) { delete(s.Served, "batch/v1/jobs") })}, Blocked,
			[]string{"blocks kubernetes batch/v1/jobs"}},
		"a cluster-autoscaler of ours, before the upgrade": {[]change{old(), deployed("homelab-autoscaler-cluster-autoscaler", "x", 1)}, Blocked, []string{
			"blocks autoscaler Deployment homelab-autoscaler-system/homelab-autoscaler-cluster-autoscaler",
			"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"a cluster-autoscaler by another name": {[]change{old(), deployed("ca", "x", 1, "--cloud-provider=externalgrpc")}, Blocked, []string{
			"blocks autoscaler Deployment homelab-autoscaler-system/ca",
			"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"one that is stopped": {[]change{old(), deployed("homelab-autoscaler-cluster-autoscaler", "x", 0)}, Blocked, []string{
			"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"an operator of 0.1 beside definitions of 0.2": {[]change{current(), deployed("homelab-autoscaler-controller-manager", "r:5000/homelab-autoscaler:v0.1.22", 1)},
			Blocked, []string{"blocks old-operator Deployment homelab-autoscaler-system/homelab-autoscaler-controller-manager"}},
		"an operator by its digest, while v1alpha1 is there": {[]change{old(), deployed("homelab-autoscaler-controller-manager", "r:5000/homelab-autoscaler@sha256:4f2c", 1)},
			Blocked, []string{"blocks old-operator Deployment homelab-autoscaler-system/homelab-autoscaler-controller-manager",
				"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"an operator by the tag latest, while v1alpha1 is there": {[]change{old(), deployed("homelab-autoscaler-controller-manager", "homelab-autoscaler:latest", 1)},
			Blocked, []string{"blocks old-operator Deployment homelab-autoscaler-system/homelab-autoscaler-controller-manager",
				"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"an operator of 0.1 by its tag and its digest": {[]change{current(), deployed("homelab-autoscaler-controller-manager", "homelab-autoscaler:0.1.22@sha256:1", 1)},
			Blocked, []string{"blocks old-operator Deployment homelab-autoscaler-system/homelab-autoscaler-controller-manager"}},
		"an operator by its digest, with nothing of 0.1 left": {[]change{current(), deployed("homelab-autoscaler-controller-manager", "homelab-autoscaler@sha256:1", 1)},
			Ready, nil},
		"an operator of 0.2 while v1alpha1 is there": {[]change{old(), deployed("homelab-autoscaler-controller-manager", "homelab-autoscaler:v0.2.3", 1)},
			Blocked, []string{"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"a Deployment of 0.1 that cannot become one of 0.2": {[]change{old(), deployed("homelab-autoscaler-controller-manager", "x", 0), deployed("homelab-autoscaler-cluster-autoscaler", "x", 0),
			with(func(s *Snapshot) {
				for i := range s.Deployments {
					s.Deployments[i].Annotations = map[string]string{"meta.helm.sh/release-name": "homelab-autoscaler"}
					s.Deployments[i].Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{
						"app.kubernetes.io/name": "homelab-autoscaler", "app.kubernetes.io/instance": "homelab-autoscaler", "control-plane": "controller-manager"}}
				}
			})}, Blocked, []string{
			"blocks deployments Deployment homelab-autoscaler-system/homelab-autoscaler-cluster-autoscaler",
			"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"slots of 0.1, one of them in use": {[]change{old(offSlot, onSlot, group)}, Blocked, []string{
			"warns wanted-on slot homelab-autoscaler-system/worker-02",
			"blocks old-objects 2 nodes.infra.homecluster.dev in namespace homelab-autoscaler-system",
			"blocks old-objects 1 groups.infra.homecluster.dev in namespace homelab-autoscaler-system",
			"blocks stored-versions nodes.infra.homecluster.dev", "blocks stored-versions groups.infra.homecluster.dev"}},
		"objects that nobody can read": {[]change{current(), with(func(s *Snapshot) { s.Unreadable = []string{"nodes"} })}, Blocked,
			[]string{"blocks unreadable nodes.infra.homecluster.dev"}},
		"managed fields of a version that is gone": {[]change{current(`{kind: Node, metadata: {name: a, managedFields: [{manager: kubectl, apiVersion: infra.homecluster.dev/v1alpha1}]}}`)},
			Blocked, []string{"blocks managed-fields nodes.infra.homecluster.dev homelab-autoscaler-system/a"}},
		"a kind of 0.2 that is missing": {[]change{current(), with(func(s *Snapshot) { delete(s.Definitions, "nodeclaims") })}, Blocked,
			[]string{"blocks definitions nodeclaims.infra.homecluster.dev"}},
		"a definition of an older 0.2": {[]change{current(), with(func(s *Snapshot) {
			spec := s.Definitions["nodes"].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
			delete(spec.Properties, "watts")
		})}, Blocked, []string{"blocks definitions nodes.infra.homecluster.dev"}},
		"definitions that Helm does not own": {[]change{current(), with(func(s *Snapshot) { s.Definitions["groups"].Labels = nil })}, Ready,
			[]string{"warns helm-ownership groups.infra.homecluster.dev"}},
		"a machine that no slot names": {[]change{current(offSlot), kubeNodes("renamed=homelab://worker-01")}, Ready,
			[]string{"warns node-names kubeNode renamed"}},
		"a slot that is on and names no machine": {[]change{current(onSlot), kubeNodes("worker-2")}, Ready,
			[]string{"warns node-names slot homelab-autoscaler-system/worker-02"}},
		"a distribution's own provider id": {[]change{current(offSlot), kubeNodes("worker-01=k3s://worker-01")}, Ready,
			[]string{"warns provider-ids slot homelab-autoscaler-system/worker-01"}},
		"a provider id that the slot expects":      {[]change{current(`{kind: Node, metadata: {name: a}, spec: {providerID: "k3s://a"}}`), kubeNodes("a=k3s://a")}, Ready, nil},
		"what could not be read, and nothing else": {[]change{current(), with(func(s *Snapshot) { s.Unread = []string{"deployments: forbidden"} })}, Unknown, nil},
		"what could not be read, and something in the way": {[]change{with(func(s *Snapshot) { s.Minor, s.Unread = 20, []string{"nodes: forbidden"} })}, Blocked,
			[]string{"blocks kubernetes v1.37.2"}},
	} {
		t.Run(name, func(t *testing.T) {
			report := Judge(snapshot(t, test.changes...))
			var got []string
			for _, f := range report.Findings {
				got = append(got, fmt.Sprintf("%s %s %s", f.Severity, f.Check, f.About))
				if len(f.Do) == 0 || f.Says == "" {
					t.Errorf("%s says %q and what to do: %q", f.About, f.Says, f.Do)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if report.Verdict != test.verdict {
				t.Errorf("the verdict is %s, want %s", report.Verdict, test.verdict)
			}
		})
	}
}

// The whole report of a cluster in which 0.1 runs, as a person reads it.
func TestTheReportOnAClusterWithTheFormerRelease(t *testing.T) {
	report := Judge(snapshot(t, old(offSlot, onSlot, stuckSlot, group), kubeNodes("cp", "worker-02=k3s://worker-02"),
		deployed("homelab-autoscaler-cluster-autoscaler", "x", 1), deployed("homelab-autoscaler-controller-manager", "homelab-autoscaler:0.1.22", 1)))
	var out bytes.Buffer
	if err := report.Text(&out); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/report.txt"
	if *rewrite {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := report.JSON(&out); err != nil {
		t.Fatal(err)
	}
	var again Report
	if err := json.Unmarshal(out.Bytes(), &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, again); diff != "" {
		t.Errorf("JSON loses something:\n%s", diff)
	}
}

func TestTheSummaryNamesTheVerdict(t *testing.T) {
	for verdict, unread := range map[string][]string{"ready: nothing stands in the way": nil, "unknown: not everything could be read": {"nodes: forbidden"}} {
		report := Judge(snapshot(t, with(func(s *Snapshot) { s.Unread = unread })))
		var out bytes.Buffer
		if err := report.Text(&out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if !strings.HasPrefix(lines[len(lines)-1], verdict) {
			t.Errorf("the report ends with %q, want %s", lines[len(lines)-1], verdict)
		}
		if unread != nil && !slices.Contains(lines, "NOT READ nodes: forbidden") {
			t.Errorf("the report does not say what was not read:\n%s", out.String())
		}
	}
}
