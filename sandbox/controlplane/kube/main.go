// Command kube is one binary that is etcd, kube-apiserver, kube-controller-manager or kube-scheduler, as its first
// argument says. It is a module of its own because only here are Kubernetes' staging modules replaced by their
// published versions; nothing else of the project sees its dependencies.
package main

import (
	"fmt"
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	if len(os.Args) < 2 {
		fail("no component named")
	}
	component := os.Args[1]
	holdLifeline()
	// Each component reads its flags from os.Args as if it were alone in its binary.
	os.Args = append([]string{component}, os.Args[2:]...)
	switch component {
	case "etcd":
		etcdmain.Main(os.Args)
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	case "kube-scheduler":
		os.Exit(cli.Run(scheduler.NewSchedulerCommand()))
	default:
		fail(fmt.Sprintf("unknown component %q", component))
	}
}

func fail(why string) {
	fmt.Fprintf(os.Stderr, "kube: %s; usage: kube etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]\n", why)
	os.Exit(2)
}
