// Command power works a machine's power switch over IPMI, Redfish, Wake-on-LAN, ssh or plain HTTP.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"homecluster.dev/autoscaler/internal/power/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, cli.Process{
		Args:      os.Args[1:],
		Env:       os.Getenv,
		ReadFile:  os.ReadFile,
		WriteFile: func(name string, text []byte) error { return os.WriteFile(name, text, 0o644) },
		Out:       os.Stdout,
		Errors:    os.Stderr,
		Clock:     clock{},
	})
	stop()
	os.Exit(code)
}

// clock is the real one.
type clock struct{}

// Now is the time.
func (clock) Now() time.Time { return time.Now() }

// Sleep waits for d, or until the context ends.
func (clock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
