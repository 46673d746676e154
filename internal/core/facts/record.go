package facts

import (
	batchv1 "k8s.io/api/batch/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// LastJob is the newest record of an operation, or nil.
func LastJob(records []v2.JobRecord, op v2.Operation) *v2.JobRecord {
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].Operation == op {
			return &records[i]
		}
	}
	return nil
}

// NeverRan is whether a lifecycle Job ended without a container of it having run. That is the pool's fault and not the
// machine's: it counts as nobody's attempt.
func NeverRan(record *v2.JobRecord) bool {
	return record != nil && record.Outcome == v2.JobNeverStarted && record.StartedAt == nil
}

// BootNeverRan is whether the newest startup Job of the records never ran.
func BootNeverRan(records []v2.JobRecord) bool {
	return NeverRan(LastJob(records, v2.OperationStartup))
}

// JobFinished is whether a Job has ended.
func JobFinished(job *batchv1.Job) bool { return ReadJob(job, nil).Finished }

// JobUnfinished is whether a lifecycle Job may still act on its machine: it has not ended, or is going away and its pods
// are not.
func JobUnfinished(job *batchv1.Job) bool { return job.DeletionTimestamp != nil || !JobFinished(job) }
