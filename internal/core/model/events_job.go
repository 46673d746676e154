package model

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// The values of the operation label.
const (
	startup  = "startup"
	shutdown = "shutdown"
)

// A Job's container is shared by all Jobs: nobody compares its times.
var (
	runningPods = pods(corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(epoch)}})
	endedPods   = pods(corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(epoch)}})
)

func pods(state corev1.ContainerState) []*corev1.Pod {
	return []*corev1.Pod{{Status: corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{State: state}}}}}
}

// jobEvents are what becomes of a lifecycle Job. What it does to the machine and what it reports are independent: a tool
// exits 0 with nothing changed, and 255 because the machine just went off.
func jobEvents() []event {
	return []event{
		{name: "Job *", does: doesWork, options: jobs(starts(Works)), happen: start(Works), words: jobWords("starts and works")},
		{name: "Job *", kind: BadEffects, does: doesNothing, options: jobs(starts(Swallowed)), happen: start(Swallowed), words: jobWords("starts and is swallowed")},
		{name: "Job *", kind: BadEffects, does: doesHang, options: jobs(starts(Hangs)), happen: start(Hangs), words: jobWords("starts and hangs the machine")},
		{name: "Job *", does: doesSucceed, options: jobs(running), happen: end(v2.JobSucceeded), words: jobWords("succeeds")},
		{name: "Job *", kind: BadEnds, does: doesFail, options: jobs(running), happen: end(v2.JobFailed), words: jobWords("fails")},
		{name: "Job *", kind: BadEnds, does: doesFail, options: jobs(running), happen: end(v2.JobTimedOut), words: jobWords("times out")},
		{name: "Job *", kind: BadEnds, does: doesNotRun, options: jobs(unstarted), happen: end(v2.JobNeverStarted), words: jobWords("ends without a pod")},
		{name: "Job *", options: jobs(going), happen: jobGone, words: jobWords("is gone with its pods")},
		{name: "Job *", options: jobs(collectable), happen: jobGone, words: jobWords("is collected")},
		{name: "Job *", kind: JobDeletes, options: jobs(func(_ *State, j *slot.Job) bool { return j.DeletionTimestamp == nil }),
			happen: deleteByHand, words: jobWords("is deleted by hand, pods and all")},
	}
}

func jobs(condition func(*State, *slot.Job) bool) func(*State) []uint8 {
	return func(s *State) []uint8 {
		var found []uint8
		for i := range s.Jobs {
			if condition(s, &s.Jobs[i]) {
				found = append(found, uint8(i))
			}
		}
		return found
	}
}

func jobWords(what string) func(*State, uint8) string {
	return func(s *State, i uint8) string { return fmt.Sprintf("%s %s", s.Jobs[i].Name, what) }
}

func finished(j *slot.Job) bool { return len(j.Status.Conditions) > 0 }

func unstarted(_ *State, j *slot.Job) bool {
	return !finished(j) && len(j.Pods) == 0 && j.DeletionTimestamp == nil
}
func running(_ *State, j *slot.Job) bool {
	return !finished(j) && len(j.Pods) > 0 && j.DeletionTimestamp == nil
}

func going(_ *State, j *slot.Job) bool { return j.DeletionTimestamp != nil }

// starts is whether the Job can start with that effect, and whether the effect differs from a milder one. A Job that is
// being deleted may still start: its pod was on its way.
func starts(e Effect) func(*State, *slot.Job) bool {
	return func(s *State, j *slot.Job) bool {
		if finished(j) || len(j.Pods) > 0 {
			return false
		}
		if operation(j) == startup {
			return e == Works || e == Swallowed && !s.Metal.On
		}
		return e == Works || s.Metal.On && (e == Swallowed || s.Metal.Heard)
	}
}

func operation(j *slot.Job) string { return j.Labels[v2.LabelOperation] }

func start(e Effect) func(*State, uint8) {
	return func(s *State, i uint8) {
		j := s.Jobs[i]
		must(s.updateJob(j.UID, func(j *slot.Job) bool {
			j.Pods = runningPods
			at := metav1.NewTime(s.Now)
			j.Status.StartTime = &at
			return true
		}))
		if operation(&j) == startup {
			s.Metal = s.Metal.started(e)
		} else {
			s.Metal = s.Metal.stopped(e)
		}
	}
}

func end(outcome v2.JobOutcome) func(*State, uint8) {
	condition := batchv1.JobCondition{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}
	switch outcome {
	case v2.JobFailed:
		condition.Type, condition.Reason = batchv1.JobFailed, batchv1.JobReasonBackoffLimitExceeded
	case v2.JobTimedOut, v2.JobNeverStarted:
		condition.Type, condition.Reason = batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded
	}
	return func(s *State, i uint8) {
		must(s.updateJob(s.Jobs[i].UID, func(j *slot.Job) bool {
			at := condition
			at.LastTransitionTime = metav1.NewTime(s.Now)
			j.Status.Conditions = []batchv1.JobCondition{at}
			if len(j.Pods) > 0 {
				j.Pods = endedPods
			}
			return true
		}))
	}
}

// collectable is whether the Job's time to live is over.
func collectable(s *State, j *slot.Job) bool {
	ttl := j.Spec.TTLSecondsAfterFinished
	if ttl == nil || !finished(j) || j.DeletionTimestamp != nil {
		return false
	}
	return s.Now.Sub(facts.ReadJob(j.Job, nil).FinishedAt) >= time.Duration(*ttl)*time.Second
}

func jobGone(s *State, i uint8) {
	must(s.updateJob(s.Jobs[i].UID, func(*slot.Job) bool { return false }))
}

// deleteByHand also notes for the laws a Job that no record knew yet.
func deleteByHand(s *State, i uint8) {
	uid := s.Jobs[i].UID
	known := false
	for _, c := range s.Claims {
		for _, record := range c.Status.Jobs {
			known = known || record.UID == uid
		}
	}
	s.Ghost.Unseen = s.Ghost.Unseen || !known
	jobGone(s, i)
}
