// Command homelab-autoscaler turns machines on when pods need them and off when they do not.
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

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/manager"
)

// The exit codes: a command line that cannot be, and everything else that ends a run.
const (
	exitFailed = 1
	exitUsage  = 2
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, out, complaints io.Writer) int {
	if len(args) > 0 && args[0] == config.CloudConfigCommand {
		return cloudConfig(args[1:], out, complaints)
	}
	c, err := config.Parse(args, config.Process())
	switch {
	case errors.Is(err, config.ErrHelp):
		return say(out, config.Usage())
	case err != nil:
		return complain(complaints, err, exitUsage)
	case c.Version:
		return say(out, manager.Version()+"\n")
	}
	if err := manager.Run(ctx, c); err != nil {
		return complain(complaints, err, exitFailed)
	}
	return 0
}

// cloudConfig writes the file by which cluster-autoscaler finds the provider.
func cloudConfig(args []string, out, complaints io.Writer) int {
	c, err := config.ParseCloudConfig(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		return say(out, config.CloudConfigUsage())
	case err != nil:
		return complain(complaints, err, exitUsage)
	}
	text, err := c.YAML()
	if err != nil {
		return complain(complaints, err, exitFailed)
	}
	return say(out, text)
}

// say prints what was asked for.
func say(w io.Writer, text string) int {
	if _, err := io.WriteString(w, text); err != nil {
		return exitFailed
	}
	return 0
}

// complain says on one line what is wrong. Where even that fails, the exit code is left.
func complain(w io.Writer, err error, code int) int {
	_, _ = fmt.Fprintf(w, "homelab-autoscaler: %s\n", strings.Join(strings.Fields(err.Error()), " "))
	return code
}
