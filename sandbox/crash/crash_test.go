package crash_test

import (
	"context"
	"flag"
	"sync/atomic"
	"testing"
	"time"

	"homecluster.dev/autoscaler/sandbox/controlplane/proxy"
	"homecluster.dev/autoscaler/sandbox/house"
)

// disturbAll disturbs every kind of episode; a run without it disturbs the boot and the scale-down, and plays the others once
// as they go.
var disturbAll = flag.Bool("crash.all", false, "let the manager die, or be refused, in every kind of episode, not only in a boot and a scale-down")

func TestMain(m *testing.M) { house.Main(m, 8) }

// claimName is the claim of the person who asks first, newerName that of one who asks later.
const (
	claimName = "asked-by-hand"
	newerName = "asked-again"
)

// home is a house.Home with what the episodes do in it and look for.
type home struct{ *house.Home }

// episode is a part of a machine's life whose writes are counted.
type episode struct {
	options house.Options
	// before brings the home to where the episode begins; nil: an empty home is.
	before func(home)
	// begin sets it off.
	begin func(home)
	// ended says what is still missing at its end, and check judges the end.
	ended func(home, context.Context) string
	check func(home)
}

// TestMisfortunes plays everything in one house: the cases wait for machines most of their time.
func TestMisfortunes(t *testing.T) {
	h := house.New(t)
	for name, test := range map[string]func(*testing.T, *house.House){
		"every write may be the last":                          everyWriteMayBeTheLast,
		"nothing is announced that was refused":                nothingIsAnnouncedThatWasRefused,
		"a machine that fails all day tells of it a few times": failsAllDay,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, h)
		})
	}
}

// everyWriteMayBeTheLast counts the writes of each episode, and then plays it again with each misfortune: the manager
// dies after any of the writes, and every third is refused once, or applied and answered with a time-out.
func everyWriteMayBeTheLast(t *testing.T, h *house.House) {
	var all tally
	t.Run("episodes", func(t *testing.T) {
		for name, e := range episodes() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				all.add(everyWrite(t, h, e, *disturbAll || name == "boot" || name == "scale-down"))
			})
		}
	})
	t.Logf("proved: crash points of a whole manager on a real API server %d", all.cuts.Load())
	t.Logf("proved: writes refused, or carried out and not answered %d", all.others.Load())
}

// tally counts misfortunes.
type tally struct{ cuts, others atomic.Int32 }

func (t *tally) add(cuts, others int) { t.cuts.Add(int32(cuts)); t.others.Add(int32(others)) }

// everyWrite plays one episode undisturbed, and then, if it is to be disturbed, with each of its misfortunes.
func everyWrite(t *testing.T, h *house.House, e episode, disturb bool) (cuts, others int) {
	var writes int
	t.Run("undisturbed", func(t *testing.T) { writes = len(play(t, h, e, proxy.Fault{})) })
	if writes < 4 {
		t.Fatalf("only %d writes were counted: the proxy is not in the way", writes)
	}
	if !disturb {
		return 0, 0
	}
	faults := faultsOf(writes, stride())
	var hit atomic.Int32
	t.Run("disturbed", func(t *testing.T) {
		for _, fault := range faults {
			t.Run(fault.String(), func(t *testing.T) {
				t.Parallel()
				if len(play(t, h, e, fault)) >= fault.At {
					hit.Add(1)
				}
			})
		}
	})
	t.Logf("%d writes, %d faults tried, %d of them hit", writes, len(faults), hit.Load())
	// The last writes of an episode are not always made: two observations may fall into one.
	if 10*int(hit.Load()) < 8*len(faults) {
		t.Errorf("only %d of %d faults were hit", hit.Load(), len(faults))
	}
	return writes, len(faults) - writes
}

// stride is how far the writes are apart that are refused and unanswered: every third, or with -crash.all each.
func stride() int {
	if *disturbAll {
		return 1
	}
	return 3
}

// faultsOf are the misfortunes of an episode with that many writes. The manager dies after each of them; the first, and
// each that is a stride further, is refused and unanswered, too.
func faultsOf(writes, stride int) []proxy.Fault {
	var faults []proxy.Fault
	for k := 1; k <= writes; k++ {
		faults = append(faults, proxy.Fault{Kind: proxy.Cut, At: k})
		if (k-1)%stride == 0 {
			faults = append(faults, proxy.Fault{Kind: proxy.Refuse, At: k}, proxy.Fault{Kind: proxy.LoseAnswer, At: k})
		}
	}
	return faults
}

// play plays one episode with one fault, and returns the writes that were counted until the fault, or all.
func play(t *testing.T, house *house.House, e episode, fault proxy.Fault) []proxy.Write {
	t.Helper()
	h := home{house.Home(t, e.options)}
	h.Policy.JobPatience = time.Minute // a busy computer starts a power pod late, which is told of every Job
	h.Manage(h.Proxy.Config())
	if e.before != nil {
		e.before(h)
	}
	h.Proxy.Arm(fault)
	e.begin(h)
	if fault.Kind == proxy.Cut {
		h.Eventually("ending, or dying", func(ctx context.Context) string {
			select {
			case <-h.Proxy.Cut():
				return ""
			default:
				return e.ended(h, ctx)
			}
		})
		h.Manage(h.ControlPlane.Config()) // the next manager, which knows nothing of this one
	}
	writes := h.Proxy.Writes()
	h.Eventually("ending", func(ctx context.Context) string { return e.ended(h, ctx) })
	if fault.Kind != proxy.Cut {
		writes = h.Proxy.Writes()
	}
	h.Stop() // what is published is published now
	e.check(h)
	h.CheckToldOnce()
	return writes
}
