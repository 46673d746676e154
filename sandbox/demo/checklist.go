package demo

import (
	"fmt"
	"slices"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/observer/switches"
	"homecluster.dev/autoscaler/sandbox/liveview"
)

// Step is one thing the story claims. It counts once Seen said so about the world; until then Instead says what there is.
type Step struct {
	Text    string
	Seen    func(*World) bool
	Instead func(*World) string
	// After is the index of the step that must have been seen first: some things are true before anything happened.
	After int
	// Act is the half of the story the step belongs to.
	Act Act
}

// Act is a half of the story: what happens while the Deployment wants its pods, and what after it wants none.
type Act int

// The acts.
const (
	ScaleUp Act = iota
	ScaleDown
)

// none is the After of a step that depends on no other.
const none = -1

// Checklist is the steps and when each was first seen.
type Checklist struct {
	Steps []Step
	at    []time.Duration
	done  []bool
}

// NewChecklist is the story of n machines.
func NewChecklist(n int) *Checklist {
	c := &Checklist{}
	c.times(n, ScaleUp, "the scheduler finds no place for %s", "pod", PodUnschedulable, (*World).sayPods)
	c.times(n, ScaleUp, "%s pending: a machine is asked for per pod", "claim", ClaimPending, (*World).sayClaims)
	c.times(n, ScaleUp, "%s booting", "claim", ClaimBooting, (*World).sayClaims)
	asked := c.add(Step{Text: fmt.Sprintf("the target size is %d", n), Act: ScaleUp, After: none,
		Seen:    func(w *World) bool { return w.peak == int32(n) },
		Instead: (*World).sayTarget})
	c.times(n, ScaleUp, "%s complete", "startup Job", StartupComplete, (*World).sayJobs)
	on := c.times(n, ScaleUp, "the power log shows %s switched on", "machine", PowerOn, (*World).sayPower)
	c.times(n, ScaleUp, "%s registered and Ready", "kubeNode", KubeNodeReady, (*World).sayKubeNodes)
	c.times(n, ScaleUp, "%s ready", "claim", ClaimReady, (*World).sayClaims)
	c.add(Step{Text: "their switches, where they can be read, say on", Act: ScaleUp, After: on,
		Seen: func(w *World) bool { return w.switchesSay(v2.PowerOn, w.names(PowerOn)) }, Instead: (*World).saySlots})
	running := c.times(n, ScaleUp, "%s running, one to a machine", "pod", PodRunning, (*World).sayPods)

	gone := c.add(Step{Text: "the Deployment wants no pods, and they are gone", Act: ScaleDown, After: running,
		Seen: func(w *World) bool { return len(w.pods) == 0 }, Instead: (*World).sayPods})
	c.times(n, ScaleDown, "%s tainted and cordoned", "idle kubeNode", KubeNodeTaken, (*World).sayKubeNodes)
	c.times(n, ScaleDown, "%s given back by DeleteNodes", "claim", ClaimReturned, (*World).sayClaims)
	c.add(Step{Text: "the target size is 0", Act: ScaleDown, After: max(asked, gone),
		Seen: func(w *World) bool { return w.targetSize() == 0 }, Instead: (*World).sayTarget})
	c.times(n, ScaleDown, "%s complete", "shutdown Job", ShutdownComplete, (*World).sayJobs)
	off := c.times(n, ScaleDown, "the power log shows %s switched off", "machine", PowerOff, (*World).sayPower)
	c.add(Step{Text: "their switches, where they can be read, say off", Act: ScaleDown, After: off,
		Seen: func(w *World) bool { return w.switchesSay(v2.PowerOff, w.names(PowerOff)) }, Instead: (*World).saySlots})
	removed := c.times(n, ScaleDown, "%s removed", "kubeNode", KubeNodeGone, (*World).sayKubeNodes)
	c.times(n, ScaleDown, "%s completed", "claim", ClaimCompleted, (*World).sayClaims)
	c.add(Step{Text: "every slot is off, its last claim remembered", Act: ScaleDown, After: removed,
		Seen: func(w *World) bool { return w.atRest(n) }, Instead: (*World).saySlots})
	c.add(Step{Text: fmt.Sprintf("the power log shows exactly %s, and every machine off", plural(n, "power-on")), Act: ScaleDown, After: removed,
		Seen: func(w *World) bool { return w.presses == n && w.ons == n && len(w.running()) == 0 }, Instead: (*World).sayPower})
	return c
}

// times adds a step that is seen once the fact was seen of exactly n things.
func (c *Checklist) times(n int, act Act, format, noun string, fact Fact, instead func(*World) string) int {
	return c.add(Step{Text: fmt.Sprintf(format, plural(n, noun)), Act: act, After: none, Instead: instead,
		Seen: func(w *World) bool { return w.count(fact) == n }})
}

func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

func (c *Checklist) add(step Step) int {
	c.Steps, c.at, c.done = append(c.Steps, step), append(c.at, 0), append(c.done, false)
	return len(c.Steps) - 1
}

// Look ticks off what the world shows.
func (c *Checklist) Look(at time.Duration, w *World) {
	for i, step := range c.Steps {
		if !c.done[i] && (step.After == none || c.done[step.After]) && step.Seen(w) {
			c.done[i], c.at[i] = true, at
		}
	}
}

// Missing is the first step of the act that was not seen, or nil.
func (c *Checklist) Missing(act Act) *Step {
	for i := range c.Steps {
		if c.Steps[i].Act == act && !c.done[i] {
			return &c.Steps[i]
		}
	}
	return nil
}

// Overrun says what happened more often than the story allows; empty: nothing. A step, once seen, stays seen; this is
// what would make it a lie.
func (c *Checklist) Overrun(w *World, n int) string {
	for _, fact := range []Fact{ClaimPending, ClaimBooting, StartupComplete, PowerOn, PodRunning} {
		if got := w.count(fact); got > n {
			return fmt.Sprintf("%s: seen of %d, not of %d: %v", fact, got, n, w.names(fact))
		}
	}
	if failed := w.names(ClaimFailed); len(failed) > 0 {
		return fmt.Sprintf("a claim failed: %s", w.sayClaims())
	}
	if w.presses > n || w.ons > n {
		return w.sayPower() + fmt.Sprintf(", where %d were due", n)
	}
	return ""
}

// View is the checklist for the live view.
func (c *Checklist) View() []liveview.Step {
	steps := make([]liveview.Step, len(c.Steps))
	for i, step := range c.Steps {
		steps[i] = liveview.Step{Text: step.Text, Done: c.done[i], At: c.at[i]}
	}
	return steps
}

// switchesSay is whether the power observer has read this from all of the machines' switches that can be read.
func (w *World) switchesSay(state v2.PowerState, machines []string) bool {
	return !slices.ContainsFunc(machines, func(name string) bool {
		slot := w.slots[name]
		return slot != nil && switches.Readable(slot.Spec.Power) && reading(slot) != state
	})
}

// reading is what was read from the slot's switch; empty: nothing yet, or it cannot be read.
func reading(slot *v2.Node) v2.PowerState {
	if slot.Status.PowerReading == nil {
		return ""
	}
	return slot.Status.PowerReading.State
}

// atRest is whether every slot reports off, and n of them remember a completed claim.
func (w *World) atRest(n int) bool {
	remembered := 0
	for _, slot := range w.slots {
		if slot.Status.Phase != v2.SlotOff {
			return false
		}
		if last := slot.Status.LastClaim; last != nil && last.Phase == v2.ClaimCompleted {
			remembered++
		}
	}
	return remembered == n
}
