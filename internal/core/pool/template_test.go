package pool

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestTemplate(t *testing.T) {
	gpu := func(s *v2.Node) {
		s.Spec.NodeCapacity["nvidia.com/gpu"] = resource.MustParse("1")
		s.Spec.NodeCapacity[corev1.ResourcePods] = resource.MustParse("50")
		s.Spec.NodeLabels = map[string]string{"disk": "ssd", "rack": "1", corev1.LabelArchStable: "arm64"}
		s.Spec.NodeTaints = []corev1.Taint{
			{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}, {Key: "node.cilium.io/agent-not-ready", Effect: corev1.TaintEffectNoExecute},
		}
	}
	small := func(s *v2.Node) {
		s.Spec.NodeCapacity[corev1.ResourceCPU] = resource.MustParse("2")
		s.Spec.NodeLabels = map[string]string{"disk": "ssd", "rack": "2"}
	}
	type short struct {
		Capacity map[string]string
		Labels   map[string]string
		Taints   []string
	}
	ours := func(next, arch string, more ...string) map[string]string {
		labels := map[string]string{
			"kubernetes.io/hostname": "g-template", "kubernetes.io/arch": arch, "beta.kubernetes.io/arch": arch,
			"kubernetes.io/os": "linux", "beta.kubernetes.io/os": "linux", "infra.homecluster.dev/group": "g",
			"infra.homecluster.dev/namespace": "home", "infra.homecluster.dev/node": next,
		}
		for i := 0; i < len(more); i += 2 {
			labels[more[i]] = more[i+1]
		}
		return labels
	}
	for name, test := range map[string]struct {
		objects []metav1.Object
		want    short
		fault   FaultKind
	}{
		"a slot with everything": {
			objects: []metav1.Object{group(), slot("a", gpu)},
			want: short{Capacity: map[string]string{"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1", "pods": "50"},
				Labels: ours("a", "arm64", "disk", "ssd", "rack", "1"), Taints: []string{"gpu"}},
		},
		"unlike slots offer the least of each": {
			objects: []metav1.Object{group(), slot("a", gpu), slot("b", small), claim("a", 1, "")},
			want: short{Capacity: map[string]string{"cpu": "2", "memory": "8Gi", "pods": "50"},
				Labels: ours("b", "arm64", "disk", "ssd"), Taints: []string{"gpu"}},
		},
		"pods when nobody says": {
			objects: []metav1.Object{group(), slot("a")},
			want:    short{Capacity: map[string]string{"cpu": "4", "memory": "8Gi", "pods": "110"}, Labels: ours("a", "amd64")},
		},
		"a slot of another group is none of ours": {
			objects: []metav1.Object{group(), slot("a", gpu, moved), claim("a", 1, ""), slot("b")},
			want:    short{Capacity: map[string]string{"cpu": "4", "memory": "8Gi", "pods": "110"}, Labels: ours("b", "amd64")},
		},
		"no capacity known": {objects: []metav1.Object{group(), slot("a", func(s *v2.Node) { s.Spec.NodeCapacity = nil })}, fault: NotOffered},
		"no slots":          {objects: []metav1.Object{group()}, fault: NotOffered},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(test.objects...)
			kubeNode, err := Template(v, Summarize(v))
			check(t, err, test.fault, "")
			if test.fault != "" {
				return
			}
			got := short{Capacity: map[string]string{}, Labels: kubeNode.Labels}
			for resource, quantity := range kubeNode.Status.Allocatable {
				got.Capacity[string(resource)] = quantity.String()
			}
			for _, taint := range kubeNode.Spec.Taints {
				got.Taints = append(got.Taints, taint.Key)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("template (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(kubeNode.Status.Capacity, kubeNode.Status.Allocatable); diff != "" {
				t.Errorf("capacity differs from allocatable:\n%s", diff)
			}
			if kubeNode.Spec.ProviderID != "" || kubeNode.Spec.Unschedulable || kubeNode.Status.Conditions[0].Status != corev1.ConditionTrue {
				t.Error("the template is not schedulable as it stands")
			}
		})
	}
	t.Run("the slots are left as they are", func(t *testing.T) {
		a, b := slot("a", gpu), slot("b", small)
		before := []*v2.Node{a.DeepCopy(), b.DeepCopy()}
		v := view(group(), a, b)
		if _, err := Template(v, Summarize(v)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, []*v2.Node{a, b}); diff != "" {
			t.Errorf("a slot changed:\n%s", diff)
		}
	})
}

func TestTemplateOfALiveNode(t *testing.T) {
	alive := kubeNode("a", corev1.ConditionTrue, "x")
	alive.Labels = map[string]string{corev1.LabelHostname: "k-a", "disk": "hdd"}
	alive.Spec.Taints = []corev1.Taint{{Key: "keep"}, {Key: "drop"}, {Key: "node.kubernetes.io/not-ready"}, {Key: "ToBeDeletedByClusterAutoscaler"}}
	alive.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("8"), "memory": resource.MustParse("1Gi")}
	alive.Status.NodeInfo = corev1.NodeSystemInfo{Architecture: "riscv64", OperatingSystem: "linux"}
	v := view(group(), alive, slot("a", func(s *v2.Node) {
		s.Spec.NodeCapacity = nil
		s.Spec.TaintsToRemove = []corev1.Taint{{Key: "drop"}}
	}))
	got, err := Template(v, Summarize(v))
	if err != nil {
		t.Fatal(err)
	}
	if got.Labels["disk"] != "hdd" || got.Labels[corev1.LabelHostname] != "g-template" || got.Labels[corev1.LabelArchStable] != "riscv64" {
		t.Errorf("labels %v", got.Labels)
	}
	if diff := cmp.Diff([]corev1.Taint{{Key: "keep"}}, got.Spec.Taints); diff != "" {
		t.Errorf("taints (-want +got):\n%s", diff)
	}
}
