package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	"homecluster.dev/autoscaler/sandbox/liveview"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// Options say how the story is told.
type Options struct {
	UpOptions
	// Replicas is how many pods the Deployment wants, and so how many machines boot.
	Replicas int
	// ClusterAutoscaler is the path of a real binary that takes the stand-in client's place.
	ClusterAutoscaler string
	// Keep leaves everything up after the story, until the context ends.
	Keep bool
	// Plain shows lines of change even on a terminal.
	Plain bool
	// Timeout bounds each half of the story.
	Timeout time.Duration
	// Out is where the story is told.
	Out io.Writer
}

// Run tells the story once and returns nil only if every step of it was seen. Whatever happens, everything it started
// has been stopped when it returns; after a failure the logs are left behind, and the error says where.
func Run(ctx context.Context, o Options) (err error) {
	if err := o.Validate(); err != nil {
		return err
	}
	s, err := Up(ctx, o.UpOptions)
	if err != nil {
		return err
	}
	defer func() { err = s.Down(err) }()
	return guarded(func() error { return tell(ctx, s, o) })
}

// tell runs the recorder, whoever asks for machines, and the story, and ends all three when one of them fails.
func tell(ctx context.Context, s *Sandbox, o Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	asker := newAsker(s, o.ClusterAutoscaler)
	view := liveview.New(o.Out, o.Plain)
	title := fmt.Sprintf("homelab-autoscaler sandbox: 0 → %d → 0, asked for by %s", o.Replicas, asker.name)
	r := newRecorder(clock.RealClock{}, view, title, o.Replicas, s.machines())
	if err := watch(ctx, s.Config, r.object); err != nil {
		return err
	}
	crew := &crew{cancel: cancel}
	crew.run(func() error { return followPower(ctx, s.Room, r) })
	crew.run(func() error { return s.stands(ctx) })
	crew.run(func() error { return asker.run(ctx) })
	drawing, stopDrawing := context.WithCancel(ctx)
	drawn := make(chan struct{})
	go func() { defer close(drawn); r.draw(drawing) }()

	began := time.Now()
	err := story(ctx, s, r, o)
	stopDrawing()
	<-drawn
	conclude(o.Out, r, err, time.Since(began))
	if err == nil && o.Keep {
		s.explain(o.Out)
		<-ctx.Done()
		err = unlessInterrupted(ctx)
	}
	cancel(nil)
	crew.wait()
	return err
}

// dwell is how long the running pods are left to be looked at.
const dwell = 3 * time.Second

// story is the two acts: the Deployment appears and its pods run; it wants none and the machines sleep.
func story(ctx context.Context, s *Sandbox, r *recorder, o Options) error {
	app := deployment(int32(o.Replicas))
	if err := s.Client.Create(ctx, app); err != nil {
		return fmt.Errorf("creating the Deployment: %w", err)
	}
	if err := act(ctx, r, ScaleUp, o.Timeout); err != nil {
		return err
	}
	r.clock.Sleep(dwell)
	if err := scaleTo(ctx, s.Client, app, 0); err != nil {
		return err
	}
	return act(ctx, r, ScaleDown, o.Timeout)
}

func act(ctx context.Context, r *recorder, act Act, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return r.wait(ctx, act)
}

func scaleTo(ctx context.Context, c client.Client, app *appsv1.Deployment, replicas int32) error {
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	target := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name}}
	if err := c.Patch(ctx, target, patch); err != nil {
		return fmt.Errorf("scaling the Deployment to %d: %w", replicas, err)
	}
	return nil
}

// followPower feeds the power log to the recorder, line by line, until the context ends.
func followPower(ctx context.Context, room *machineroom.Room, r *recorder) error {
	var seq int64
	for {
		event, err := room.WaitFor(ctx, machineroom.After(seq))
		if err != nil {
			return unlessInterrupted(ctx)
		}
		seq = event.Seq
		r.power(event)
	}
}

// conclude says in the end what was seen and how long it took. On a terminal the checklist stands there already.
func conclude(out io.Writer, r *recorder, err error, took time.Duration) {
	if !r.view.Live() {
		_, _ = fmt.Fprintln(out)
		for _, line := range r.summary() {
			_, _ = fmt.Fprintln(out, line)
		}
	}
	if err == nil {
		_, _ = fmt.Fprintf(out, "The story came true: every step was seen, in %s.\n", took.Round(100*time.Millisecond))
	}
}

// unlessInterrupted is why the context ended; a person who ended it is no fault.
func unlessInterrupted(ctx context.Context) error {
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}
