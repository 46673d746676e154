package demo

import (
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Names of the demo's objects.
const (
	// Namespace holds the groups, slots and claims, and is the one the manager serves.
	Namespace = "homelab-autoscaler-system"
	// AppNamespace is where the Deployment whose pods need machines lives.
	AppNamespace = "default"
	// App is that Deployment's name.
	App = "hello"

	labelApp = "app"
)

// Pool is one group of equal machines.
type Pool struct {
	Name     string
	Machine  string
	Count    int
	Capacity corev1.ResourceList
	// HourlyRate is what a machine of the pool costs while it is on.
	HourlyRate string
}

// Pools are the demo's two groups: small machines that the story wakes, and large ones it can leave asleep.
func Pools() []Pool {
	return []Pool{
		{Name: "workers", Machine: "worker", Count: 4, HourlyRate: "0.03", Capacity: capacity("2", "4Gi")},
		{Name: "big", Machine: "big", Count: 2, HourlyRate: "0.12", Capacity: capacity("8", "32Gi")},
	}
}

// MaxReplicas is how many pods can have a machine each.
func MaxReplicas() int {
	n := 0
	for _, pool := range Pools() {
		n += pool.Count
	}
	return n
}

func capacity(cpu, memory string) corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse(cpu),
		corev1.ResourceMemory:           resource.MustParse(memory),
		corev1.ResourceEphemeralStorage: resource.MustParse("100Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}

// machines are the names of the pool's machines, which are the names of its slots and kubeNodes too.
func (p Pool) machines() []string {
	names := make([]string, p.Count)
	for i := range names {
		names[i] = fmt.Sprintf("%s-%d", p.Machine, i+1)
	}
	return names
}

// group is the pool's policy, with durations for simulated machines that boot in seconds.
func (p Pool) group() *v2.Group {
	seconds := func(n int) *metav1.Duration { return &metav1.Duration{Duration: time.Duration(n) * time.Second} }
	return &v2.Group{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: p.Name},
		Spec: v2.GroupSpec{Timeouts: &v2.Timeouts{
			StartupJob: seconds(60), Registration: seconds(60), ReadinessGate: seconds(60),
			ShutdownJob: seconds(60), ShutdownSettle: seconds(12), Drain: seconds(30),
		}},
	}
}

// deployment needs one machine per replica: a pod takes most of a small machine, and no two share a hostname.
func deployment(replicas int32) *appsv1.Deployment {
	labels := map[string]string{labelApp: App}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: AppNamespace, Name: App, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: new(int64(1)),
					AutomountServiceAccountToken:  new(false),
					Containers: []corev1.Container{{
						Name: "hello", Image: "hello.example/hello:1", Command: []string{"sleep", "infinity"},
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1Gi")}},
					}},
					Affinity: &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
							TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}}}},
				},
			},
		},
	}
}
