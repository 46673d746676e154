package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/demo"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

func runDemo(ctx context.Context, args []string) error {
	o := demo.Options{Out: os.Stdout}
	flags := newFlags("demo", `A Deployment wants pods that no kubeNode has room for. Machines are switched on, join, and the
pods run. Then the Deployment wants none, the machines are idle, and are switched off again.
Every step is printed with its time when it was seen on the API server or in the power log;
the exit code is 0 only if every step was seen.`)
	flags.IntVar(&o.Replicas, "replicas", 2, fmt.Sprintf("pods the Deployment wants, a machine each; at most `n` = %d", demo.MaxReplicas()))
	flags.BoolVar(&o.Keep, "keep", false, "afterwards leave everything up until Ctrl-C, and print the kubeconfig")
	flags.BoolVar(&o.Plain, "plain", false, "print lines of change, also on a terminal")
	flags.StringVar(&o.ClusterAutoscaler, "cluster-autoscaler", "", "`path` of a real cluster-autoscaler to ask for machines,\nin place of the stand-in client")
	flags.DurationVar(&o.Timeout, "timeout", 4*time.Minute, "how long each half of the story may take")
	if err := parseUp(flags, args, &o.UpOptions); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return demo.Run(ctx, o)
}

func runUp(ctx context.Context, args []string) error {
	o := demo.PlayOptions{Out: os.Stdout}
	flags := newFlags("up", `Keeps a control plane, sleeping machines and the manager running until Ctrl-C, and prints the
kubeconfig. Make a NodeClaim by hand and watch its machine boot; or add --client, and a
Deployment is enough.`)
	flags.BoolVar(&o.Client, "client", false, "run the stand-in client too: it asks for machines when pods have no place")
	flags.StringVar(&o.ClusterAutoscaler, "cluster-autoscaler", "", "run this real cluster-autoscaler (`path`) instead")
	if err := parseUp(flags, args, &o.UpOptions); err != nil {
		return err
	}
	if err := o.Validate(); err != nil {
		return usageError{err}
	}
	return demo.Play(ctx, o)
}

// parseUp adds the flags that every command with a cluster has, and reads the command line.
func parseUp(flags flags, args []string, o *demo.UpOptions) error {
	flags.Func("switch", fmt.Sprintf("`what` the machines of a pool have, several dealt out in turn: of %v (default %s)", bmc.Wirings(), bmc.ByIPMI),
		func(text string) error {
			for _, word := range strings.Split(text, ",") {
				o.Switches = append(o.Switches, bmc.Wiring(word))
			}
			return nil
		})
	flags.StringVar(&o.Dir, "dir", "", "empty `folder` for the sandbox while it runs (default: a temporary one)")
	if err := flags.parse(args); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the sandbox's own binary: %w", err)
	}
	o.PowerCommand, o.Progress = []string{self, "power"}, os.Stderr
	return nil
}

// runPower hands over to the machine room's own command, which prints and answers for itself.
func runPower(_ context.Context, args []string) error {
	if code := machineroom.PowerCommand(args); code != 0 {
		return exitCode(code)
	}
	return nil
}
