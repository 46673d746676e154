// Package plugin is kubectl homelab: the pool at a glance, the story of a machine, and the few things a person does to it.
//
// Every command reads and writes the three kinds and nothing else; what it changes, the operator sees as anybody's change.
package plugin

import (
	"fmt"
	"io"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/kube"
)

// session is one invocation: where it reads from and writes to, and how it reaches the cluster.
type session struct {
	flags *genericclioptions.ConfigFlags
	out   *printer
	// errors is where warnings go.
	errors io.Writer
	clock  clock.PassiveClock
	// cluster is nil until the first command needs it.
	cluster client.WithWatch
}

// New is the command with all its subcommands. Nothing reaches a cluster before one of them runs.
func New(in io.Reader, out, errors io.Writer) *cobra.Command {
	s := &session{flags: genericclioptions.NewConfigFlags(true), out: &printer{Writer: out}, errors: errors, clock: kube.Clock{}}
	root := &cobra.Command{
		Use:   "kubectl-homelab",
		Short: "See and steer the machines that homelab-autoscaler switches on and off",
		Long: "See and steer the machines that homelab-autoscaler switches on and off.\n\n" +
			"A slot is one machine's configuration; a claim is one request for it. A machine is wanted exactly while a live claim\n" +
			"names its slot: up makes a claim, down takes it back. The flags by which kubectl reaches a cluster (--as, --server\n" +
			"and the like) are taken as well.",
		Example: "  kubectl homelab status -n homelab-autoscaler-system\n" +
			"  kubectl homelab why worker-01\n" +
			"  kubectl homelab hold worker-01 --reason 'new disk' --for 2h",
		Version:       release(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl homelab"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errors)
	s.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = !slices.Contains([]string{"context", "kubeconfig", "namespace"}, f.Name)
	})
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return s.out.check() }
	for _, shows := range []*cobra.Command{s.status(), s.why(), s.history(), s.top(), s.watch()} {
		shows.Flags().StringVarP(&s.out.format, "output", "o", "", "table (the default), wide, json or yaml")
		root.AddCommand(shows)
	}
	root.AddCommand(s.up(), s.down(), s.hold(), s.release(), s.reset())
	return root
}

// release is the version of the module that the program was built from.
func release() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

// connect reaches the cluster that the flags and the kubeconfig name.
func (s *session) connect() (client.WithWatch, error) {
	if s.cluster != nil {
		return s.cluster, nil
	}
	reach, err := s.flags.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	reach.QPS, reach.Burst = 50, 100
	reach.WarningHandler = rest.NewWarningWriter(s.errors, rest.WarningWriterOptions{Deduplicate: true})
	if s.cluster, err = client.NewWithWatch(reach, client.Options{Scheme: scheme}); err != nil {
		return nil, fmt.Errorf("reaching the cluster: %w", err)
	}
	return s.cluster, nil
}

// namespace is the one of the flags, or of the kubeconfig's context.
func (s *session) namespace() (string, error) {
	namespace, _, err := s.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return "", fmt.Errorf("reading the namespace from the kubeconfig: %w", err)
	}
	return namespace, nil
}
