package lies_test

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/golden"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// At once as many lives are lived: they wait for machines, not for a CPU.
func TestMain(m *testing.M) { house.Main(m, 48) }

// lived is the table that is checked in.
const lived = "testdata/lives.txt"

// TestEveryLieInAClaimsLife plays all of them under one manager, judges each by the power log, and compares what came of them
// with the table.
func TestEveryLieInAClaimsLife(t *testing.T) {
	all := cells()
	rows := make([]row, len(all))
	t.Run("lives", func(t *testing.T) {
		h := house.New(t)
		// A machine that never comes is not waited for.
		neighbours := map[when]*neighbourhood{goingUp: moveIn(t, h, 2*time.Second), goingDown: moveIn(t, h, house.Settle)}
		neighbours[always] = neighbours[goingDown]
		for i, c := range all {
			t.Run(fmt.Sprintf("%s %s %s", c.lie.name, c.at, c.wiring), func(t *testing.T) {
				t.Parallel()
				l := neighbours[c.at].settle(t, c, fmt.Sprintf("m%02d", i))
				l.play()
				l.judge()
				rows[i] = l.row()
				if t.Failed() {
					l.Tell()
				}
			})
		}
	})
	if t.Failed() || slices.ContainsFunc(rows, func(r row) bool { return r.name == "" }) {
		t.Log("not all lives were lived, and the table is not compared")
		return
	}
	table := tabulate(rows)
	golden.Compare(t, lived, table)
	t.Logf("\n%s", table)
}

// row is a life as the table has it; glance is all of it in a few words.
type row struct{ name, at, over, story, startup, shutdown, log, end, told, glance string }

// tabulate puts what can be seen at a glance before what can be read.
func tabulate(rows []row) string {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "the switch\tgoing\t"+strings.Join(texts(bmc.Wirings()), "\t"))
	for i, r := range rows {
		if i > 0 && r.name == rows[i-1].name && r.at == rows[i-1].at {
			continue
		}
		_, _ = fmt.Fprintf(table, "%s\t%s", r.name, r.at)
		for _, w := range bmc.Wirings() {
			cell := "-"
			for _, other := range rows {
				if other.name == r.name && other.at == r.at && other.over == string(w) {
					cell = other.glance
				}
			}
			_, _ = fmt.Fprint(table, "\t", cell)
		}
		_, _ = fmt.Fprintln(table)
	}
	_ = table.Flush()
	_, _ = fmt.Fprintln(&out)
	_, _ = fmt.Fprintln(table, "the switch\tgoing\tover\tthe claim\tstartup Job\tshutdown Job\tpower log\tin the end\ttold")
	for _, r := range rows {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n",
			r.name, r.at, r.over, r.story, r.startup, r.shutdown, r.log, r.end, r.told)
	}
	_ = table.Flush()
	return out.String()
}

// row leaves out what differs from run to run.
func (l *life) row() row {
	power := map[bool]string{true: "on", false: "off"}[l.IsOn()]
	r := row{
		name: l.lie.name, at: string(l.at), over: string(l.wiring), story: strings.TrimSpace(map[bool]string{true: "ready "}[l.ended.wasReady] + string(l.ended.claim.Status.Phase) + " " + string(l.ended.claim.Status.Reason)),
		startup: job(l.ended.recorded(v2.OperationStartup)), shutdown: job(l.ended.recorded(v2.OperationShutdown)), log: join(l.powerLog()),
		end: fmt.Sprintf("%s, said %s by %s", power, l.ended.slot.Status.PowerState, l.ended.slot.Status.PowerSource), told: l.steady(l.cause()),
	}
	if l.lie.lies.Flap { // whether two readings in a row agreed is chance
		r.startup, r.shutdown = "0 or 4", "0 or 4"
	}
	if l.paused > 0 {
		r.shutdown += ", 3 times, and paused"
	}
	r.glance = l.glance(r)
	return r
}

