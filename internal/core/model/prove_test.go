package model

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"testing"
)

var (
	full     = flag.Bool("prove.full", false, "explore every scope to its closure or 250,000 states, and play 10,000 histories")
	scope    = flag.String("prove.scope", "", "explore only the scope of that name")
	most     = flag.Int("prove.states", 5_000, "stop a scope after so many states")
	episodes = flag.Int("prove.episodes", 1_000, "how many random histories to play")
	first    = flag.Uint64("prove.first", 1, "the seed of the first random history")
	seed     = flag.Uint64("prove.seed", 0, "play only the random history of that seed")
)

// sizes are how much is to be proven.
func sizes() (states, histories int) {
	if *full {
		return 250_000, 10_000
	}
	return *most, *episodes
}

// scopes are what may happen in an exploration, each around one kind of trouble. The first is the issue's own: one slot,
// two claims, one hand delete, one slot re-creation, a stale cache, two leaders, every outcome of a Job, three jumps of
// the clock.
func scopes() map[string]Budget {
	life := Budget{}.With(ProviderClaims, 1).With(Marks, 1).With(Wakes, 3)
	return map[string]Budget{
		"everything at once": Budget{}.With(ProviderClaims, 1).With(HandClaims, 1).With(ClaimDeletes, 1).With(SlotDeletes, 1).
			With(SlotCreates, 1).With(StaleCaches, 1).With(Leaders, 1).With(Crashes, 1).With(BadEffects, 1).With(BadEnds, 2).With(Jumps, 3),
		"one life":                      life,
		"Jobs that fail":                life.With(BadEffects, 2).With(BadEnds, 2).With(Wakes, 4),
		"managers that die":             life.With(Crashes, 2),
		"caches that lag":               life.With(StaleCaches, 1).With(BadEnds, 1),
		"leaders that are paused":       life.With(Leaders, 1).With(BadEnds, 1),
		"two claims":                    life.With(HandClaims, 1).With(Crashes, 1).With(ClaimDeletes, 1),
		"a slot that is replaced":       life.With(SlotDeletes, 1).With(SlotCreates, 1).With(HandClaims, 1),
		"machines that go silent":       life.With(Silences, 1).With(Returns, 1).With(Deaths, 1).With(KubeNodeDeletes, 1),
		"a machine nobody claimed":      Budget{}.With(Rises, 1).With(HandClaims, 1).With(Wakes, 3).With(BadEffects, 1).With(Silences, 1).With(Returns, 1),
		"hands that strip and delete":   life.With(Strips, 1).With(JobDeletes, 1).With(KubeNodeDeletes, 1).With(Patches, 1),
		"a hold":                        life.With(Holds, 1).With(Jumps, 1),
		"a group that is deleted":       life.With(GroupDeletes, 1).With(HandClaims, 1),
		"a namespace that goes":         life.With(Terminations, 1),
		"a backup without status":       life.With(Restores, 1).With(Jumps, 1),
		"a gate, a drain and a cordon":  life.With(Taints, 1).With(Cordons, 1).With(PodsBound, 1),
		"a switch of the machine's own": life.With(Polls, 2).With(BadEffects, 1).With(Silences, 1),
		"a webhook that is down":        Budget{}.With(Unfilled, 1).With(ClaimDeletes, 1).With(BadEffects, 1).With(BadEnds, 1).With(Wakes, 3).With(Jumps, 1),
		"a switch that is wrong":        life.With(Polls, 1).With(Stuck, 2).With(Falsehoods, 1).With(BadEffects, 1),
		"a clock that jumps":            life.With(Jumps, 3).With(BadEffects, 1),
	}
}

