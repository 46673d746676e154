// Command sandbox is a whole cluster in one process tree, for a person to watch and to play with: a real control plane,
// simulated machines with power switches, the manager, and somebody who asks it for machines.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// Exit codes: the story came true (or there was none to tell), it did not, the command line was wrong, Ctrl-C.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// command is one thing the sandbox can do.
type command struct {
	name, summary string
	run           func(ctx context.Context, args []string) error
}

func commands() []command {
	return []command{
		{"demo", "tell the story: pods wait, machines boot, the pods run, the machines sleep", runDemo},
		{"up", "keep a cluster with sleeping machines and the manager running, to play with", runUp},
		{"power", "press a simulated machine's power switch, as a slot's Job does", runPower},
	}
}

func main() { os.Exit(realMain(os.Args[1:])) }

func realMain(args []string) int {
	if len(args) == 0 || args[0] == "help" || args[0] == "-h" || args[0] == "--help" {
		usage(os.Stdout)
		return exitOK
	}
	for _, c := range commands() {
		if c.name == args[0] {
			return report(c.name, execute(c, args[1:]))
		}
	}
	fmt.Fprintf(os.Stderr, "sandbox: there is no command %q\n\n", args[0])
	usage(os.Stderr)
	return exitUsage
}

// execute runs the command until it ends or is asked to. The first Ctrl-C stops everything in order; a second one does
// not wait for that.
func execute(c command, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() {
		<-ctx.Done()
		stop()
	}()
	return c.run(ctx, args)
}

// report says what went wrong, in a line where a line will do, and picks the exit code.
func report(name string, err error) int {
	var code exitCode
	var usage usageError
	switch {
	case err == nil, errors.Is(err, errHelp):
		return exitOK
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "sandbox %s: %s\nRun \"sandbox %s --help\" for its flags.\n", name, usage, name)
		return exitUsage
	case errors.Is(err, context.Canceled):
		fmt.Fprintf(os.Stderr, "sandbox %s: interrupted; everything is stopped and removed\n", name)
		return exitInterrupted
	}
	fmt.Fprintf(os.Stderr, "sandbox %s: %s\n", name, err)
	return exitFailed
}

func usage(out io.Writer) {
	var list strings.Builder
	for _, c := range commands() {
		fmt.Fprintf(&list, "  %-8s %s\n", c.name, c.summary)
	}
	_, _ = fmt.Fprintf(out, `A homelab cluster in one process tree: a real Kubernetes control plane, simulated machines
with power switches of their own, and homelab-autoscaler switching them on and off.

It needs Go and nothing else, touches no machine of yours, listens on loopback only, and
leaves nothing behind when it ends.

Commands:
%s
Start with "sandbox demo"; add --keep to look around with kubectl afterwards.
Each command explains its flags with --help.
`, &list)
}
