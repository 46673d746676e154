package rights

import (
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/job"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/sandbox/controlplane"
)

// The levels of pod security that a namespace's label can enforce.
const (
	restricted = "restricted"
	baseline   = "baseline"
	privileged = "privileged"
)

// slot reads a slot from a file.
func slot(t *testing.T, file string) *v2.Node {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var found v2.Node
	if err := yaml.UnmarshalStrict(text, &found); err != nil {
		t.Fatal(err)
	}
	return &found
}

// Which level of pod security a namespace may enforce, and what a power Job's pod gets of the API, as the API server has it.
func TestPowerJobsPassThePodSecurityOfTheirNamespace(t *testing.T) {
	const ipmi, wakeOnLAN = "../apitest/testdata/slot-ipmi.yaml", "../../config/samples/slot-wake-on-lan.yaml"
	tests := map[string]struct {
		file   string
		change func(*v2.MinimalPodSpec)
		// refused has, by level, what the refusal names; a level without one admits the pod.
		refused map[string]string
		token   bool
	}{
		"the ipmitool of 0.1, unchanged": {file: ipmi, refused: map[string]string{restricted: "runAsNonRoot != true"}},
		"an image that does without root": {file: ipmi, change: func(p *v2.MinimalPodSpec) {
			p.PodSecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(1000))}
		}},
		"a magic packet": {file: wakeOnLAN, refused: map[string]string{
			restricted: "NET_RAW", baseline: "host namespaces (hostNetwork=true)",
		}},
		"a named ServiceAccount": {file: ipmi, token: true, change: func(p *v2.MinimalPodSpec) {
			p.ServiceAccount = "default"
			p.PodSecurityContext = &corev1.PodSecurityContext{RunAsNonRoot: new(true)}
		}},
	}
	cp := controlplane.ForTest(t)
	client := kubernetes.NewForConfigOrDie(cp.Config())
	for _, level := range []string{restricted, baseline, privileged} {
		namespace := cp.Namespace(t)
		label := []byte(`{"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "` + level + `"}}}`)
		if _, err := client.CoreV1().Namespaces().Patch(t.Context(), namespace, "application/merge-patch+json", label, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		for name, tt := range tests {
			t.Run(level+" "+name, func(t *testing.T) {
				slot := slot(t, tt.file)
				slot.Namespace = namespace
				if tt.change != nil {
					tt.change(&slot.Spec.StartupPodSpec)
				}
				template := job.Build(job.Params{Slot: slot, Prefix: slot.Name, Operation: v2.OperationStartup, N: 1, Policy: policy.Default()}).Spec.Template
				pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
				pod.GenerateName = "power-"
				admitted, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
				if want := tt.refused[level]; want != "" {
					if err == nil || !strings.Contains(err.Error(), want) {
						t.Errorf("want a refusal that names %q, got %v", want, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if got := hasToken(admitted); got != tt.token {
					t.Errorf("the pod gets a token of the API server: %v, want %v", got, tt.token)
				}
			})
		}
	}
}

// hasToken is whether a pod can reach the API server as somebody.
func hasToken(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return volume.Projected != nil && slices.ContainsFunc(volume.Projected.Sources, func(source corev1.VolumeProjection) bool {
			return source.ServiceAccountToken != nil
		})
	})
}
