package slot

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/job"
)

// readPower reads whether the machine is on, and since when it has been silent. Silence begins at the first observation
// that differs, stamped on the slot by our clock: no other clock is compared with ours.
func (r *run) readPower() {
	r.reading = facts.ReadingOf(r.in.Slot).Fresh(r.in.Now, r.policy)
	r.power = facts.Power(r.in.KubeNode, r.reading)
	r.kubeletOn = facts.KubeletOn(r.in.KubeNode)
	if r.reading.State == v2.PowerOn || r.kubeletOn {
		r.wake(r.reading.GoesStale(r.policy)) // an off that grows old on a silent machine changes nothing
	}
	if r.power == facts.On {
		return
	}
	switch {
	case r.slot.PowerState == v2.PowerOn:
		r.silentSince = r.in.Now
	case r.slot.PowerStateSince != nil:
		r.silentSince = r.slot.PowerStateSince.Time
	}
}

// readJobs brings the records of lifecycle Jobs up to what the Jobs say. A record with a uid whose Job is gone ends as
// Unknown: it is judged by evidence and never run again under the same number.
// The claim is nil for the Jobs of an unclaimed machine.
func (r *run) readJobs(c *claim, records *[]v2.JobRecord, owner types.UID) {
	for i := range *records {
		record := &(*records)[i]
		r.repairRecord(record)
		found := r.findJob(record, owner)
		switch {
		case found != nil:
			r.readJob(c, *records, record, found)
		case record.UID != "" && record.Outcome == "":
			r.assume(Absence{Kind: KindJob, Name: record.Name, UID: record.UID})
			record.Outcome, record.FinishedAt = v2.JobUnknown, &r.now
			record.Message = "the Job was gone before its end was read"
		}
	}
}

// repairRecord gives a record the times that every record has, where a hand has left it without.
func (r *run) repairRecord(record *v2.JobRecord) {
	if record.CreatedAt == nil {
		record.CreatedAt = &r.now
	}
	if record.Outcome != "" && record.FinishedAt == nil {
		record.FinishedAt = &r.now
	}
}

func (r *run) readJob(c *claim, records []v2.JobRecord, record *v2.JobRecord, found *Job) {
	reading := facts.ReadJob(found.Job, found.Pods)
	record.UID = found.UID
	if record.StartedAt == nil && !reading.StartedAt.IsZero() {
		record.StartedAt, record.Message = &r.now, "" // what kept it from running is over
		if record.Operation == v2.OperationStartup && conditionReason(c.Status.Conditions, v2.ConditionLaunched) == "StartupJobWaits" {
			r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionFalse, "StartupJobCreated", "startup Job "+record.Name+" has not ended")
		}
	}
	switch {
	case reading.Finished && record.Outcome == "":
		if reading.Outcome == v2.JobNeverStarted && record.StartedAt != nil {
			reading.Outcome = facts.Failure(found.Job)
		}
		if reading.Outcome == v2.JobNeverStarted {
			// The Job only says that its time was over; its pod, or what is remembered of it, says why.
			reading.Message = cmp.Or(complaint(found), record.Message, reading.Message)
		}
		record.Outcome, record.FinishedAt = reading.Outcome, &r.now
		record.ExitCode, record.Message = reading.ExitCode, reading.Message
	case record.Outcome == "":
		r.stalled(c, records, record, found)
	}
	if reading.Finished && found.Spec.TTLSecondsAfterFinished == nil && r.in.Slot != nil {
		r.act(SetJobTTL{Name: found.Name, UID: found.UID, Seconds: job.TTL(r.in.Slot, record.Operation)})
	}
}

// stalled tells of a Job whose container does not run though it has had time to: its pod finds no place, its image does
// not come, or it got no pod at all. Why stays on record, for the pod may be gone when the Job ends. Of Jobs that fail to
// start one after the other only the first is told.
func (r *run) stalled(c *claim, records []v2.JobRecord, record *v2.JobRecord, found *Job) {
	if record.StartedAt != nil || record.Message != "" || found.DeletionTimestamp != nil ||
		record.Operation == v2.OperationStartup && (c.Status.Phase != v2.ClaimBooting || r.kubeletOn) ||
		!r.passed(record.CreatedAt.Add(r.policy.JobPatience)) {
		return
	}
	record.Message = cmp.Or(complaint(found), noPod)
	if record.Operation == v2.OperationStartup {
		r.claimCondition(c, v2.ConditionLaunched, metav1.ConditionFalse, "StartupJobWaits", "startup Job "+record.Name+" does not run: "+record.Message)
	}
	if former := formerJob(records, record); former != nil && former.Outcome == v2.JobNeverStarted {
		return
	}
	reason := v2.EventScaleUpDeferred
	if record.Operation == v2.OperationShutdown {
		reason = v2.EventScaleDownDeferred
	}
	r.noteSlot(c, true, reason, fmt.Sprintf("Job %s has not started for %s: %s", record.Name, r.policy.JobPatience, record.Message))
}

