// Kubectl-homelab is a plugin of kubectl: kubectl homelab status, why, up, down, hold and more.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"homecluster.dev/autoscaler/internal/plugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := plugin.New(os.Stdin, os.Stdout, os.Stderr).ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "error: "+err.Error())
		stop()
		os.Exit(1) //nolint:gocritic // stop has been called
	}
}
