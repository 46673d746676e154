package machineroom

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"homecluster.dev/autoscaler/internal/power/cli"
)

// powerProgram is the program power as its image has it, run by this binary.
func powerProgram(args []string, out, complaints io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, cli.Process{
		Args: args, Env: os.Getenv, ReadFile: os.ReadFile, Out: out, Errors: complaints, Clock: realClock{},
		WriteFile: func(name string, text []byte) error { return os.WriteFile(name, text, 0o600) },
	})
}

// realClock is the program's.
type realClock struct{}

// Now is the time.
func (realClock) Now() time.Time { return time.Now() }

// Sleep waits for d, or until the context ends.
func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
