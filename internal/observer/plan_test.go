package observer

import (
	"testing"
	"time"

	"homecluster.dev/autoscaler/internal/core/policy"
)

func TestARoundIsDue(t *testing.T) {
	asked := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	tests := map[string]struct {
		plan   plan
		chance float64
		want   time.Duration
	}{
		"a minute after the last":                  {plan{asked: asked}, 0, time.Minute},
		"up to a quarter more, by chance":          {plan{asked: asked}, 0.999, 74*time.Second + 985*time.Millisecond},
		"as usual after a first failure":           {plan{asked: asked, failed: 1}, 0, time.Minute},
		"later after a second":                     {plan{asked: asked, failed: 2}, 0, 2 * time.Minute},
		"at most ten minutes later":                {plan{asked: asked, failed: 5}, 0, 10 * time.Minute},
		"however long it has failed":               {plan{asked: asked, failed: 1 << 30}, 0, 10 * time.Minute},
		"as usual where it was not asked":          {plan{asked: asked, failed: 9, spared: true}, 0, time.Minute},
		"soon when something happened":             {plan{asked: asked, urgent: true, failed: 9}, 0.5, 10 * time.Second},
		"once more behind the end of an operation": {plan{asked: asked, follow: true}, 0.5, 15 * time.Second},
		"when it was told, the first time":         {plan{first: asked.Add(3 * time.Second), urgent: true}, 0.5, 3 * time.Second},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := test.plan.due(Gentle(), test.chance).Sub(asked); got != test.want {
				t.Errorf("due %s after the last, want %s", got, test.want)
			}
		})
	}
}

// What was saved last is never so old that it stops counting between two rounds of a switch that answers.
func TestASavedReadingIsRefreshedBeforeItGoesStale(t *testing.T) {
	pace := Gentle()
	longestRound := 2*10*time.Second + pace.Steady
	pause := time.Duration(float64(pace.Interval) * (1 + spread))
	if oldest := pace.Refresh + pause + longestRound; oldest >= policy.Default().ReadingMaxAge {
		t.Errorf("a reading may become %s old", oldest)
	}
}
