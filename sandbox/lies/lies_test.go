package lies_test

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

// when is the part of a claim's life in which its machine's switch lies.
type when string

const (
	// goingUp is from before the machine is asked for.
	goingUp when = "up"
	// goingDown is from the moment on in which the claim is taken back.
	goingDown when = "down"
	// always is both. What was spent of the lie is there again for the way down.
	always when = "both"
)

// lie is one way in which a switch deceives.
type lie struct {
	name string
	lies bmc.Lies
	when []when
	// flags are given to the program power.
	flags []string
	// over are the wirings over which it is played. Default: all.
	over []bmc.Wiring
	// system is that the machine's operating system lies, where the wiring asks that for a shutdown.
	system bool
	// mute are the wirings over which a machine on its way up cannot be lied to so: a magic packet has no answer.
	mute []bmc.Wiring
}

// lies are the ten of them, and two more that are told apart.
func lies() []lie {
	const every = machineroom.Always
	packets, either := []bmc.Wiring{bmc.ByPackets}, []when{goingUp, goingDown}
	return []lie{
		{name: "swallows every power-on", lies: bmc.Lies{SwallowPowerOn: every}, when: []when{goingUp}},
		{name: "ignores every soft-off", lies: bmc.Lies{IgnoreSoftOff: every}, when: []when{goingDown}, system: true},
		{name: "ignores every soft-off, and is cut", lies: bmc.Lies{IgnoreSoftOff: every}, when: []when{goingDown}, system: true,
			flags: []string{"--force-after=2s"}, over: []bmc.Wiring{bmc.ByIPMI, bmc.ByRedfish, bmc.ByPlug}},
		{name: "answers late", lies: bmc.Lies{AnswerLate: metav1.Duration{Duration: 300 * time.Millisecond}}, when: []when{always}},
		{name: "answers never", lies: bmc.Lies{AnswerNever: true}, when: either},
		{name: "refuses sessions", lies: bmc.Lies{RefuseSessions: every}, when: either, mute: packets},
		{name: "tells the wrong state", lies: bmc.Lies{WrongState: true}, when: either, mute: packets},
		{name: "flaps", lies: bmc.Lies{Flap: true}, when: []when{always}},
		{name: "loses the first packet", lies: bmc.Lies{DropPackets: 1}, when: []when{always}},
		{name: "loses every packet", lies: bmc.Lies{DropPackets: every}, when: []when{goingUp}, over: packets},
		{name: "rejects the password", lies: bmc.Lies{RejectPassword: true}, when: either, mute: packets},
		{name: "says yes to all, with a tool that exits 0", lies: bmc.Lies{DoNothing: every}, when: either,
			flags: []string{"--ok=already,unobserved"}},
	}
}

// liars are the protocols of a wiring that tell the lie.
func (l lie) liars(w bmc.Wiring, at when) []bmc.Protocol {
	protocols := w.Protocols() // the way up, and the way down if that is another
	switch {
	case l.system:
		return protocols[len(protocols)-1:]
	case w == bmc.ByPackets && at == goingDown:
		return protocols[1:]
	case w == bmc.ByPackets && at == always:
		return protocols
	}
	return protocols[:1]
}

// cells are the lives that are played, in the order of the table.
func cells() []cell {
	var all []cell
	for _, l := range lies() {
		for _, at := range l.when {
			for _, w := range bmc.Wirings() {
				if len(l.over) > 0 && !slices.Contains(l.over, w) || at == goingUp && slices.Contains(l.mute, w) {
					continue
				}
				all = append(all, cell{lie: l, at: at, wiring: w})
			}
		}
	}
	return all
}

// cell is one lie over one wiring.
type cell struct {
	lie    lie
	at     when
	wiring bmc.Wiring
}
