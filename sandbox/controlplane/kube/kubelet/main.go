// Command kubelet is the kubelet of the same Kubernetes. It has a binary of its own, because nothing but an optional test wants
// it, and it is built for Linux alone.
package main

import (
	"context"
	"os"

	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubernetes/cmd/kubelet/app"
)

// The kubelet listens for signals itself.
func main() { os.Exit(cli.Run(app.NewKubeletCommand(context.Background()))) }
