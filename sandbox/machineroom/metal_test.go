package machineroom

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	bootTime     = 3 * time.Second
	shutdownTime = time.Second
)

// bench is one machine on a bench: its software is Ready as soon as it runs, and its agent lifts a taint at once.
type bench struct {
	*Metal
	t *testing.T
}

func newBench(t *testing.T, temper Temperament) *bench {
	t.Helper()
	log, err := openLog(filepath.Join(t.TempDir(), "power.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	m := &Metal{
		spec: Machine{Name: "m", KubernetesNodeName: "m", BootTime: bootTime, ShutdownTime: shutdownTime},
		ctx:  ctx, log: log, state: Off, temper: temper, changed: make(chan struct{}),
		software: func(ctx context.Context, _ *Metal, tell osEvents) {
			tell.registered(true)
			tell.ready()
			<-ctx.Done()
		},
		agent: func(context.Context, *Metal) {},
	}
	t.Cleanup(func() {
		cancel()
		m.work.Wait()
		if err := log.close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{Metal: m, t: t}
}

func (b *bench) press(actions ...Action) {
	b.t.Helper()
	for _, action := range actions {
		if err := b.Press(b.t.Context(), action, "switch"); err != nil {
			b.t.Fatal(err)
		}
	}
}

// after lets time pass and everything that falls due happen.
func (b *bench) after(d time.Duration) *bench {
	time.Sleep(d)
	synctest.Wait()
	return b
}

func (b *bench) become(t Temperament) {
	b.t.Helper()
	if err := b.SetTemperament(t); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) wants(state State, kinds ...Kind) {
	b.t.Helper()
	synctest.Wait()
	var got []Kind
	for _, e := range b.log.find() {
		got = append(got, e.Kind)
	}
	if diff := cmp.Diff(kinds, got); diff != "" {
		b.t.Errorf("power log (-want +got):\n%s", diff)
	}
	if b.Status().State != state {
		b.t.Errorf("state is %s, want %s", b.Status().State, state)
	}
}

func lasting(d time.Duration) metav1.Duration { return metav1.Duration{Duration: d} }

func TestMetal(t *testing.T) {
	booted := []Kind{PowerOnRequested, PoweredOn, BootDone, Registered, Ready}
	and := func(kinds []Kind, more ...Kind) []Kind { return append(append([]Kind{}, kinds...), more...) }
	tests := map[string]struct {
		temper Temperament
		live   func(*bench)
		state  State
		log    []Kind
	}{
		"it is booting until its boot time has passed": {
			live:  func(b *bench) { b.press(ActionOn); b.after(bootTime - time.Millisecond) },
			state: Booting, log: []Kind{PowerOnRequested, PoweredOn},
		},
		"it registers once per boot": {
			live:  func(b *bench) { b.press(ActionOn); b.after(time.Hour) },
			state: Up, log: booted,
		},
		"a soft-off silences it, and its power goes after the shutdown time": {
			live:  func(b *bench) { b.press(ActionOn); b.after(bootTime); b.press(ActionSoft); b.after(shutdownTime) },
			state: Off, log: and(booted, SoftOffRequested, Silent, PoweredOff),
		},
		"a soft-off finds nobody in the firmware": {
			live:  func(b *bench) { b.press(ActionOn, ActionSoft); b.after(bootTime) },
			state: Up, log: and([]Kind{PowerOnRequested, PoweredOn, SoftOffRequested, SoftOffIgnored}, BootDone, Registered, Ready),
		},
		"a hard off in the middle of a boot ends it": {
			live:  func(b *bench) { b.press(ActionOn, ActionOff); b.after(time.Hour) },
			state: Off, log: []Kind{PowerOnRequested, PoweredOn, PowerOffRequested, PoweredOff},
		},
		"a power cycle is a second boot": {
			live:  func(b *bench) { b.press(ActionOn); b.after(bootTime); b.press(ActionCycle); b.after(time.Hour) },
			state: Up, log: and(and(booted, PowerCycleRequested, PoweredOff, PoweredOn), booted[2:]...),
		},
		"a second power-on is no second boot": {
			live:  func(b *bench) { b.press(ActionOn, ActionOn); b.after(bootTime) },
			state: Up, log: []Kind{PowerOnRequested, PoweredOn, PowerOnRequested, PowerOnRedundant, BootDone, Registered, Ready},
		},
		"off and on again is a second boot": {
			live:  func(b *bench) { b.press(ActionOn); b.after(bootTime); b.press(ActionOff, ActionOn); b.after(bootTime) },
			state: Up, log: and(booted, and([]Kind{PowerOffRequested, PoweredOff}, booted...)...),
		},
		"never boots: the power is on and nobody comes": {
			temper: Temperament{NeverBoots: true},
			live:   func(b *bench) { b.press(ActionOn); b.after(time.Hour) },
			state:  Booting, log: []Kind{PowerOnRequested, PoweredOn, BootStalled},
		},
		"never boots, until it changes its mind": {
			temper: Temperament{NeverBoots: true},
			live:   func(b *bench) { b.press(ActionOn); b.after(time.Hour); b.become(Temperament{}) },
			state:  Up, log: []Kind{PowerOnRequested, PoweredOn, BootStalled, TemperamentChanged, BootDone, Registered, Ready},
		},
		"boots slowly": {
			temper: Temperament{SlowBoot: lasting(time.Minute)},
			live:   func(b *bench) { b.press(ActionOn); b.after(time.Minute) },
			state:  Booting, log: []Kind{PowerOnRequested, PoweredOn},
		},
		"boots slowly, and boots": {
			temper: Temperament{SlowBoot: lasting(time.Minute)},
			live:   func(b *bench) { b.press(ActionOn); b.after(time.Minute + bootTime) },
			state:  Up, log: booted,
		},
		"swallows one power-on and takes the next": {
			temper: Temperament{SwallowPowerOn: 1},
			live:   func(b *bench) { b.press(ActionOn, ActionOn); b.after(bootTime) },
			state:  Up, log: and([]Kind{PowerOnRequested, PowerOnSwallowed}, booted...),
		},
		"swallows every power-on": {
			temper: Temperament{SwallowPowerOn: Always},
			live:   func(b *bench) { b.press(ActionOn, ActionOn); b.after(bootTime) },
			state:  Off, log: []Kind{PowerOnRequested, PowerOnSwallowed, PowerOnRequested, PowerOnSwallowed},
		},
		"ignores a soft-off": {
			temper: Temperament{IgnoreSoftOff: 1},
			live:   func(b *bench) { b.press(ActionOn); b.after(bootTime); b.press(ActionSoft); b.after(time.Hour) },
			state:  Up, log: and(booted, SoftOffRequested, SoftOffIgnored),
		},
		"hangs on the way down for a time": {
			temper: Temperament{HangOnShutdown: lasting(time.Minute)},
			live:   func(b *bench) { b.press(ActionOn); b.after(bootTime); b.press(ActionSoft); b.after(time.Minute) },
			state:  GoingDown, log: and(booted, SoftOffRequested, Silent, Hung),
		},
		"hangs on the way down, and then is off": {
			temper: Temperament{HangOnShutdown: lasting(time.Minute)},
			live: func(b *bench) {
				b.press(ActionOn)
				b.after(bootTime).press(ActionSoft)
				b.after(time.Minute + shutdownTime)
			},
			state: Off, log: and(booted, SoftOffRequested, Silent, Hung, PoweredOff),
		},
		"hangs for ever, until its power is cut": {
			temper: Temperament{HangOnShutdown: lasting(Forever)},
			live: func(b *bench) {
				b.press(ActionOn)
				b.after(bootTime).press(ActionSoft)
				b.after(time.Hour).press(ActionSoft, ActionOff)
			},
			state: Off, log: and(booted, SoftOffRequested, Silent, Hung, SoftOffRequested, SoftOffIgnored, PowerOffRequested, PoweredOff),
		},
		"a command that does nothing reaches no power": {
			temper: Temperament{CommandDoesNothing: 1},
			live:   func(b *bench) { b.press(ActionOn); b.after(time.Hour) },
			state:  Off, log: []Kind{CommandDidNothing},
		},
		"dies while ready, with its power": {
			temper: Temperament{DiesAfter: lasting(time.Minute)},
			live:   func(b *bench) { b.press(ActionOn); b.after(bootTime + time.Minute) },
			state:  Off, log: and(booted, PowerLost),
		},
		"dies while ready, and its fans go on": {
			temper: Temperament{DiesAfter: lasting(time.Minute), DiesWithPowerOn: true},
			live:   func(b *bench) { b.press(ActionOn); b.after(bootTime + time.Minute) },
			state:  Dead, log: and(booted, Panicked, Silent),
		},
		"a dead machine takes no power-on and no soft-off": {
			live: func(b *bench) {
				b.press(ActionOn)
				b.after(bootTime).Panic()
				synctest.Wait()
				b.press(ActionOn, ActionSoft)
			},
			state: Dead, log: and(booted, Panicked, Silent, PowerOnRequested, PowerOnRedundant, SoftOffRequested, SoftOffIgnored),
		},
		"comes back by itself, once": {
			temper: Temperament{ComesBack: 1, ComesBackAfter: lasting(time.Minute)},
			live: func(b *bench) {
				b.press(ActionOn)
				b.after(bootTime).press(ActionOff)
				b.after(time.Minute + bootTime).LosePower()
				b.after(time.Hour)
			},
			state: Off, log: and(booted, PowerOffRequested, PoweredOff, PoweredOn, BootDone, Registered, Ready, PowerLost),
		},
		"an outage takes a machine that is up": {
			live:  func(b *bench) { b.press(ActionOn); b.after(bootTime); b.LosePower() },
			state: Off, log: and(booted, PowerLost),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.temper)
				test.live(b)
				b.wants(test.state, test.log...)
			})
		})
	}
}

