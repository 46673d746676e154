package slot

import (
	"testing"
	"time"
)

func TestBrake(t *testing.T) {
	const budget = 12 * time.Minute
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var b Brake
	take := func(at time.Duration, want bool) {
		t.Helper()
		ok, next := b.Take(start.Add(at), budget)
		if ok != want {
			t.Errorf("after %s: token given: %t, want %t", at, ok, want)
		}
		if !ok && !next.After(start.Add(at)) {
			t.Errorf("after %s: the next token is promised for %s, which has passed", at, next)
		}
	}
	take(0, true)
	take(time.Second, false)
	take(budget-time.Second, false)
	take(budget, true)
	take(budget+time.Second, false)
	b.Return(start.Add(budget))
	take(budget+2*time.Second, true)
	b.Return(start) // not the token that is out
	take(budget+3*time.Second, false)
}
