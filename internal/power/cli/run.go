package cli

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// Process is what the program takes from the outside.
type Process struct {
	Args []string
	// Env reads an environment variable.
	Env func(name string) string
	// ReadFile reads a file of credentials.
	ReadFile func(name string) ([]byte, error)
	// WriteFile writes the termination log.
	WriteFile func(name string, text []byte) error
	Out       io.Writer
	Errors    io.Writer
	Clock     power.Clock
}

// Run carries out what the arguments say and returns the exit code.
func Run(ctx context.Context, p Process) int {
	o, err := parse(p.Args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return p.print(help(&o))
	case err == nil && o.version:
		return p.print(version() + "\n")
	case err != nil:
		return p.finish(o, power.Result{Verb: o.verb, Outcome: power.Usage, Message: err.Error() + " (power -h)"})
	}
	b := &builder{options: o, clock: p.Clock, env: p.Env, read: p.ReadFile}
	machine, err := b.build()
	if err != nil {
		outcome := power.BadCredentials
		if _, misused := errors.AsType[usageError](err); misused {
			outcome = power.Usage
		}
		return p.finish(o, power.Result{Verb: o.verb, Outcome: outcome, Message: err.Error()})
	}
	o.limits.CutAfterSoft = o.opensBehind()
	operator := power.Operator{Switch: machine, Clock: p.Clock, Limits: o.limits, Progress: p.progress(o)}
	if both, paired := machine.(pair); paired {
		operator.Runs = both.runs
	}
	return p.finish(o, operator.Run(ctx, o.verb, o.until))
}

// opensBehind is whether the plug is opened behind a machine that went down by ssh, so that it starts when its power returns.
// Only one that measures watts is known to be a plug and to see that; on a KVM, off is a button that could start the machine.
func (o *options) opensBehind() bool {
	return o.ssh != "" && o.http.Off != nil && o.http.Status != nil && o.http.Status.Above != ""
}

// progress prints what happens on the way: before the last line, or, when that is JSON, beside it.
func (p Process) progress(o options) func(string) {
	to := p.Out
	if o.output == "json" {
		to = p.Errors
	}
	return func(line string) { _, _ = fmt.Fprintln(to, web.Line(line, maxLine)) }
}

// maxLine bounds what is said, in characters: a claim's record keeps 400 bytes of the line, and its cause stands at the end.
const maxLine = 370

// finish prints the result and picks the exit code.
func (p Process) finish(o options, result power.Result) int {
	result.Message = web.Line(result.Message, maxLine)
	line := result.String()
	text := line
	if o.output == "json" {
		encoded, err := json.Marshal(result)
		if err != nil {
			encoded = []byte(line)
		}
		text = string(encoded)
	}
	if o.termination != "" {
		if err := p.WriteFile(o.termination, []byte(line+"\n")); err != nil {
			_, _ = fmt.Fprintln(p.Errors, "writing the termination log:", err)
		}
	}
	if code := p.print(text + "\n"); code != 0 {
		return code
	}
	if slices.Contains(o.ok, result.Outcome) {
		return 0
	}
	return power.ExitCodes[result.Outcome]
}

func (p Process) print(text string) int {
	if _, err := io.WriteString(p.Out, text); err != nil {
		return power.ExitCodes[power.Interrupted]
	}
	return 0
}

// version is what the build knows of itself.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "unknown"
}

func help(o *options) string {
	var text strings.Builder
	text.WriteString(`power works a machine's power switch, and believes it only when it reads it again.

  power [flags] on|off|soft|cycle|status
  power [flags] wait on|off

on and off change nothing on a machine that is there already. soft asks for an orderly shutdown. Exit codes:

`)
	for _, row := range []struct {
		outcome power.Outcome
		says    string
	}{
		{power.Done, "the switch says so now, and did not before"},
		{power.Interrupted, "stopped from outside"},
		{power.Usage, "a command line that cannot be"},
		{power.Already, "it was as asked; nothing was sent"},
		{power.Unobserved, "the command was taken, the effect was not seen"},
		{power.Refused, "the switch said no, has no such button, or stayed busy"},
		{power.Unreachable, "no answer"},
		{power.BadCredentials, "user, password, key, certificate or host key not accepted"},
		{power.Garbled, "an answer that was not understood, or that another one belies"},
	} {
		fmt.Fprintf(&text, "  %d  %-12s %s\n", power.ExitCodes[row.outcome], row.outcome, row.says)
	}
	text.WriteString("\nThere is no flag for a password: see credentials.\n\n")
	flags := o.flags()
	flags.SetOutput(&text)
	flags.PrintDefaults()
	return text.String()
}
