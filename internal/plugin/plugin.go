// Package plugin is kubectl homelab: the pool at a glance, the story of a machine, and the few things a person does to it.
//
// Every command reads and writes the three kinds and nothing else; what it changes, the operator sees as anybody's change.
package plugin

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/internal/kube"
)

// session is one invocation: where it reads from and writes to, and how it reaches the cluster.
type session struct {
	flags *genericclioptions.ConfigFlags
	out   *printer
	clock clock.PassiveClock
	// cluster is nil until the first command needs it.
	cluster client.WithWatch
}

// New is the command with all its subcommands. Nothing reaches a cluster before one of them runs.
func New(in io.Reader, out, errors io.Writer) *cobra.Command {
	s := &session{flags: genericclioptions.NewConfigFlags(true), out: &printer{Writer: out}, clock: kube.Clock{}}
	root := &cobra.Command{
		Use:   "kubectl-homelab",
		Short: "See and steer the machines that homelab-autoscaler switches on and off",
		Long: "See and steer the machines that homelab-autoscaler switches on and off.\n\n" +
			"A slot is one machine's configuration; a claim is one request for it. A machine is wanted exactly while a live claim\n" +
			"names its slot: up makes a claim, down takes it back.",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl homelab"},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errors)
	s.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVarP(&s.out.format, "output", "o", "", "table (the default), wide, json or yaml")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return s.out.check() }
	root.AddCommand(s.status(), s.why(), s.up(), s.down(), s.hold(), s.release(), s.history(), s.reset(), s.top(), s.watch())
	return root
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
