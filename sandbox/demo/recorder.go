package demo

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"homecluster.dev/autoscaler/sandbox/liveview"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// recorder is where everything that is seen comes together: it feeds the world, ticks the checklist off and keeps the
// live view up to date.
type recorder struct {
	clock clock.WithTicker
	start time.Time
	title string
	view  *liveview.View

	mu        sync.Mutex
	world     *World
	checklist *Checklist
	n         int
	// changed is closed, and made anew, at every change.
	changed chan struct{}
}

// newRecorder begins to record the story of n machines. The elapsed time begins with it.
func newRecorder(c clock.WithTicker, view *liveview.View, title string, n int, machines []string) *recorder {
	return &recorder{clock: c, start: c.Now(), title: title, view: view, n: n, world: NewWorld(machines),
		checklist: NewChecklist(n), changed: make(chan struct{})}
}

func (r *recorder) object(object client.Object, deleted bool) {
	r.change(func(at time.Duration) { r.world.Apply(at, object, deleted) })
}

func (r *recorder) power(event machineroom.Event) {
	r.change(func(at time.Duration) { r.world.Power(at, event) })
}

// change makes one change and looks at what it means. Elsewhere than on a terminal every change is shown by itself, so
// that no state is skipped; a terminal is drawn by draw, as often as an eye can follow.
func (r *recorder) change(apply func(at time.Duration)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	apply(r.elapsed())
	r.checklist.Look(r.elapsed(), r.world)
	close(r.changed)
	r.changed = make(chan struct{})
	if !r.view.Live() {
		r.view.Show(r.frame())
	}
}

func (r *recorder) elapsed() time.Duration { return r.clock.Since(r.start) }

func (r *recorder) frame() liveview.Frame { return r.world.Frame(r.title, r.elapsed(), r.checklist) }

// draw redraws the terminal until the context ends.
func (r *recorder) draw(ctx context.Context) {
	if !r.view.Live() {
		return
	}
	ticker := r.clock.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	defer r.view.Close()
	for {
		r.mu.Lock()
		frame := r.frame()
		r.mu.Unlock()
		r.view.Show(frame)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// ErrNotSeen is a story that did not come true: the error says which step was not seen, and what was seen instead.
var ErrNotSeen = errors.New("the story did not come true")

// wait returns when every step of the act was seen, or says which was not.
func (r *recorder) wait(ctx context.Context, act Act) error {
	for {
		r.mu.Lock()
		missing, overrun, changed := r.checklist.Missing(act), r.checklist.Overrun(r.world, r.n), r.changed
		r.mu.Unlock()
		if overrun != "" {
			return fmt.Errorf("%w: %s", ErrNotSeen, overrun)
		}
		if missing == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return r.notSeen(ctx, act)
		case <-changed:
		}
	}
}

func (r *recorder) notSeen(ctx context.Context, act Act) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	missing := r.checklist.Missing(act)
	if missing == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
		return fmt.Errorf("waiting for %q: %w", missing.Text, cause)
	}
	return fmt.Errorf("%w: not seen: %s\n  instead: %s", ErrNotSeen, missing.Text, missing.Instead(r.world))
}

// summary is the checklist as text, for the end of the story.
func (r *recorder) summary() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return liveview.Render(liveview.Frame{Title: r.title, Elapsed: r.elapsed(), Steps: r.checklist.View()},
		liveview.Style{Width: 120, Height: len(r.checklist.Steps) + 2})
}
