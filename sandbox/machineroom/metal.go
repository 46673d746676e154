package machineroom

import (
	"context"
	"sync"
	"time"
)

// State is what a machine is doing.
type State string

// The states of a machine. It has power in all of them but Off, and its kubelet runs in Up only.
const (
	Off       State = "off"
	Booting   State = "booting"
	Up        State = "up"
	GoingDown State = "goingDown"
	Dead      State = "dead" // silent with the power on
)

// Status is a machine as its switch shows it.
type Status struct {
	Name  string `json:"name"`
	On    bool   `json:"on"`
	State State  `json:"state"`
	// Boots counts the times it was turned on.
	Boots    int    `json:"boots"`
	KubeNode string `json:"kubeNode"`
}

// osEvents is what the operating system of a machine tells its metal.
type osEvents struct {
	registered func(fresh bool)
	ready      func()
	missing    func()
}

// software is what comes up on a machine: it runs until ctx ends, and writes nothing after it returned.
type software func(ctx context.Context, m *Metal, tell osEvents)

// boot is one time of power. cancel ends all of it; silence ends its operating system only, and dead is closed when
// that has happened.
type boot struct {
	cancel, silence context.CancelFunc
	ctx             context.Context
	dead            chan struct{}
}

// Metal is a machine in the room. All its methods may be called at any time, by anybody.
type Metal struct {
	spec     Machine
	ctx      context.Context
	log      *powerLog
	software software
	agent    func(ctx context.Context, m *Metal)
	commands commands
	work     sync.WaitGroup

	mu      sync.Mutex
	state   State
	boots   int
	current *boot
	temper  Temperament
	// changed is closed, and replaced, whenever temper changes.
	changed chan struct{}
}

// Name is the machine's name.
func (m *Metal) Name() string { return m.spec.Name }

// KubeNode is the name with which its kubelet registers.
func (m *Metal) KubeNode() string { return m.spec.KubernetesNodeName }

// Status reports the machine.
func (m *Metal) Status() Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Status{Name: m.spec.Name, On: m.state != Off, State: m.state, Boots: m.boots, KubeNode: m.KubeNode()}
}

// Temperament is the present one, with what was spent of it taken off.
func (m *Metal) Temperament() Temperament {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.temper
}

// SetTemperament replaces the temperament.
func (m *Metal) SetTemperament(t Temperament) error {
	if err := t.Validate(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.temper = t
	close(m.changed)
	m.changed = make(chan struct{})
	m.note(TemperamentChanged, "", describe(t))
	return nil
}

// LosePower cuts the power as an outage does.
func (m *Metal) LosePower() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cut(PowerLost, sourceOutage)
}

// Panic kills the operating system and leaves the power on.
func (m *Metal) Panic() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.die(sourceOutage)
}

// note appends to the log; m.mu is held, so that the log has the order in which things happened.
func (m *Metal) note(kind Kind, source, note string) {
	m.log.add(Event{Machine: m.spec.Name, Kind: kind, On: m.state != Off, Source: source, Note: note})
}

// Note adds to the log what a switch that speaks a protocol of its own did, without a press.
func (m *Metal) Note(kind Kind, source, note string) { m.noteLocking(kind, source, note) }

// WaitFor returns the first event of this machine that all filters select, past or to come.
func (m *Metal) WaitFor(ctx context.Context, filters ...Filter) (Event, error) {
	return m.log.wait(ctx, append([]Filter{Of(m.spec.Name)}, filters...)...)
}

func (m *Metal) noteLocking(kind Kind, source, note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(kind, source, note)
}

// hold waits until length has passed since then, following every change of the temperament; a negative length never
// passes. It says whether ctx still holds.
func (m *Metal) hold(ctx context.Context, then time.Time, length func(Temperament) time.Duration) bool {
	for ctx.Err() == nil {
		m.mu.Lock()
		wait, changed := length(m.temper), m.changed
		m.mu.Unlock()
		var passed <-chan time.Time
		if wait >= 0 {
			left := time.Until(then.Add(wait))
			if left <= 0 {
				return true
			}
			timer := time.NewTimer(left)
			defer timer.Stop()
			passed = timer.C
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-passed:
		}
	}
	return false
}
