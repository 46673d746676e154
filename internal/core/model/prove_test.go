package model

import (
	"flag"
	"maps"
	"slices"
	"testing"
)

var (
	full = flag.Bool("prove.full", false, "explore whole scopes instead of samples, and play more histories")
	only = flag.String("prove.scope", "", "explore only the scope of that name")
	most = flag.Int("prove.states", 30_000, "stop a scope after so many states")
)

// scopes are budgets small enough to be explored to their closure, each around one kind of trouble.
func scopes() map[string]Budget {
	life := Budget{}.With(ProviderClaims, 1).With(Marks, 1).With(Wakes, 3)
	return map[string]Budget{
		"issue": Budget{}.With(ProviderClaims, 1).With(HandClaims, 1).With(ClaimDeletes, 1).With(SlotDeletes, 1).With(SlotCreates, 1).
			With(StaleCaches, 1).With(Leaders, 1).With(Crashes, 1).With(BadEffects, 1).With(BadEnds, 2).With(Jumps, 3),
		"one life":   life,
		"bad jobs":   life.With(BadEffects, 2).With(BadEnds, 2).With(Wakes, 4),
		"crashes":    life.With(Crashes, 2),
		"stale":      life.With(StaleCaches, 1).With(BadEnds, 1),
		"leaders":    life.With(Leaders, 1).With(BadEnds, 1),
		"two claims": life.With(HandClaims, 1).With(Crashes, 1).With(ClaimDeletes, 1),
		"slot":       life.With(SlotDeletes, 1).With(SlotCreates, 1).With(HandClaims, 1),
		"silence":    life.With(Silences, 1).With(Returns, 1).With(Deaths, 1).With(KubeNodeDeletes, 1),
		"unclaimed":  Budget{}.With(Rises, 1).With(HandClaims, 1).With(Wakes, 3).With(BadEffects, 1).With(Silences, 1).With(Returns, 1),
		"hands":      life.With(Strips, 1).With(JobDeletes, 1).With(KubeNodeDeletes, 1).With(Patches, 1),
		"hold":       life.With(Holds, 1).With(Jumps, 1),
		"group":      life.With(GroupDeletes, 1).With(HandClaims, 1),
		"namespace":  life.With(Terminations, 1),
		"restore":    life.With(Restores, 1).With(Jumps, 1),
		"gate":       life.With(Taints, 1).With(Cordons, 1).With(PodsBound, 1),
		"switch":     life.With(Polls, 2).With(BadEffects, 1).With(Silences, 1),
		"jumps":      life.With(Jumps, 3).With(BadEffects, 1),
	}
}

func TestEveryStateOfASmallScope(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(scopes())) {
		if *only != "" && *only != name {
			continue
		}
		t.Run(name, func(t *testing.T) {
			w := NewWorld()
			report := w.Explore(New(scopes()[name]), *most)
			t.Logf("%d states, %d transitions, depth %d, closed %t", report.States, report.Transitions, report.Depth, report.Closed)
			if report.Broken != nil {
				t.Fatal(report.Broken)
			}
		})
	}
}

var (
	seed     = flag.Uint64("prove.seed", 0, "play the one random history of that seed, and tell it")
	episodes = flag.Int("prove.episodes", 1000, "how many random histories to play")
	first    = flag.Uint64("prove.first", 1, "the seed of the first random history")
)

func TestRandomHistories(t *testing.T) {
	w := NewWorld()
	if *seed != 0 {
		h := w.Episode(*seed)
		if h.Broken != nil {
			t.Fatal(h.Broken)
		}
		return
	}
	ends, tempers := map[string]int{}, map[string]int{}
	crashed, changed, moves := 0, 0, 0
	broken := map[string]int{}
	for i := range *episodes {
		h := w.Episode(*first + uint64(i))
		if h.Broken != nil {
			if broken[h.Broken.Law]++; broken[h.Broken.Law] == 1 {
				t.Errorf("%s: %v", h.Temperament, h.Broken)
			}
			continue
		}
		tempers[h.Temperament.String()]++
		moves += h.Moves
		if h.Crashed {
			crashed++
		}
		if h.LeaderChanged {
			changed++
		}
		switch {
		case h.On && h.Wanted:
			ends["on, and wanted"]++
		case h.On:
			ends["on: "+h.Hidden]++
		default:
			ends["off"]++
		}
	}
	t.Logf("%d histories of %d moves, %d with a crash, %d with a change of leader; ends %v; temperaments %v", *episodes, moves, crashed, changed, ends, tempers)
	t.Logf("broken: %v", broken)
}
