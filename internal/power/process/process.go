// Package process is the program power as an operating system runs it: with the real clock, environment and files, and
// stopped by a signal. The program itself (cmd/power) and the sandbox, whose binary is the program too, are this.
package process

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"homecluster.dev/autoscaler/internal/power/cli"
)

// Run carries out what the arguments say and returns the exit code. Interrupt and SIGTERM, with which Kubernetes ends a
// pod, stop the operation, which says so.
func Run(args []string, out, complaints io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, cli.Process{
		Args: args, Env: os.Getenv, ReadFile: os.ReadFile, Out: out, Errors: complaints, Clock: Clock{},
		// Kubernetes has made the file of a termination log; elsewhere it is the caller's alone.
		WriteFile: func(name string, text []byte) error { return os.WriteFile(name, text, 0o600) },
	})
}

// Clock is the real one.
type Clock struct{}

// Now is the time.
func (Clock) Now() time.Time { return time.Now() }

// Sleep waits for d, or until the context ends, which is its error.
func (Clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
