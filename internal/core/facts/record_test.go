package facts

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

func TestABootNeverRanOnlyIfItsNewestStartupJobDidNot(t *testing.T) {
	at := ptr.To(metav1.NewTime(noon))
	up := func(outcome v2.JobOutcome, started *metav1.Time) v2.JobRecord {
		return v2.JobRecord{Operation: v2.OperationStartup, Outcome: outcome, StartedAt: started}
	}
	down := v2.JobRecord{Operation: v2.OperationShutdown, Outcome: v2.JobNeverStarted}
	tests := map[string]struct {
		records []v2.JobRecord
		want    bool
	}{
		"no record":                                 {nil, false},
		"a Job that got no container":               {[]v2.JobRecord{up(v2.JobNeverStarted, nil)}, true},
		"its shutdown Job does not count":           {[]v2.JobRecord{up(v2.JobFailed, at), down}, false},
		"a startup Job before a shutdown Job":       {[]v2.JobRecord{up(v2.JobNeverStarted, nil), down}, true},
		"the newest counts":                         {[]v2.JobRecord{up(v2.JobNeverStarted, nil), up(v2.JobTimedOut, at)}, false},
		"a container that was seen to run outranks": {[]v2.JobRecord{up(v2.JobNeverStarted, at)}, false},
		"a Job that has not ended":                  {[]v2.JobRecord{up("", nil)}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := BootNeverRan(test.records); got != test.want {
				t.Errorf("never ran: %t, want %t", got, test.want)
			}
		})
	}
}

func TestAJobIsUnfinishedUntilItHasEndedAndIsNotGoingAway(t *testing.T) {
	ended := batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue}}}
	going := metav1.ObjectMeta{DeletionTimestamp: ptr.To(metav1.NewTime(noon))}
	tests := map[string]struct {
		job  *batchv1.Job
		want bool
	}{
		"a Job at work":            {&batchv1.Job{}, true},
		"one that has ended":       {&batchv1.Job{Status: ended}, false},
		"one whose pods still go":  {&batchv1.Job{ObjectMeta: going}, true},
		"also if it ended earlier": {&batchv1.Job{ObjectMeta: going, Status: ended}, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := JobUnfinished(test.job); got != test.want {
				t.Errorf("unfinished: %t, want %t", got, test.want)
			}
		})
	}
}
