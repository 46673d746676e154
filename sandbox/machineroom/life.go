package machineroom

import (
	"context"
	"time"
)

// turnOn gives power and begins a boot; m.mu is held and the machine is off.
func (m *Metal) turnOn(source string) {
	former := m.current
	b := &boot{dead: make(chan struct{})}
	b.ctx, b.cancel = context.WithCancel(m.ctx)
	os, silence := context.WithCancel(b.ctx)
	b.silence = silence
	m.current, m.state = b, Booting
	m.boots++
	m.note(PoweredOn, source, "")
	m.work.Go(func() {
		defer close(b.dead)
		if former != nil {
			// Its kubelet lost its power long ago, but may still be waiting for an answer.
			<-former.dead
		}
		m.live(os, b)
	})
}

// live is a boot from the firmware to the end of its operating system, which os bounds.
func (m *Metal) live(os context.Context, b *boot) {
	if m.Temperament().NeverBoots {
		m.noteLocking(BootStalled, sourceItself, "")
	}
	if !m.hold(os, time.Now(), m.bootLength) || !m.bootDone(b) {
		return
	}
	m.software(os, m, osEvents{
		registered: func(fresh bool) { m.noteIf(os, registrationKind(fresh), m.KubeNode()) },
		ready: func() {
			m.noteIf(os, Ready, m.KubeNode())
			m.work.Go(func() { m.agent(os, m) })
			m.work.Go(func() { m.dieInTime(os, time.Now()) })
		},
		missing: func() { m.noteIf(os, NodeMissing, m.KubeNode()) },
	})
}

func (m *Metal) bootLength(t Temperament) time.Duration {
	if t.NeverBoots || t.SlowBoot.Duration < 0 {
		return Forever
	}
	return m.spec.BootTime + t.SlowBoot.Duration
}

// bootDone says whether this boot still has power.
func (m *Metal) bootDone(b *boot) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != b || m.state != Booting {
		return false
	}
	m.state = Up
	m.note(BootDone, sourceItself, "")
	return true
}

// noteIf notes what the operating system of os did, unless it has been silenced meanwhile.
func (m *Metal) noteIf(os context.Context, kind Kind, note string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if os.Err() == nil {
		m.note(kind, sourceItself, note)
	}
}

// dieInTime ends a machine whose temperament is to die after it was ready.
func (m *Metal) dieInTime(os context.Context, readyAt time.Time) {
	if !m.hold(os, readyAt, func(t Temperament) time.Duration {
		if t.DiesAfter.Duration <= 0 {
			return Forever
		}
		return t.DiesAfter.Duration
	}) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case os.Err() != nil:
	case m.temper.DiesWithPowerOn:
		m.die(sourceItself)
	default:
		m.cut(PowerLost, sourceItself)
	}
}

// die leaves a machine silent with its power on; m.mu is held.
func (m *Metal) die(source string) {
	if m.state == Off || m.state == Dead {
		return
	}
	b := m.current
	m.state = Dead
	b.silence()
	m.note(Panicked, source, "")
	m.work.Go(func() {
		<-b.dead
		m.noteOfBoot(b, Silent, source)
	})
}

// noteOfBoot notes something of b unless its power has gone, which says it all.
func (m *Metal) noteOfBoot(b *boot, kind Kind, source string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current == b && m.state != Off {
		m.note(kind, source, "")
	}
}

// goDown shuts the operating system down and then cuts the power; m.mu is held and the machine is up.
func (m *Metal) goDown(source string) {
	b := m.current
	m.state = GoingDown
	m.work.Go(func() {
		began := time.Now()
		b.silence()
		<-b.dead
		m.noteOfBoot(b, Silent, source)
		if !m.hold(b.ctx, began, func(Temperament) time.Duration { return m.spec.ShutdownTime }) {
			return
		}
		if m.Temperament().HangOnShutdown.Duration != 0 {
			m.noteOfBoot(b, Hung, sourceItself)
			if !m.hold(b.ctx, time.Now(), func(t Temperament) time.Duration { return t.HangOnShutdown.Duration }) {
				return
			}
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.current == b && m.state == GoingDown {
			m.cut(PoweredOff, source)
		}
	})
}

// cut ends the power at once; m.mu is held.
func (m *Metal) cut(kind Kind, source string) {
	if m.state == Off {
		return
	}
	b := m.current
	m.state = Off
	b.cancel()
	m.note(kind, source, "")
	if !m.temper.ComesBack.Spend() {
		return
	}
	m.work.Go(func() {
		if !m.hold(m.ctx, time.Now(), func(t Temperament) time.Duration { return t.ComesBackAfter.Duration }) {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.current == b && m.state == Off {
			m.turnOn(sourceItself)
		}
	})
}
