package slot

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// instant is a time as messages quote it.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func joinWaits(waits []string) string { return strings.Join(waits, "; ") }

// joinSentence appends a complaint to a sentence, if there is one.
func joinSentence(sentence, complaint string) string {
	if complaint == "" {
		return sentence
	}
	return sentence + ": " + complaint
}

// describeJob says how a lifecycle Job ended, with its exit code and last words.
func describeJob(record *v2.JobRecord) string {
	text := fmt.Sprintf("Job %s %s", record.Name, outcomeWords(record.Outcome))
	if record.ExitCode != nil && record.Outcome != v2.JobNeverStarted {
		text += fmt.Sprintf(" with exit code %d", *record.ExitCode)
	}
	return joinSentence(text, record.Message)
}

// quoted is what a Job said that succeeded, in brackets. Nothing is said by most.
func quoted(message string) string {
	if message == "" {
		return ""
	}
	return " (" + strings.TrimSpace(message) + ")"
}

func outcomeWords(outcome v2.JobOutcome) string {
	switch outcome {
	case v2.JobSucceeded:
		return "succeeded"
	case v2.JobFailed:
		return "failed"
	case v2.JobTimedOut:
		return "timed out"
	case v2.JobNeverStarted:
		return "never started"
	default:
		return "ended unseen"
	}
}

// conditionSince is since when a condition has had a status; zero: it has not.
func conditionSince(conditions []metav1.Condition, kind string, status metav1.ConditionStatus) time.Time {
	if c := meta.FindStatusCondition(conditions, kind); c != nil && c.Status == status {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