func TestSwitchFaults(t *testing.T) {
	tests := map[string]struct {
		temper Temperament
		action Action
		takes  time.Duration
	}{
		"a shutdown switch that errors answers at once":  {Temperament{ShutdownSwitch: SwitchErrors}, ActionSoft, 0},
		"a shutdown switch that hangs outlasts a caller": {Temperament{ShutdownSwitch: SwitchHangs}, ActionOff, time.Minute},
		"a startup switch that errors answers at once":   {Temperament{StartupSwitch: SwitchErrors}, ActionOn, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, test.temper)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				if err := b.Press(ctx, test.action, "switch"); !errors.Is(err, ErrSwitchUnreachable) {
					t.Errorf("Press returned %v", err)
				}
				if took := time.Since(began); took != test.takes {
					t.Errorf("it took %s, want %s", took, test.takes)
				}
				b.wants(Off, SwitchUnreachable)
			})
		})
	}
}

func TestAPressThatHungIsNotMadeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Temperament{StartupSwitch: SwitchHangs})
		answer := make(chan error)
		go func() { answer <- b.Press(t.Context(), ActionOn, "switch") }()
		b.after(time.Minute).become(Temperament{})
		if err := <-answer; !errors.Is(err, ErrSwitchUnreachable) {
			t.Errorf("Press returned %v", err)
		}
		b.wants(Off, SwitchUnreachable, TemperamentChanged)
	})
}

