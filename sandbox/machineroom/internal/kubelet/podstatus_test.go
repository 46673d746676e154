package kubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var noon = metav1.NewTime(time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))

// podOf has a container per state.
func podOf(policy corev1.RestartPolicy, states ...corev1.ContainerState) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{RestartPolicy: policy}}
	for i, state := range states {
		name := string(rune('a' + i))
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: name})
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: name, State: state})
	}
	return pod
}

func runningState() corev1.ContainerState {
	return corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: noon}}
}

func endedState(code int32) corev1.ContainerState {
	return corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, StartedAt: noon}}
}

func TestANewBootLosesWhatRanBefore(t *testing.T) {
	pod := podOf(corev1.RestartPolicyNever, runningState(), endedState(0))
	status := firstStatus(pod, "192.0.2.9")
	loseContainers(&status)
	first, second := status.ContainerStatuses[0], status.ContainerStatuses[1]
	if first.State.Terminated == nil || first.State.Terminated.ExitCode != 255 || !first.State.Terminated.StartedAt.Equal(&noon) {
		t.Errorf("the container that ran is %+v", first.State)
	}
	if second.State.Terminated == nil || second.State.Terminated.ExitCode != 0 {
		t.Errorf("the container that had ended is %+v", second.State)
	}
	if status.Phase != corev1.PodFailed || first.RestartCount != 0 || second.RestartCount != 0 {
		t.Errorf("phase %s after %d and %d restarts", status.Phase, first.RestartCount, second.RestartCount)
	}
	if pod.Status.ContainerStatuses[0].State.Running == nil {
		t.Error("the cached pod was changed")
	}
}

func TestConclude(t *testing.T) {
	tests := map[string]struct {
		states  []corev1.ContainerState
		expired bool
		phase   corev1.PodPhase
	}{
		"all well is success":                 {[]corev1.ContainerState{endedState(0), endedState(0)}, false, corev1.PodSucceeded},
		"one failure is failure":              {[]corev1.ContainerState{endedState(0), endedState(1)}, false, corev1.PodFailed},
		"a container that never ran failed":   {[]corev1.ContainerState{{}}, false, corev1.PodFailed},
		"a deadline is failure, however well": {[]corev1.ContainerState{endedState(0)}, true, corev1.PodFailed},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			status := podOf(corev1.RestartPolicyNever, test.states...).Status
			conclude(&status, test.expired)
			if status.Phase != test.phase {
				t.Errorf("phase is %s, want %s", status.Phase, test.phase)
			}
			for i, state := range status.ContainerStatuses {
				ended := state.State.Terminated
				if ended == nil {
					t.Fatalf("container %s has not ended: %+v", state.Name, state.State)
				}
				// Who reads such a status must see that the container never started.
				if test.states[i].Terminated == nil && (ended.ExitCode != 137 || !ended.StartedAt.IsZero()) {
					t.Errorf("a container that never ran ended with %+v", ended)
				}
			}
		})
	}
}

func TestDerive(t *testing.T) {
	tests := map[string]struct {
		states []corev1.ContainerState
		phase  corev1.PodPhase
		ready  corev1.ConditionStatus
	}{
		"nothing has begun":          {[]corev1.ContainerState{{Waiting: &corev1.ContainerStateWaiting{}}}, corev1.PodPending, corev1.ConditionFalse},
		"all run":                    {[]corev1.ContainerState{runningState(), runningState()}, corev1.PodRunning, corev1.ConditionTrue},
		"one runs and one has ended": {[]corev1.ContainerState{runningState(), endedState(1)}, corev1.PodRunning, corev1.ConditionFalse},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod := podOf(corev1.RestartPolicyAlways, test.states...)
			status := pod.Status
			status.Phase = corev1.PodPending
			for i := range status.ContainerStatuses {
				status.ContainerStatuses[i].Ready = status.ContainerStatuses[i].State.Running != nil
			}
			derive(&status, pod, noon)
			if status.Phase != test.phase {
				t.Errorf("phase is %s, want %s", status.Phase, test.phase)
			}
			for _, condition := range status.Conditions {
				if condition.Type == corev1.PodReady && condition.Status != test.ready {
					t.Errorf("Ready is %s, want %s", condition.Status, test.ready)
				}
			}
		})
	}
}

func TestResourceIsRoundedUp(t *testing.T) {
	container := &corev1.Container{Resources: corev1.ResourceRequirements{
		Limits:   corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m"), corev1.ResourceMemory: resource.MustParse("1000Ki")},
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("250m")},
	}}
	tests := map[string]struct{ of, divisor, want string }{
		"a limit in whole CPUs":         {"limits.cpu", "1", "2"},
		"a limit in thousandths":        {"limits.cpu", "1m", "1500"},
		"a request in thousandths":      {"requests.cpu", "1m", "250"},
		"memory in mebibytes":           {"limits.memory", "1Mi", "1"},
		"no divisor means single units": {"limits.memory", "0", "1024000"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := quantityOf(container, &corev1.ResourceFieldSelector{Resource: test.of, Divisor: resource.MustParse(test.divisor)})
			if err != nil || got != test.want {
				t.Errorf("%s in %s is %s (%v), want %s", test.of, test.divisor, got, err, test.want)
			}
		})
	}
	if _, err := quantityOf(container, &corev1.ResourceFieldSelector{Resource: "wishes.cpu"}); err == nil {
		t.Error("an unknown resource was answered")
	}
}
