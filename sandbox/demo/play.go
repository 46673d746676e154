package demo

import (
	"context"
	"fmt"
	"io"
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

// stands returns when the context ends, or with an error when the manager or the control plane ends before it.
func (s *Sandbox) stands(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case err := <-s.plane.Failed():
		return err
	case <-s.manager.ended:
		return s.manager.watch(ctx)
	}
}

// explain tells a person how to look around.
func (s *Sandbox) explain(out io.Writer) {
	_, _ = fmt.Fprintf(out, `
The sandbox is up and stays until Ctrl-C. In another terminal:

  export KUBECONFIG=%[1]s
  kubectl get hlgroup,slot,nc -n %[2]s          what there is
  kubectl get nc -n %[2]s -w                    claims as they live
  kubectl describe slot -n %[2]s worker-1       one machine and its story
  kubectl scale deployment/%[3]s -n %[4]s --replicas=1   wake a machine, if somebody asks for it
  kubectl explain nodeclaim.spec

A machine of your own, without any autoscaler:

  kubectl create -n %[2]s -f - <<EOF
  {"apiVersion": "infra.homecluster.dev/v2alpha1", "kind": "NodeClaim", "metadata": {"generateName": "worker-1-"},
   "spec": {"slotRef": {"name": "worker-1"}, "request": {"call": "Create", "group": "workers"}, "requestedBy": "me"}}
  EOF

  power log and switches    %[5]s/log, %[5]s/machines
  logs of every part        %[6]s
  provider (externalgrpc)   %[7]s
`, s.Kubeconfig, Namespace, App, AppNamespace, s.Room.URL(), s.Logs, s.Provider)
}
