package observer

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/internal/power"
)

// Observer keeps a line for each slot that it was told of. Its fields are set before it starts and never changed.
type Observer struct {
	Clock clock.Clock
	// Pace is how often switches are asked.
	Pace Pace
	// Open makes the switch of a slot with the credentials of now. It is called for every round, so that nothing keeps a
	// password longer.
	Open func(ctx context.Context, slot *v2.Node) (Opened, error)
	// Save writes a reading into a slot.
	Save func(ctx context.Context, slot *v2.Node, reading *v2.PowerReading) error
	// Chance is a number from 0 up to 1, another each time.
	Chance func() float64
	// Told counts a round: what protocol, what came of it, how long it took.
	Told func(protocol string, result Result, took time.Duration)
	Log  logr.Logger

	places places
	mu     sync.Mutex
	// ctx is what lines run in; nil until the observer starts, and when it ends.
	ctx   context.Context //nolint:containedctx // lines begin and end with slots, all within Start
	lines map[string]*hung
	group sync.WaitGroup
}

// hung is a line and how to take it down.
type hung struct {
	*line
	uid    types.UID
	cancel context.CancelFunc
}

// Opened is a switch that can be asked.
type Opened struct {
	Switch power.Switch
	// Shown stands for what the switch is shown of us, without telling it: other credentials may be accepted where these
	// were not.
	Shown string
}

// Cause is why a switch is asked now.
type Cause int

// The causes. Nothing is an update of the slot that means nothing to its switch.
const (
	Nothing Cause = iota
	// Heard is a kubelet that fell silent or reports again.
	Heard
	// Ended is a lifecycle Job that ended.
	Ended
	// Changed is a switch that was declared anew.
	Changed
)

// Start runs the lines until the context ends, and waits for them.
func (o *Observer) Start(ctx context.Context) error {
	o.mu.Lock()
	o.ctx = ctx
	for _, l := range o.lines {
		o.hang(l)
	}
	o.mu.Unlock()
	<-ctx.Done()
	o.mu.Lock()
	o.ctx = nil // what is told of from here on is asked nothing
	o.mu.Unlock()
	o.group.Wait()
	return nil
}

// Tell tells of a slot with a readable switch as it is now, and what has happened to it.
func (o *Observer) Tell(slot *v2.Node, cause Cause) {
	o.mu.Lock()
	defer o.mu.Unlock()
	known := o.lines[slot.Name]
	if known != nil && known.uid != slot.UID {
		o.drop(slot.Name)
		known = nil
	}
	if known == nil {
		fresh := &hung{line: &line{o: o, rung: make(chan struct{}, 1), counts: map[Result]float64{}}, uid: slot.UID}
		fresh.begin(slot)
		if o.lines == nil {
			o.lines = map[string]*hung{}
		}
		o.lines[slot.Name] = fresh
		if o.ctx != nil {
			o.hang(fresh)
		}
		return
	}
	known.tell(slot, cause)
}

func (l *line) tell(slot *v2.Node, cause Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if cause == Changed {
		l.begin(slot)
		l.edited = true
	}
	l.slot = slot
	l.plan.urgent = l.plan.urgent || cause == Heard || cause == Ended
	l.ended = l.ended || cause == Ended
	if cause != Nothing {
		l.ring()
	}
}

// hang starts a line.
func (o *Observer) hang(l *hung) {
	ctx, cancel := context.WithCancel(o.ctx)
	l.cancel = cancel
	o.group.Go(func() { l.run(ctx) })
}

// Forget ends the line of a slot that is gone, or whose switch cannot be read any more.
func (o *Observer) Forget(slot string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(slot)
}

func (o *Observer) drop(slot string) {
	if l := o.lines[slot]; l != nil && l.cancel != nil {
		l.cancel()
	}
	delete(o.lines, slot)
}

// Count is what there is to count of one slot.
type Count struct {
	Slot    *v2.Node
	Switch  string
	Results map[Result]float64
	// Failed counts the rounds in a row that came to nothing.
	Failed int
}

// Counts are those of all lines, by the slots' names.
func (o *Observer) Counts() []Count {
	o.mu.Lock()
	defer o.mu.Unlock()
	var counts []Count
	for _, name := range slices.Sorted(maps.Keys(o.lines)) {
		counts = append(counts, o.lines[name].count())
	}
	return counts
}

func (l *line) count() Count {
	l.mu.Lock()
	defer l.mu.Unlock()
	return Count{Slot: l.slot, Switch: switches.Protocol(l.slot.Spec.Power), Results: maps.Clone(l.counts), Failed: l.plan.failed}
}