// glance says what became of the claim, and what was told of why.
func (l *life) glance(r row) string {
	var words string
	switch {
	case !l.ended.wasReady:
		words = "failed: " + r.startup
	case l.paused > 0:
		words = "ready, paused: " + job(l.ended.recorded(v2.OperationShutdown)) + ", mended"
	default:
		words = "ready"
	}
	if l.ended.slot.Status.PowerSource == v2.PowerSourceAssumed {
		return words + ", assumed off"
	}
	return words + ", off"
}

func join[T ~string](words []T) string { return strings.Join(texts(words), " ") }

func texts[T ~string](words []T) []string {
	var texts []string
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return texts
}

// job says how a Job ended.
func job(record *v2.JobRecord) string {
	switch {
	case record == nil:
		return "none"
	case record.ExitCode == nil:
		return string(record.Outcome)
	}
	return fmt.Sprintf("%d %s", *record.ExitCode, said(record))
}

// said is the outcome in the program's last line.
func said(record *v2.JobRecord) power.Outcome {
	parts := strings.SplitN(record.Message, ": ", 3)
	if len(parts) < 3 {
		return ""
	}
	return power.Outcome(parts[1])
}

// recorded is the first Job that the claim has on record for an operation.
func (s story) recorded(operation v2.Operation) *v2.JobRecord {
	for i := range s.claim.Status.Jobs {
		if record := &s.claim.Status.Jobs[i]; record.Operation == operation {
			return record
		}
	}
	return nil
}

// noise are kinds of events that say how a machine lives rather than what was done to its power.
var noise = []machineroom.Kind{bmc.LiesChanged, machineroom.BootDone, machineroom.Registered, machineroom.Rejoined, machineroom.Ready,
	machineroom.Silent, machineroom.NodeMissing, bmc.RelayUnmoved, machineroom.PowerOnRedundant}

// chances are kinds that depend on whether two readings in a row agreed, where the switch flaps: a plug is opened behind a machine
// that was seen to be off, and one that was not is asked once more.
var chances = []machineroom.Kind{machineroom.PowerOffRequested, machineroom.SoftOffIgnored}

// powerLog is what happened to the power, each kind where it came first.
func (l *life) powerLog() []machineroom.Kind {
	var kinds []machineroom.Kind
	for _, event := range l.Room.Log(machineroom.Of(l.Machine)) {
		chance := l.lie.lies.Flap && slices.Contains(chances, event.Kind)
		if !chance && !slices.Contains(noise, event.Kind) && !slices.Contains(kinds, event.Kind) {
			kinds = append(kinds, event.Kind)
		}
	}
	return kinds
}

// cause is what a person is told of a life that did not go as it should.
func (l *life) cause() string {
	for _, reason := range []string{v2.EventShutdownAttemptLimitReached, v2.EventClaimFailed} {
		if reason == v2.EventClaimFailed && l.ended.claim.Status.Phase != v2.ClaimFailed || reason != v2.EventClaimFailed && l.paused == 0 {
			continue
		}
		return reason + ": " + l.told(reason)
	}
	return l.ended.claim.Status.Message
}

var (
	aTime  = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|s|m|h))+\b|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
	aPort  = regexp.MustCompile(`127\.\d+\.\d+\.\d+:\d+`)
	aCount = regexp.MustCompile(`(sent|sent it) \d+ times`)
	// What is read last of a switch that flaps depends on how often it was read.
	aReading = regexp.MustCompile(`(the last reading is:) (on|off)`)
	theWay   = regexp.MustCompile(`; to resume now: .*`)
)

func (l *life) steady(line string) string {
	for _, protocol := range l.panel.Speaks() {
		line = strings.ReplaceAll(line, l.panel.Address(protocol), strings.ToUpper(string(protocol)))
	}
	line = strings.NewReplacer(l.panel.MAC.String(), "MAC", l.Machine, "M").Replace(line)
	line = aPort.ReplaceAllString(theWay.ReplaceAllString(line, ""), "US")
	if l.lie.lies.Flap {
		line = aReading.ReplaceAllString(line, "$1 either")
	}
	return aTime.ReplaceAllString(aCount.ReplaceAllString(line, "$1 N times"), "T")
}
