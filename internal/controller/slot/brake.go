package slot

import (
	"sync"
	"time"
)

// Brake lets one machine be declared gone per budget and manager, so that a dead switch does not empty the pool in one
// stroke. It is memory and may be lost: a manager that restarts lets one more through.
type Brake struct {
	mu    sync.Mutex
	taken time.Time
}

// Take takes the token, or says when there will be one.
func (b *Brake) Take(now time.Time, budget time.Duration) (ok bool, next time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if next := b.taken.Add(budget); !b.taken.IsZero() && now.Before(next) {
		return false, next
	}
	b.taken = now
	return true, time.Time{}
}

// Return gives back the token taken at that time: nothing was written with it.
func (b *Brake) Return(taken time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.taken.Equal(taken) {
		b.taken = time.Time{}
	}
}
