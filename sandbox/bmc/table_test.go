package bmc_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/cli"
	"homecluster.dev/autoscaler/internal/power/process"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/golden"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// told is the table that is checked in.
const told = "testdata/lies.txt"

// lie is one way to deceive, and the verb that meets it.
type lie struct {
	name string
	verb string
	lies bmc.Lies
	// blind is that the machine's state is told wrong, so that nothing the switch says can be held against it.
	blind bool
}

func lies() []lie {
	const always = machineroom.Always
	return []lie{
		{name: "none", verb: "on"},
		{name: "none", verb: "soft"},
		{name: "none", verb: "off"},
		{name: "swallows a power-on", verb: "on", lies: bmc.Lies{SwallowPowerOn: always}},
		{name: "swallows the first power-on", verb: "on", lies: bmc.Lies{SwallowPowerOn: 1}},
		{name: "ignores a soft-off", verb: "soft", lies: bmc.Lies{IgnoreSoftOff: always}},
		{name: "answers late", verb: "on", lies: bmc.Lies{AnswerLate: lasting(300 * time.Millisecond)}},
		{name: "answers late", verb: "soft", lies: bmc.Lies{AnswerLate: lasting(300 * time.Millisecond)}},
		{name: "answers late", verb: "off", lies: bmc.Lies{AnswerLate: lasting(300 * time.Millisecond)}},
		{name: "answers too late", verb: "on", lies: bmc.Lies{AnswerLate: lasting(time.Hour)}},
		{name: "answers too late", verb: "soft", lies: bmc.Lies{AnswerLate: lasting(time.Hour)}},
		{name: "answers too late", verb: "off", lies: bmc.Lies{AnswerLate: lasting(time.Hour)}},
		{name: "answers never", verb: "on", lies: bmc.Lies{AnswerNever: true}},
		{name: "answers never", verb: "soft", lies: bmc.Lies{AnswerNever: true}},
		{name: "answers never", verb: "off", lies: bmc.Lies{AnswerNever: true}},
		{name: "refuses sessions", verb: "on", lies: bmc.Lies{RefuseSessions: always}},
		{name: "refuses sessions", verb: "soft", lies: bmc.Lies{RefuseSessions: always}},
		{name: "refuses sessions", verb: "off", lies: bmc.Lies{RefuseSessions: always}},
		{name: "refuses the first session", verb: "on", lies: bmc.Lies{RefuseSessions: 1}},
		{name: "tells the wrong state", verb: "on", lies: bmc.Lies{WrongState: true}, blind: true},
		{name: "tells the wrong state", verb: "soft", lies: bmc.Lies{WrongState: true}, blind: true},
		{name: "tells the wrong state", verb: "off", lies: bmc.Lies{WrongState: true}, blind: true},
		{name: "flaps", verb: "on", lies: bmc.Lies{Flap: true}},
		{name: "flaps", verb: "off", lies: bmc.Lies{Flap: true}},
		{name: "drops the first packet", verb: "on", lies: bmc.Lies{DropPackets: 1}},
		{name: "drops the first packet", verb: "soft", lies: bmc.Lies{DropPackets: 1}},
		{name: "drops the first packet", verb: "off", lies: bmc.Lies{DropPackets: 1}},
		{name: "rejects the password", verb: "on", lies: bmc.Lies{RejectPassword: true}},
		{name: "rejects the password", verb: "soft", lies: bmc.Lies{RejectPassword: true}},
		{name: "rejects the password", verb: "off", lies: bmc.Lies{RejectPassword: true}},
		{name: "says yes and does nothing", verb: "on", lies: bmc.Lies{DoNothing: always}},
		{name: "says yes and does nothing", verb: "soft", lies: bmc.Lies{DoNothing: always}},
		{name: "says yes and does nothing", verb: "off", lies: bmc.Lies{DoNothing: always}},
		{name: "hangs up after it was done", verb: "on", lies: bmc.Lies{HangUp: 1}},
		{name: "hangs up after it was done", verb: "soft", lies: bmc.Lies{HangUp: 1}},
		{name: "hangs up after it was done", verb: "off", lies: bmc.Lies{HangUp: 1}},
	}
}

// way is a protocol as a slot uses it, and the verbs that go through it.
type way struct {
	protocol bmc.Protocol
	wiring   bmc.Wiring
	verbs    []string
}

func ways() []way {
	both := []string{"on", "soft"}
	return []way{
		{bmc.IPMI, bmc.ByIPMI, both}, {bmc.Redfish, bmc.ByRedfish, both}, {bmc.Plug, bmc.ByPlug, []string{"on", "off"}},
		{bmc.WakeOnLAN, bmc.ByPackets, []string{"on"}}, {bmc.SSH, bmc.ByPackets, []string{"soft"}},
	}
}

// cell is what came of one lie over one protocol.
type cell struct {
	lie
	way
	code int
	line string
	log  []string
	on   bool
	// presses counts what reached the switch, whatever it made of it, and rejected the passwords it did not take.
	presses, rejected int
}

// TestEveryLieOverEveryProtocol runs the program power against each lie over each protocol that can tell it. What it said is
// held against the power log: "done" and "already" must be true, wherever the state was not told wrong.
func TestEveryLieOverEveryProtocol(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for switches that never answer")
	}
	var cells []*cell
	for _, l := range lies() {
		for _, w := range ways() {
			if slices.Contains(w.verbs, l.verb) {
				cells = append(cells, &cell{lie: l, way: w})
			}
		}
	}
	var work errgroup.Group
	work.SetLimit(24) // they wait; they do not work
	for _, c := range cells {
		b := newBench(t, c.wiring.Protocols()...)
		work.Go(func() error { return c.run(b) })
	}
	if err := work.Wait(); err != nil {
		t.Fatal(err)
	}
	for _, c := range cells {
		c.judge(t)
	}
	table := tabulate(cells)
	golden.Compare(t, told, table)
	t.Logf("\n%s", table)
}

