package demo

import (
	"context"
	"fmt"
	"io"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// PlayOptions say what a sandbox to play with has.
type PlayOptions struct {
	UpOptions
	// Client runs the stand-in client.
	Client bool
	// ClusterAutoscaler is the path of a real binary to run instead.
	ClusterAutoscaler string
	// Out is where a person is told how to use it.
	Out io.Writer
}

// Play keeps a sandbox up until the context ends, or until something in it fails.
func Play(ctx context.Context, o PlayOptions) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	s, err := Up(ctx, o.UpOptions)
	if err != nil {
		return err
	}
	defer func() { err = s.Down(err) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	crew := &crew{cancel: cancel}
	crew.run(func() error { return s.stands(ctx) })
	if o.Client || o.ClusterAutoscaler != "" {
		crew.run(func() error { return newAsker(s, o.ClusterAutoscaler).run(ctx) })
	}
	if err := s.Client.Create(ctx, deployment(0)); err != nil {
		cancel(fmt.Errorf("creating the Deployment: %w", err))
	} else {
		s.explain(o.Out)
	}
	crew.wait()
	return unlessInterrupted(ctx)
}

// stands returns when the context ends, or with an error when the control plane, the manager or the power
// observer ends before it.
func (s *Sandbox) stands(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.plane.Failed():
		return err
	case <-s.manager.ended:
		return s.manager.watch(ctx)
	case <-s.observer.ended:
		return s.observer.watch(ctx)
	}
}

// explain tells a person how to look around.
func (s *Sandbox) explain(out io.Writer) {
	_, _ = fmt.Fprintf(out, `
The sandbox is up and stays until Ctrl-C. In another terminal:

  export KUBECONFIG=%[1]s
  kubectl config set-context --current --namespace=%[2]s

  kubectl get hlgroup,slot,nc         what there is
  kubectl get nc -w                   claims as they live
  kubectl describe slot worker-1      one machine and its story, and what its switch says
  kubectl explain nodeclaim.spec      what a claim can say

With somebody who asks for machines (the demo has, up has with --client), pods are enough:

  kubectl scale deployment/%[3]s -n %[4]s --replicas=1

A machine of your own, asked for by hand; kubectl delete nc gives it back, and so does whoever asks for machines, as soon
as it has been idle for a while:

  echo '{"apiVersion": "%[8]s", "kind": "NodeClaim", "metadata": {"generateName": "big-1-"}, "spec": {
    "slotRef": {"name": "big-1"}, "request": {"call": "Create", "group": "big"}, "requestedBy": "me"}}' | kubectl create -f -

  power log                 %[5]s/log, %[5]s/machines
  worker-1's switch         %[9]s
  logs of every part        %[6]s
  provider (externalgrpc)   %[7]s, by mutual TLS
  a client's certificate    %[10]s/%[11]s.crt and .key, ca.crt
`, s.Kubeconfig, Namespace, App, AppNamespace, s.Room.URL(), s.Logs, s.Provider, v2.GroupVersion, s.byHand,
		s.certificates.dir, clientName)
}
