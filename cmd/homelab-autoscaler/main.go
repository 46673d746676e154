// Command homelab-autoscaler turns machines on when pods need them and off when they do not.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
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
	code := run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, s streams) int {
	if len(args) > 0 {
		if other, known := commandNamed(args[0]); known {
			return other(ctx, args[1:], s)
		}
	}
	c, err := config.Parse(args, config.Process())
	switch {
	case errors.Is(err, config.ErrHelp):
		return say(s.out, config.Usage())
	case err != nil:
		return complain(s.complaints, err, exitUsage)
	case c.Version:
		return say(s.out, manager.Version()+"\n")
	}
	if err := manager.Run(ctx, c); err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	return 0
}

// cloudConfig writes the file by which cluster-autoscaler finds the provider.
func cloudConfig(_ context.Context, args []string, s streams) int {
	c, err := config.ParseCloudConfig(args)
	switch {
	case errors.Is(err, config.ErrHelp):
		return say(s.out, config.CloudConfigUsage())
	case err != nil:
		return complain(s.complaints, err, exitUsage)
	}
	text, err := c.YAML()
	if err != nil {
		return complain(s.complaints, err, exitFailed)
	}
	return say(s.out, text)
}

// say prints what was asked for.
func say(w io.Writer, text string) int {
	if _, err := io.WriteString(w, text); err != nil {
		return exitFailed
	}
	return 0
}

func complain(w io.Writer, err error, code int) int {
	return config.Complain(w, "homelab-autoscaler", err, code)
}
