package facts

import (
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// JobReading is what a lifecycle Job and its pods say.
type JobReading struct {
	// Finished is whether the Job has ended, in Outcome.
	Finished bool
	Outcome  v2.JobOutcome
	// StartedAt is when a container of a pod of the Job was first seen running or ended; zero: never.
	StartedAt time.Time
	// FinishedAt is when the Job ended; zero: not yet.
	FinishedAt time.Time
	// ExitCode is the container's, when it ended.
	ExitCode *int32
	// Message is the container's last output line, or why the Job has no pod or failed.
	Message string
	// Waiting is why a pod of the Job does not run: it finds no place, or its image does not come. Empty: no pod waits.
	Waiting string
}

// maxJobMessage bounds what a record keeps of a Job's output, in bytes: a sentence of the program power with two switches of long
// names in it fits, and beside it in an event what else is to be said.
const maxJobMessage = 400

// ReadJob reads a Job and the pods that are left of it. A Job that failed and has no pod whose container ran is NeverStarted,
// which is wrong of one that was seen to run: Failure says how that failed.
func ReadJob(job *batchv1.Job, pods []*corev1.Pod) JobReading {
	var r JobReading
	for _, pod := range pods {
		readPod(&r, pod)
	}
	if r.Message == "" {
		r.Message = r.Waiting
	}
	for _, condition := range job.Status.Conditions {
		if condition.Status != corev1.ConditionTrue {
			continue
		}
		switch condition.Type {
		case batchv1.JobComplete:
			r.finish(v2.JobSucceeded, condition)
		case batchv1.JobFailed:
			r.finish(failure(condition), condition)
		}
	}
	if r.Finished && r.Outcome != v2.JobSucceeded && r.StartedAt.IsZero() {
		r.Outcome = v2.JobNeverStarted
	}
	if r.Finished && r.Outcome == v2.JobSucceeded && r.StartedAt.IsZero() && job.Status.StartTime != nil {
		// The pod was collected before it was read; a Job that succeeded had a container that ran.
		r.StartedAt = job.Status.StartTime.Time
	}
	r.Message, r.Waiting = lastLine(r.Message), lastLine(r.Waiting)
	return r
}

// Failure is how a Job failed by its own word, whatever its pods show, which are deleted when its time is over: TimedOut or
// Failed. Empty: it did not fail.
func Failure(job *batchv1.Job) v2.JobOutcome {
	for _, condition := range job.Status.Conditions {
		if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
			return failure(condition)
		}
	}
	return ""
}

func failure(condition batchv1.JobCondition) v2.JobOutcome {
	if condition.Reason == batchv1.JobReasonDeadlineExceeded {
		return v2.JobTimedOut
	}
	return v2.JobFailed
}

func (r *JobReading) finish(outcome v2.JobOutcome, condition batchv1.JobCondition) {
	r.Finished, r.Outcome, r.FinishedAt = true, outcome, condition.LastTransitionTime.Time
	if r.Message == "" && outcome != v2.JobSucceeded {
		r.Message = condition.Message
	}
}

func readPod(r *JobReading, pod *corev1.Pod) {
	for _, status := range pod.Status.ContainerStatuses {
		switch state := status.State; {
		case state.Running != nil:
			r.started(state.Running.StartedAt.Time)
		case state.Terminated != nil:
			r.started(state.Terminated.StartedAt.Time)
			code := state.Terminated.ExitCode
			r.ExitCode, r.Message = &code, state.Terminated.Message
		case state.Waiting != nil && r.Waiting == "":
			r.Waiting = strings.TrimSuffix(state.Waiting.Reason+": "+state.Waiting.Message, ": ")
		}
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse && r.Waiting == "" {
			r.Waiting = condition.Reason + ": " + condition.Message
		}
	}
}

// PodWithoutContainers is whether a pod has a place and none of its containers has been made yet, which takes a moment, or
// for ever where a Secret or ConfigMap is missing. Of that the pod itself says nothing.
func PodWithoutContainers(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodPending && pod.Status.Phase != "" {
		return false
	}
	for _, status := range pod.Status.ContainerStatuses {
		if waiting := status.State.Waiting; waiting == nil || waiting.Reason != "" && waiting.Reason != "ContainerCreating" {
			return false
		}
	}
	return true
}

func (r *JobReading) started(at time.Time) {
	if r.StartedAt.IsZero() || at.Before(r.StartedAt) {
		r.StartedAt = at
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = strings.TrimSpace(text[i+1:])
	}
	if len(text) > maxJobMessage {
		text = strings.ToValidUTF8(text[:maxJobMessage], "")
	}
	return text
}
