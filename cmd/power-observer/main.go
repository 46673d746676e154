// Command power-observer reads machines' power switches and keeps what they say in their slots.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"homecluster.dev/autoscaler/internal/config"
	"homecluster.dev/autoscaler/internal/observer"
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
	c, err := config.ParseObserver(args, config.Process())
	switch {
	case errors.Is(err, config.ErrHelp):
		if _, err := io.WriteString(out, config.ObserverUsage()); err != nil {
			return exitFailed
		}
		return 0
	case err != nil:
		return config.Complain(complaints, "power-observer", err, exitUsage)
	}
	if err := observer.Run(ctx, c); err != nil {
		return config.Complain(complaints, "power-observer", err, exitFailed)
	}
	return 0
}