func TestTheNextBootWaitsForTheLastKubelet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, Temperament{})
		running := 0
		b.software = func(ctx context.Context, _ *Metal, tell osEvents) {
			running++
			if running > 1 {
				t.Error("two kubelets of one machine run at once")
			}
			tell.registered(true)
			<-ctx.Done()
			time.Sleep(10 * time.Second) // an answer of the API server that is slow to come
			running--
		}
		b.press(ActionOn)
		b.after(bootTime).press(ActionOff, ActionOn)
		b.after(time.Minute)
		b.wants(Up, PowerOnRequested, PoweredOn, BootDone, Registered,
			PowerOffRequested, PoweredOff, PowerOnRequested, PoweredOn, BootDone, Registered)
	})
}

func TestValidateTemperament(t *testing.T) {
	tests := map[string]struct {
		temper Temperament
		good   bool
	}{
		"the zero value is good":           {Temperament{}, true},
		"always is a number of times":      {Temperament{SwallowPowerOn: Always}, true},
		"less than always is not":          {Temperament{IgnoreSoftOff: -2}, false},
		"a switch fault has to be known":   {Temperament{ShutdownSwitch: "melts"}, false},
		"both switch faults are looked at": {Temperament{StartupSwitch: "melts"}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if err := test.temper.Validate(); (err == nil) != test.good {
				t.Errorf("Validate returned %v", err)
			}
		})
	}
}
