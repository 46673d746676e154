package replay

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ctrlslot "homecluster.dev/autoscaler/internal/controller/slot"
	"homecluster.dev/autoscaler/internal/core/model"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
)

var (
	errDied      = errors.New("the manager has died")
	errAbandoned = errors.New("nobody waits for this leader")
)

// unlimited is more than any commit needs.
const unlimited = 1 << 20

// turnstile lets so many requests of a commit through and stops the next one. The reads before the first write are
// counted, since the commit begins with them; a read later belongs to the write that follows it.
type turnstile struct {
	client.Client
	looks, writes int
	// stop answers what becomes of the request that is stopped, and of all that follow.
	stop func() error
}

func (g *turnstile) read() error {
	switch {
	case g.writes > 0:
		return nil
	case g.looks > 0:
		g.looks--
		return nil
	}
	return g.stop()
}

func (g *turnstile) write(write func() error) error {
	if g.writes == 0 {
		if err := g.stop(); err != nil {
			return err
		}
	}
	err := write()
	if err == nil || apierrors.IsAlreadyExists(err) {
		g.writes--
	}
	if apierrors.IsAlreadyExists(err) {
		g.looks++ // it is looked at next, and that is still this write
	}
	return err
}

func (g *turnstile) Get(ctx context.Context, key client.ObjectKey, into client.Object, o ...client.GetOption) error {
	if err := g.read(); err != nil {
		return err
	}
	return g.Client.Get(ctx, key, into, o...)
}

func (g *turnstile) List(ctx context.Context, into client.ObjectList, o ...client.ListOption) error {
	if err := g.read(); err != nil {
		return err
	}
	return g.Client.List(ctx, into, o...)
}

func (g *turnstile) Create(ctx context.Context, object client.Object, o ...client.CreateOption) error {
	return g.write(func() error { return g.Client.Create(ctx, object, o...) })
}

func (g *turnstile) Patch(ctx context.Context, object client.Object, patch client.Patch, o ...client.PatchOption) error {
	return g.write(func() error { return g.Client.Patch(ctx, object, patch, o...) })
}

func (g *turnstile) Delete(ctx context.Context, object client.Object, o ...client.DeleteOption) error {
	return g.write(func() error { return g.Client.Delete(ctx, object, o...) })
}

func (g *turnstile) Status() client.SubResourceWriter { return statusTurnstile{g.Client.Status(), g} }

type statusTurnstile struct {
	client.SubResourceWriter
	g *turnstile
}

func (s statusTurnstile) Patch(ctx context.Context, object client.Object, patch client.Patch, o ...client.SubResourcePatchOption) error {
	return s.g.write(func() error { return s.SubResourceWriter.Patch(ctx, object, patch, o...) })
}

// result is how a commit ended: what was published, and the error.
type result struct {
	told []string
	err  error
}

// paused is a leader that stopped in the middle of a commit.
type paused struct {
	goOn  chan error
	ended chan result
}

// abandon lets a leader that will never go on end.
func (p *paused) abandon() {
	if p != nil {
		p.goOn <- errAbandoned
		<-p.ended
	}
}

// decide observes through a cache and steps.
func (h *home) decide(t *model.Transition, cache *view) (slot.Input, slot.Decision) {
	h.t.Helper()
	observer := ctrlslot.Observer{
		Cache: cache, Live: kube.NewLive(h.client), Clock: clocktesting.NewFakePassiveClock(t.Before.Now), Base: policy.Default(),
	}
	in, err := observer.Observe(h.t.Context(), types.NamespacedName{Namespace: h.namespace, Name: machine})
	h.must(err)
	d, err := slot.Step(in)
	h.must(err)
	if t.Decision != nil {
		h.same("decides", h.lined(d), t.Decision.Lines())
	}
	return in, d
}

// lined tells a decision as the model would: it may speak of its namespace.
func (h *home) lined(d slot.Decision) []string {
	lines := d.Lines()
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], h.namespace, modelled)
	}
	return lines
}

// commit carries a decision out behind a turnstile.
func (h *home) commit(g *turnstile, in slot.Input, d slot.Decision) result {
	var r result
	live := kube.NewLive(g)
	committer := ctrlslot.Committer{
		Live: live, Writer: kube.NewWriter(g, live), Brake: h.brake, Metrics: h.metrics,
		Publish: func(e kube.Event) { r.told = append(r.told, e.Reason) },
	}
	_, r.err = committer.Commit(h.t.Context(), in, d)
	return r
}

// pass is a whole reconcile, or one that dies after so many writes.
func (h *home) pass(t *model.Transition, cache *view, writes int) {
	h.t.Helper()
	in, d := h.decide(t, cache)
	h.ended(t, h.commit(&turnstile{Client: h.client, looks: unlimited, writes: writes, stop: func() error { return errDied }}, in, d))
}

// pause decides and commits until so many writes are done.
func (h *home) pause(t *model.Transition, writes int) {
	h.t.Helper()
	in, d := h.decide(t, h.now)
	p := &paused{goOn: make(chan error), ended: make(chan result, 1)}
	stopped := make(chan struct{})
	g := &turnstile{Client: h.client, writes: writes}
	if writes == 0 {
		g.looks = len(d.Assumes)
	}
	g.stop = func() error {
		close(stopped)
		err := <-p.goOn
		g.writes = unlimited
		g.stop = func() error { return err }
		if err != nil {
			g.writes = 0
		}
		return err
	}
	go func() { p.ended <- h.commit(g, in, d) }()
	select {
	case <-stopped:
		h.paused = p
	case r := <-p.ended: // refused before it came to that
		h.ended(t, r)
	}
}

// goOn lets the paused leader write on.
func (h *home) goOn(t *model.Transition) {
	h.t.Helper()
	p := h.paused
	h.paused = nil
	if p == nil {
		h.t.Fatalf("no leader is paused\n%s", h.story())
	}
	p.goOn <- nil
	h.ended(t, <-p.ended)
}

// ended compares how a commit ended with how it did in the model.
func (h *home) ended(t *model.Transition, r result) {
	h.t.Helper()
	suspended := slices.Equal(r.told, []string{"ObservationSuspended"})
	refused := r.err != nil && !errors.Is(r.err, errDied) || suspended
	if refused != (t.Refused != nil) {
		h.t.Fatalf("the commit ended with %v, the model's with %v\n%s", r.err, t.Refused, h.story())
	}
	if refused && !suspended && !kube.DecideAgain(r.err) {
		h.t.Fatalf("a refused write is an error: %v\n%s", r.err, h.story())
	}
	var told []string
	for _, note := range t.Told {
		told = append(told, note.Reason)
	}
	if !suspended && !errors.Is(r.err, errDied) { // the dead tell nothing
		h.same("tells", r.told, told)
	}
}
