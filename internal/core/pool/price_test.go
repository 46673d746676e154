package pool

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestPrices(t *testing.T) {
	v := view(group(), slot("a", price("0.40")))
	p, ok := PriceOf(v, v.Slots[0])
	if !ok {
		t.Fatal("the slot has no price")
	}
	if got := p.ForMachine(90 * time.Minute); !near(got, 0.60) {
		t.Errorf("a machine for 90 minutes costs %v", got)
	}
	half := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi")}
	if got, fits := p.ForPod(half, time.Hour); !fits || !near(got, 0.21) {
		t.Errorf("half a machine costs %v, %v", got, fits)
	}
	if _, fits := p.ForPod(corev1.ResourceList{"cpu": resource.MustParse("5")}, time.Hour); fits {
		t.Error("a pod larger than the machine fits")
	}
	if _, fits := p.ForPod(corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("1")}, time.Hour); fits {
		t.Error("a pod fits that asks for what the machine has not")
	}
	for _, rate := range []string{"", "-1", "NaN", "Inf", "cheap"} {
		v := view(group(), slot("a", price(rate)))
		if _, ok := PriceOf(v, v.Slots[0]); ok {
			t.Errorf("%q is a price", rate)
		}
	}
}

func TestPodRequests(t *testing.T) {
	needs := func(cpu string, sidecar bool) corev1.Container {
		c := corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}}}
		if sidecar {
			c.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
		}
		return c
	}
	for name, test := range map[string]struct {
		init, containers []corev1.Container
		want             string
	}{
		"containers add up":                        {containers: []corev1.Container{needs("1", false), needs("2", false)}, want: "3"},
		"a large init container decides":           {init: []corev1.Container{needs("5", false)}, containers: []corev1.Container{needs("1", false)}, want: "5"},
		"a sidecar counts with the containers":     {init: []corev1.Container{needs("2", true)}, containers: []corev1.Container{needs("1", false)}, want: "3"},
		"a sidecar counts beside a later init too": {init: []corev1.Container{needs("2", true), needs("4", false)}, containers: []corev1.Container{needs("1", false)}, want: "6"},
	} {
		t.Run(name, func(t *testing.T) {
			got := PodRequests(&corev1.Pod{Spec: corev1.PodSpec{InitContainers: test.init, Containers: test.containers}})
			if cpu := got["cpu"]; cpu.String() != test.want {
				t.Errorf("got %s, want %s", cpu.String(), test.want)
			}
		})
	}
}

func TestPeriod(t *testing.T) {
	if got, err := Period(noon, noon.Add(time.Hour)); err != nil || got != time.Hour {
		t.Errorf("got %v, %v", got, err)
	}
	for name, ends := range map[string][2]time.Time{
		"backwards": {noon, noon.Add(-1)}, "no start": {{}, noon}, "no end": {noon, {}}, "for ever": {noon, noon.AddDate(200, 0, 0)},
	} {
		_, err := Period(ends[0], ends[1])
		t.Run(name, func(t *testing.T) { check(t, err, Malformed, "period") })
	}
}

func TestGPU(t *testing.T) {
	card := func(label, value string) func(*v2.Node) {
		return func(s *v2.Node) {
			s.Spec.NodeCapacity["nvidia.com/gpu"] = resource.MustParse("1")
			s.Spec.NodeLabels = map[string]string{label: value}
		}
	}
	v := view(group(), slot("a", card("nvidia.com/gpu.product", "T4")), slot("b"), slot("c", card("x", "y")))
	if got := GPULabel(v.Slots); got != "nvidia.com/gpu.product" {
		t.Errorf("label %s", got)
	}
	if diff := cmp.Diff(map[string]bool{"T4": true, "nvidia.com-gpu": true}, GPUTypes(v.Slots)); diff != "" {
		t.Errorf("types (-want +got):\n%s", diff)
	}
	if got := GPULabel(nil); got != LabelAccelerator {
		t.Errorf("without slots the label is %s", got)
	}
}