// TestEveryState explores every scope twice: to its depth, where nothing happens between the passes of a live manager,
// and, for a part as large, with everything that can happen in between.
func TestEveryState(t *testing.T) {
	states, _ := sizes()
	sum, everywhere := Report{}, map[Key]struct{}{}
	tally := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(scopes())) {
		if *scope != "" && *scope != name {
			continue
		}
		for _, eager := range []bool{true, false} {
			w := NewWorld()
			w.Eager, w.Everywhere = eager, everywhere
			report := w.Explore(New(scopes()[name]), states)
			t.Logf("%-30s %s", name, report)
			if report.Broken != nil {
				t.Errorf("%s: %v", name, report.Broken)
			}
			sum.States, sum.Transitions = sum.States+report.States, sum.Transitions+report.Transitions
			sum.Crashes, sum.Depth = sum.Crashes+report.Crashes, max(sum.Depth, report.Depth)
			for law, n := range w.Tally {
				tally[law] += n
			}
		}
	}
	t.Logf("%-30s %s", "in all", sum)
	t.Logf("proved: distinct states explored %d", len(everywhere))
	t.Logf("proved: transitions %d", sum.Transitions)
	t.Logf("proved: crash points tried %d", sum.Crashes)
	judged(t, tally)
}

// judged prints how often each law was judged, and fails for one that never was: a law that judges nothing proves nothing.
func judged(t *testing.T, tally map[string]int) {
	t.Helper()
	for _, law := range Laws() {
		if tally[law.Name] == 0 {
			t.Errorf("never judged: %s", law.Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tally)) {
		t.Logf("%9d times: %s", tally[name], name)
	}
}

// TestRandomHistories plays histories with machines that misbehave, and judges each when its faults have ended and nothing
// is left to happen.
func TestRandomHistories(t *testing.T) {
	w := NewWorld()
	if *seed != 0 {
		if h := w.Episode(*seed); h.Broken != nil {
			t.Fatal(h.Broken)
		}
		return
	}
	_, histories := sizes()
	ends, tempers := map[string]int{}, map[Temperament]int{}
	crashed, changed, moves := 0, 0, 0
	for i := range histories {
		h := w.Episode(*first + uint64(i))
		if h.Broken != nil {
			t.Fatalf("a machine that %s: %v", h.Temperament, h.Broken)
		}
		tempers[h.Temperament]++
		moves += h.Moves
		crashed, changed = crashed+one(h.Crashed), changed+one(h.LeaderChanged)
		ends[h.end()]++
	}
	t.Logf("seeds %d to %d: %d histories, %d moves, %d with a manager that died, %d with a leader that was paused and went on",
		*first, *first+uint64(histories)-1, histories, moves, crashed, changed)
	t.Logf("proved: random histories run %d", histories)
	t.Logf("machines: %v", tempers)
	t.Logf("ends, by the machine's own power, when its faults were over and nothing was left to happen (after %d moves more at most): %v",
		restsWithin, ends)
	judged(t, w.Tally)
	if histories >= 1_000 {
		enough(t, histories, tempers, crashed, changed)
	}
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}

// end is how the history ended, in words.
func (h History) end() string {
	switch {
	case h.On && h.Wanted:
		return "on, and wanted"
	case h.On:
		return "on, " + h.Hidden
	}
	return "off"
}

// enough holds the mixture to what was asked for: each temperament at least a twentieth, a manager that dies in at least a
// fifth, a change of leader in at least a tenth.
func enough(t *testing.T, histories int, tempers map[Temperament]int, crashed, changed int) {
	t.Helper()
	for temper := range temperaments {
		if tempers[temper]*20 < histories {
			t.Errorf("only %d of %d machines: %s", tempers[temper], histories, temper)
		}
	}
	if crashed*5 < histories || changed*10 < histories {
		t.Errorf("only %d crashes and %d changes of leader in %d histories", crashed, changed, histories)
	}
}

// TestTheSameSeedIsTheSameHistory is what replaying stands on.
func TestTheSameSeedIsTheSameHistory(t *testing.T) {
	for seed := range uint64(20) {
		a, b := NewWorld().Episode(seed+1), NewWorld().Episode(seed+1)
		if fmt.Sprint(a) != fmt.Sprint(b) {
			t.Fatalf("seed %d: %v, then %v", seed+1, a, b)
		}
	}
}
