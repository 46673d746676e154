package lies_test

import (
	"strings"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// judge holds what was said of the machine against its power log.
func (l *life) judge() {
	l.T.Helper()
	l.judgeReady()
	l.judgeEnd()
	l.judgeAttempts()
	for i := range l.ended.claim.Status.Jobs {
		l.judgeJob(&l.ended.claim.Status.Jobs[i])
	}
	l.judgeCause()
}

// judgeReady: a claim was ready only once the machine's kubelet was there.
func (l *life) judgeReady() {
	l.T.Helper()
	if !l.ended.wasReady {
		return
	}
	there := l.Room.Log(machineroom.Of(l.Machine), machineroom.Is(machineroom.Ready))
	if at := l.ended.claim.Status.ReadyAt; at == nil || len(there) == 0 || at.Time.Before(there[0].Time.Truncate(time.Second)) {
		l.T.Errorf("the claim was ready at %v, its kubelet was there in %v", at, there)
	}
}

// judgeEnd: nobody wants the machine, so that its power is off; it went off before that was believed, and it was never
// believed of a machine that was not seen to go.
func (l *life) judgeEnd() {
	l.T.Helper()
	if l.IsOn() {
		l.T.Error("nobody wants the machine, nothing is owed, and by its power log it is on")
	}
	ons, offs := l.Count(machineroom.PoweredOn), l.Room.Log(machineroom.Of(l.Machine), machineroom.Is(machineroom.PoweredOff))
	if ons > 1 || len(offs) != ons {
		l.T.Errorf("one claim switched the machine on %d times, and it went off %d times", ons, len(offs))
	}
	for _, off := range offs {
		if said := l.ended.slot.Status.LastShutdownTime; said != nil && off.Time.After(said.Add(time.Second)) {
			l.T.Errorf("the slot believed off at %s, the power went at %s", said, off.Time)
		}
	}
	if state, source := l.ended.slot.Status.PowerState, l.ended.slot.Status.PowerSource; (source == v2.PowerSourceAssumed) != (state == v2.PowerUnknown) {
		l.T.Errorf("the slot says %s by %s", state, source)
	}
}

// judgeAttempts: however the switch lies, it is tried a bounded number of times.
func (l *life) judgeAttempts() {
	l.T.Helper()
	if most := 3 * (1 + l.paused); l.startups != 1 || l.shutdowns > most {
		l.T.Errorf("%d startup Jobs and %d shutdown Jobs were made, want 1 and at most %d", l.startups, l.shutdowns, most)
	}
	ons, softs := 3*l.startups, l.shutdowns
	if l.wiring == bmc.ByPackets {
		ons *= 3 // packets for one press
	}
	if n := l.Count(machineroom.PowerOnRequested, machineroom.PowerOnSwallowed); n > ons {
		l.T.Errorf("it was asked to switch on %d times, not at most %d", n, ons)
	}
	// A machine that is off ignores what it was asked: that is two lines.
	if n := max(l.Count(machineroom.SoftOffRequested), l.Count(machineroom.SoftOffIgnored)); n > softs {
		l.T.Errorf("it was asked to shut down %d times by %d Jobs", n, softs)
	}
	// One login for a Job: an account is locked after a few. That of ssh offers a key and then the password.
	logins := l.startups + l.shutdowns
	if l.wiring == bmc.ByPackets {
		logins *= 2
	}
	if n := l.Count(bmc.PasswordRejected); n > logins {
		l.T.Errorf("a wrong password was tried %d times by %d Jobs", n, l.startups+l.shutdowns)
	}
}

// judgeJob: its record has the program's last line, and the exit code that the line stands for.
func (l *life) judgeJob(record *v2.JobRecord) {
	l.T.Helper()
	if record.ExitCode == nil {
		l.T.Errorf("the record of Job %s has no exit code: %+v", record.Name, record)
		return
	}
	outcome := said(record)
	code, known := power.ExitCodes[outcome]
	if !known || *record.ExitCode != int32(code) && *record.ExitCode != 0 || !strings.HasPrefix(record.Message, "power ") {
		l.T.Errorf("Job %s exited with %d and said %q", record.Name, *record.ExitCode, record.Message)
	}
	if good := record.Outcome == v2.JobSucceeded; good != (*record.ExitCode == 0) {
		l.T.Errorf("Job %s exited with %d and is %s", record.Name, *record.ExitCode, record.Outcome)
	}
}

// judgeCause: whoever reads the event of a boot that failed, or of attempts that are spent, reads what the program said.
func (l *life) judgeCause() {
	l.T.Helper()
	about := l.ended.recorded(v2.OperationStartup)
	switch {
	case l.paused > 0:
		about = l.ended.recorded(v2.OperationShutdown)
	case l.ended.claim.Status.Phase != v2.ClaimFailed:
		return
	}
	note := l.cause()
	if !strings.Contains(note, ": "+string(said(about))+": ") {
		l.T.Errorf("the event does not say that it is %s: %q", said(about), note)
	}
}
