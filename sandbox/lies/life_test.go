package lies_test

import (
	"context"
	"fmt"
	"regexp"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/sandbox/bmc"
	"homecluster.dev/autoscaler/sandbox/house"
	"homecluster.dev/autoscaler/sandbox/machineroom"
)

const (
	// window is that of a boot that shall fail: long enough for a startup Job that fails among many others, and the reversal of
	// a machine that was never seen waits for its end.
	window = 45 * time.Second
	// late is the window of a boot that shall not.
	late = 10 * time.Minute
)

// life is what becomes of one cell.
type life struct {
	cell
	*house.Home
	panel   *bmc.Panel
	stories *stories
	// claim is its name.
	claim string
	// paused is how often its attempts were spent on a machine that went on to be seen.
	paused int
	// ended is the story when nothing was owed for the machine any more.
	ended story
	// startups and shutdowns are how many Jobs were made.
	startups, shutdowns int
}

// neighbourhood is a home whose lodgers live their lives under its one manager.
type neighbourhood struct {
	*house.Home
	*stories
}

// moveIn opens a home with a manager whose group gives a machine that long to fall silent.
func moveIn(t *testing.T, h *house.House, settle time.Duration) *neighbourhood {
	t.Helper()
	home := h.Home(t, house.Options{Group: func(g *v2.GroupSpec) { g.Timeouts.ShutdownSettle = &metav1.Duration{Duration: settle} }})
	n := &neighbourhood{home, follow(t, home)}
	home.Manage(home.ControlPlane.Config())
	return n
}

// settle gives the cell a machine, with a switch of its own.
func (n *neighbourhood) settle(t *testing.T, c cell, machine string) *life {
	t.Helper()
	l := &life{cell: c, stories: n.stories, claim: machine}
	flags := append([]string{"--timeout=3s", "--reach=4s", "--observe=6s", "--termination-log=/dev/termination-log"}, c.lie.flags...)
	l.Home = n.Lodger(t, machine, house.Options{Slot: func(spec *v2.NodeSpec, metal *machineroom.Metal) {
		var err error
		if l.panel, err = bmc.Wire(t.Context(), metal, bmc.Options{Dir: t.TempDir(), Protocols: c.wiring.Protocols()}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(l.panel.Close)
		wired, secret, err := l.panel.Slot(c.wiring, n.Namespace, house.Pool, flags...)
		if err != nil {
			t.Fatal(err)
		}
		n.Create(secret)
		spec.StartupPodSpec, spec.ShutdownPodSpec = wired.Spec.StartupPodSpec, wired.Spec.ShutdownPodSpec
	}})
	return l
}

// play lives it: the machine is asked for, and taken back if it comes; where its attempts are spent, the switch is mended and
// they are resumed as the event says. In the end nobody wants the machine and nothing is owed for it.
func (l *life) play() {
	deadline := late
	if l.at != goingDown {
		l.tell(l.lie.lies)
	}
	if l.at == goingUp {
		deadline = window
	}
	l.Ask(l.claim, deadline)
	if l.until("ready, or at its end", func(so story) bool { return so.is(v2.ClaimReady) || !so.lives() }).is(v2.ClaimReady) {
		// A startup Job that still looks at the machine would be cut short, and nobody know what it saw.
		l.until("the end of its startup Job", func(so story) bool {
			record := so.recorded(v2.OperationStartup)
			return record != nil && record.Outcome != ""
		})
		if l.at != goingUp {
			l.tell(l.lie.lies)
		}
		l.TakeBack(l.claim)
	}
	for !l.rests() {
		l.paused++
		if l.paused > 1 {
			l.T.Fatal("the attempts were spent again, on a switch that was mended")
		}
		l.tell(bmc.Lies{})
		l.resume()
	}
	l.startups, l.shutdowns = len(l.Jobs("startup")), len(l.Jobs("shutdown"))
}

// tell sets the lies of those that lie.
func (l *life) tell(lies bmc.Lies) {
	l.T.Helper()
	for _, protocol := range l.lie.liars(l.wiring, l.at) {
		if err := l.panel.SetLies(protocol, lies); err != nil {
			l.T.Fatal(err)
		}
	}
}

// until waits for what is to be told of the machine and its claim.
func (l *life) until(what string, is func(story) bool) story {
	l.T.Helper()
	var so story
	l.Eventually(what, func(context.Context) string {
		so = l.stories.of(l.claim)
		switch {
		case so.claim == nil || so.slot == nil:
			return "there is no slot, or no claim"
		case is(so):
			return ""
		}
		return fmt.Sprintf("the claim is %+v, the slot %+v", so.claim.Status, so.slot.Status)
	})
	return so
}

// rests waits until nothing is owed, which is true, or a pause came in the way.
func (l *life) rests() bool {
	l.T.Helper()
	l.ended = l.until("rest, or a pause", func(so story) bool { return so.rests() || l.isPaused(so.claim) })
	return l.ended.rests()
}

// rests is whether nobody wants the machine and nothing is owed for it.
func (s story) rests() bool {
	return s.slot.Status.Phase == v2.SlotOff && len(s.slot.Finalizers) == 0 && len(s.claim.Finalizers) == 0 && !s.lives()
}

func (s story) is(phase v2.ClaimPhase) bool { return s.claim.Status.Phase == phase }

func (s story) lives() bool { return !s.is(v2.ClaimCompleted) && !s.is(v2.ClaimFailed) }

// isPaused is whether the claim says that it has stopped trying. The condition outlasts the pause.
func (l *life) isPaused(claim *v2.NodeClaim) bool {
	condition := meta.FindStatusCondition(claim.Status.Conditions, v2.ConditionMachineObservedOff)
	return condition != nil && condition.Status == metav1.ConditionFalse && condition.Reason == "ShutdownPaused" &&
		claim.Status.ShutdownAttempts >= l.Policy.MaxShutdownAttempts
}

var documented = regexp.MustCompile(`kubectl patch nodeclaim \S+ .*--subresource=status --type=merge -p '(.*)'`)

// resume does what the event of the pause documents.
func (l *life) resume() {
	l.T.Helper()
	note := l.told(v2.EventShutdownAttemptLimitReached)
	patch := documented.FindStringSubmatch(note)
	if patch == nil {
		l.T.Fatalf("the event documents no patch: %q", note)
	}
	claim, err := l.Claim(l.T.Context(), l.claim)
	if err == nil {
		err = l.Client.Status().Patch(l.T.Context(), claim, client.RawPatch(types.MergePatchType, []byte(patch[1])))
	}
	if err != nil {
		l.T.Fatal(err)
	}
	l.until("a fresh start", func(so story) bool { return so.claim.Status.ShutdownAttempts < l.Policy.MaxShutdownAttempts })
}

// told waits for an event about the claim or its slot and answers its note.
func (l *life) told(reason string) string {
	l.T.Helper()
	var note string
	l.Eventually("an event "+reason, func(context.Context) string {
		for _, told := range l.Told() {
			if told.Reason == reason && told.Name == l.claim {
				note = told.Note
				return ""
			}
		}
		return "it was not told"
	})
	return note
}