// run plays the cell on a bench of its own.
func (c *cell) run(b *bench) error {
	if c.verb != "on" {
		if err := c.switchOn(b); err != nil {
			return err
		}
	}
	if err := b.SetLies(c.protocol, c.lies); err != nil {
		return err
	}
	folder, err := keep(b)
	if err != nil {
		return err
	}
	args := append(b.Args(c.wiring, folder), "--timeout=4s", "--reach=5s", "--observe=4s", "--poll=100ms", c.verb)
	var out bytes.Buffer
	c.code = cli.Run(b.t.Context(), cli.Process{
		Args: args, Env: func(string) string { return "" }, ReadFile: os.ReadFile, Out: &out, Errors: &out, Clock: process.Clock{}})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	c.line = c.steady(b, lines[len(lines)-1])
	c.on = b.Machine.Status().On
	seen := 0
	for i, event := range b.room.Log(machineroom.From(string(c.protocol))) {
		if event.Kind == bmc.LiesChanged {
			seen = i // what was before is how it came to be on
		}
	}
	for _, event := range b.room.Log(machineroom.From(string(c.protocol)))[seen:] {
		if slices.Contains(pressed, event.Kind) {
			c.presses++
		}
		if event.Kind == bmc.PasswordRejected {
			c.rejected++
		}
		kind := string(event.Kind)
		if event.Kind != bmc.LiesChanged && event.Kind != machineroom.Silent && !slices.Contains(c.log, kind) {
			c.log = append(c.log, kind)
		}
	}
	return nil
}

// switchOn brings the machine up by hand: its power button, or its plug.
func (c *cell) switchOn(b *bench) error {
	var err error
	if c.protocol == bmc.Plug {
		_, _, err = b.web(bmc.Plug).call("GET", "/rpc/Switch.Set?id=0&on=true", "")
	} else {
		err = b.Machine.Press(b.t.Context(), machineroom.ActionOn, "hand")
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(b.t.Context(), patience)
	defer cancel()
	_, err = b.Machine.WaitFor(ctx, machineroom.Is(machineroom.BootDone))
	if c.protocol == bmc.SSH {
		b.untilReachable(true)
	}
	return err
}

// pressed are the kinds that stand for one press each. A press that was swallowed is not noted as requested.
var pressed = []machineroom.Kind{machineroom.PowerOnRequested, machineroom.PowerOnSwallowed, machineroom.SoftOffRequested,
	machineroom.SoftOffIgnored, machineroom.CommandDidNothing, bmc.RelayUnmoved}

// keep writes the panel's Secret into files, as a volume has them.
func keep(b *bench) (string, error) {
	data, err := b.Secret()
	if err != nil {
		return "", err
	}
	folder := b.t.TempDir()
	for name, text := range data {
		if err := os.WriteFile(filepath.Join(folder, name), text, 0o600); err != nil {
			return "", err
		}
	}
	return folder, nil
}

var (
	aTime  = regexp.MustCompile(`\b(\d+(\.\d+)?(ms|µs|s|m|h))+\b`)
	aPort  = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	aCount = regexp.MustCompile(`(sent|sent it) \d+ times`)
	// What is read last of a switch that flaps depends on how often it was read.
	aReading = regexp.MustCompile(`(the last reading is:) (on|off)`)
)

// steady leaves out of a line what differs from run to run.
func (c *cell) steady(b *bench, line string) string {
	for _, protocol := range b.Speaks() {
		line = strings.ReplaceAll(line, b.Address(protocol), strings.ToUpper(string(protocol)))
	}
	line = aPort.ReplaceAllString(line, "US")
	line = aCount.ReplaceAllString(line, "$1 N times")
	if c.lies.Flap {
		line = aReading.ReplaceAllString(line, "$1 either")
	}
	return aTime.ReplaceAllString(line, "T")
}

// judge holds what the program said against what happened, and the number of its tries against the bound.
func (c *cell) judge(t *testing.T) {
	t.Helper()
	most := map[string]int{"on": 3, "off": 3, "soft": 1}[c.verb]
	if c.protocol == bmc.WakeOnLAN {
		most *= 3 // packets for one press
	}
	if c.presses > most {
		t.Errorf("%s over %s: power %s pressed %d times, not at most %d", c.name, c.protocol, c.verb, c.presses, most)
	}
	// One login: an account is locked after a few. That of ssh offers a key and then the password.
	if logins := map[bmc.Protocol]int{bmc.SSH: 2}[c.protocol]; c.rejected > max(1, logins) {
		t.Errorf("%s over %s: power %s tried a wrong password %d times", c.name, c.protocol, c.verb, c.rejected)
	}
	outcome := outcomeOf(c.code)
	if c.blind || outcome != power.Done && outcome != power.Already {
		return
	}
	if c.on != (c.verb == "on") {
		t.Errorf("%s over %s: power %s says %q, and the machine is on: %t", c.name, c.protocol, c.verb, c.line, c.on)
	}
}

func outcomeOf(code int) power.Outcome {
	for outcome, number := range power.ExitCodes {
		if number == code {
			return outcome
		}
	}
	return ""
}

func tabulate(cells []*cell) string {
	var out bytes.Buffer
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "the switch\tover\tpower\texit\tmachine\tpower log\tlast line")
	for _, c := range cells {
		machine := map[bool]string{true: "on", false: "off"}[c.on]
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d %s\t%s\t%s\t%s\n", c.name, c.protocol, c.verb, c.code, outcomeOf(c.code), machine,
			strings.Join(c.log, " "), c.line)
	}
	_ = table.Flush()
	return out.String()
}
