package kubelet

import (
	"fmt"
	"hash/fnv"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// firstStatus is a pod's status as this boot begins with it. Containers of an earlier boot are lost and counted.
func firstStatus(pod *corev1.Pod, ip string) corev1.PodStatus {
	status := corev1.PodStatus{
		Phase:                 corev1.PodPending,
		StartTime:             pod.Status.StartTime,
		HostIP:                loopback,
		HostIPs:               []corev1.HostIP{{IP: loopback}},
		PodIP:                 ip,
		InitContainerStatuses: firstStates(pod.Spec.InitContainers, pod.Status.InitContainerStatuses),
		ContainerStatuses:     firstStates(pod.Spec.Containers, pod.Status.ContainerStatuses),
		Conditions:            slices.Clone(pod.Status.Conditions),
	}
	status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	if terminal(pod.Status.Phase) {
		status.Phase = pod.Status.Phase
	}
	if status.StartTime == nil {
		status.StartTime = new(metav1.Now())
	}
	return status
}

func firstStates(containers []corev1.Container, before []corev1.ContainerStatus) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, c := range containers {
		state := corev1.ContainerStatus{Name: c.Name, Image: c.Image, ImageID: c.Image}
		state.State.Waiting = &corev1.ContainerStateWaiting{Reason: "ContainerCreating"}
		for _, old := range before {
			if old.Name != c.Name || old.State.Waiting != nil {
				continue
			}
			state.RestartCount = old.RestartCount + 1
			state.LastTerminationState.Terminated = old.State.Terminated
			if old.State.Running != nil {
				state.LastTerminationState.Terminated = lost(old.State.Running)
			}
		}
		out = append(out, state)
	}
	return out
}

// lost is the end of a container that a power cut or a restart of the node took away.
func lost(running *corev1.ContainerStateRunning) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{
		ExitCode: 255, Reason: "Unknown", StartedAt: running.StartedAt, FinishedAt: metav1.Now(),
	}
}

func ranBefore(pod *corev1.Pod) bool {
	for _, state := range pod.Status.ContainerStatuses {
		if state.State.Running != nil {
			return true
		}
	}
	return false
}

func loseContainers(status *corev1.PodStatus) {
	for i := range status.ContainerStatuses {
		state := &status.ContainerStatuses[i]
		if state.LastTerminationState.Terminated != nil {
			state.State = state.LastTerminationState
			state.LastTerminationState = corev1.ContainerState{}
			state.RestartCount--
		}
	}
	conclude(status, false)
}

func waiting(status *corev1.PodStatus, reason, message string) {
	for i := range status.ContainerStatuses {
		status.ContainerStatuses[i].State = corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}
	}
}

func begun(state *corev1.ContainerStatus) {
	state.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}}
	state.Started = new(true)
	state.Ready = true
}

func over(state *corev1.ContainerStatus, how exit) {
	ended := &corev1.ContainerStateTerminated{
		ExitCode: how.code, Signal: how.signal, Reason: how.reason, Message: how.message, FinishedAt: metav1.Now(),
	}
	if state.State.Running != nil {
		ended.StartedAt = state.State.Running.StartedAt
	}
	state.State = corev1.ContainerState{Terminated: ended}
	state.Started = new(false)
	state.Ready = false
}

func backingOff(state *corev1.ContainerStatus) {
	state.LastTerminationState = state.State
	state.RestartCount++
	state.State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{
		Reason: "CrashLoopBackOff", Message: fmt.Sprintf("restart %d is being put off", state.RestartCount),
	}}
}

// conclude gives the pod its last phase. A container that never came to run is told as a kubelet tells it: ended,
// with 137, and without a start time.
func conclude(status *corev1.PodStatus, expired bool) {
	status.Phase = corev1.PodSucceeded
	for i := range status.ContainerStatuses {
		state := &status.ContainerStatuses[i]
		if state.State.Terminated == nil {
			state.State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: 137, Reason: reasonUnknown,
				Message: "The container was not running when the pod was terminated",
			}}
		}
		if state.State.Terminated.ExitCode != 0 {
			status.Phase = corev1.PodFailed
		}
	}
	if expired {
		status.Phase, status.Reason = corev1.PodFailed, reasonDeadline
		status.Message = "Pod was active on the node longer than the specified deadline"
	}
}

// derive completes a status from its container states: the phase of a pod that is not over, and the conditions.
func derive(status *corev1.PodStatus, pod *corev1.Pod, now metav1.Time) {
	initialized, ready := true, !terminal(status.Phase)
	for _, state := range status.InitContainerStatuses {
		initialized = initialized && state.State.Terminated != nil && state.State.Terminated.ExitCode == 0
	}
	for _, state := range status.ContainerStatuses {
		ready = ready && state.Ready
		if !terminal(status.Phase) && state.State.Waiting == nil {
			status.Phase = corev1.PodRunning
		}
	}
	reason := ""
	switch {
	case terminal(status.Phase):
		reason = "PodCompleted"
	case !ready:
		reason = "ContainersNotReady"
	}
	for _, condition := range []corev1.PodCondition{
		{Type: corev1.PodReadyToStartContainers, Status: truth(!terminal(status.Phase))},
		{Type: corev1.PodInitialized, Status: truth(initialized)},
		{Type: corev1.ContainersReady, Status: truth(ready), Reason: reason},
		{Type: corev1.PodReady, Status: truth(ready), Reason: reason},
	} {
		condition.LastTransitionTime = now
		condition.ObservedGeneration = pod.Generation
		setPodCondition(status, condition)
	}
}

func setPodCondition(status *corev1.PodStatus, next corev1.PodCondition) {
	for i, old := range status.Conditions {
		if old.Type != next.Type {
			continue
		}
		if old.Status == next.Status {
			next.LastTransitionTime = old.LastTransitionTime
		}
		status.Conditions[i] = next
		return
	}
	status.Conditions = append(status.Conditions, next)
}

func truth(is bool) corev1.ConditionStatus {
	if is {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// podIP is an address for display, the same at every boot: from 198.18.0.0/15, which is set aside for bench tests and
// leads nowhere. A pod on the host's network has the host's, and one that runs its image the one where it answers.
func (k *Kubelet) podIP(pod *corev1.Pod) string {
	if pod.Spec.HostNetwork {
		return loopback
	}
	if k.cfg.Address != "" && slices.ContainsFunc(pod.Spec.Containers, func(c corev1.Container) bool { return len(k.cfg.Images[c.Image]) > 0 }) {
		return k.cfg.Address
	}
	hash := fnv.New32a()
	hash.Write([]byte(pod.UID))
	sum := hash.Sum32()
	return fmt.Sprintf("198.%d.%d.%d", 18+sum>>16&1, sum>>8&0xff, sum&0xff)
}