// noPod is what there is to say about a Job of which nothing is known but that it does not run.
const noPod = "it got no pod"

// complaint is what the pod of a Job, or the cluster's events about a Job without one, say about its not running.
func complaint(j *Job) string {
	reading := facts.ReadJob(j.Job, j.Pods)
	why := cmp.Or(j.Complaint, reading.Waiting)
	if why == "" && reading.StartedAt.IsZero() && len(j.Pods) > 0 {
		return "its pod does not run"
	}
	return why
}

// formerJob is the Job of the same operation before this one, or nil.
func formerJob(records []v2.JobRecord, record *v2.JobRecord) *v2.JobRecord {
	var former *v2.JobRecord
	for i := range records {
		if &records[i] == record {
			return former
		}
		if records[i].Operation == record.Operation {
			former = &records[i]
		}
	}
	return nil
}

// countShutdowns counts a shutdown Job when it is first seen to have started: one attempt a Job, never one a pass. One
// that was gone before its start was seen may have started: it proves nothing, but it spends an attempt, so that Jobs
// which always vanish unread are bounded too.
func (r *run) countShutdowns(before, after []v2.JobRecord, attempts *int32, last **metav1.Time) {
	for _, record := range after {
		var was v2.JobRecord
		if i := slices.IndexFunc(before, func(r v2.JobRecord) bool { return r.Name == record.Name }); i >= 0 {
			was = before[i]
		}
		started := record.StartedAt != nil && was.StartedAt == nil
		vanished := record.StartedAt == nil && record.Outcome == v2.JobUnknown && was.Outcome == ""
		if record.Operation == v2.OperationShutdown && (started || vanished) {
			*attempts++
			*last = &r.now
		}
	}
}

// findJob finds the Job of a record: by uid once that is known, else by its controller.
func (r *run) findJob(record *v2.JobRecord, owner types.UID) *Job {
	for i := range r.in.Jobs {
		candidate := &r.in.Jobs[i]
		if candidate.Name != record.Name {
			continue
		}
		if candidate.UID == record.UID || record.UID == "" && metav1.GetControllerOf(candidate) != nil &&
			metav1.GetControllerOf(candidate).UID == owner {
			return candidate
		}
	}
	return nil
}

// unfinished lists the slot's lifecycle Jobs that have not ended, or are still being deleted with their pods.
func (r *run) unfinished() []*Job {
	var unfinished []*Job
	for i := range r.in.Jobs {
		if j := &r.in.Jobs[i]; facts.JobUnfinished(j.Job) {
			unfinished = append(unfinished, j)
		}
	}
	return unfinished
}

// goingDown is whether a shutdown Job may still work the switch, though nobody may owe the reversal any more: its claim
// lost its finalizer, or the Job is on its way out and its pod is not. No claim joins such a machine.
func (r *run) goingDown() bool {
	return slices.ContainsFunc(r.unfinished(), func(j *Job) bool { return operationOf(j) == v2.OperationShutdown })
}

// clearJobs deletes the slot's unfinished Jobs that are not of the operation to keep, and reports whether none is left:
// the opposite operation starts only when they, and their pods, are seen gone.
func (r *run) clearJobs(keep v2.Operation) bool {
	clear := true
	for _, j := range r.unfinished() {
		if j.Labels[v2.LabelOperation] == job.OperationLabel(keep) {
			continue
		}
		clear = false
		r.deleteJob(j)
	}
	return clear
}

func (r *run) deleteJob(j *Job) {
	if j.DeletionTimestamp == nil {
		r.act(DeleteJob{Name: j.Name, UID: j.UID})
	}
}

// firstStart is when the first shutdown Job of the records started; zero: none did.
func firstStart(records []v2.JobRecord) time.Time {
	for _, record := range records {
		if record.Operation == v2.OperationShutdown && record.StartedAt != nil {
			return record.StartedAt.Time
		}
	}
	return time.Time{}
}

// maxRecords is how many lifecycle Jobs a claim remembers.
const maxRecords = 6

// addRecord appends a record, and forgets the oldest ones but the newest startup, on which the boot is judged.
func addRecord(records []v2.JobRecord, record v2.JobRecord) []v2.JobRecord {
	records = append(records, record)
	for len(records) > maxRecords {
		drop := 0
		if records[0].Operation == v2.OperationStartup && facts.LastJob(records[1:], v2.OperationStartup) == nil {
			drop = 1
		}
		records = append(records[:drop:drop], records[drop+1:]...)
	}
	return records
}
