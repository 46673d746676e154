package demo

import (
	"context"
	"sync"
)

// crew is what runs beside the story. The first member that fails, or panics, ends everything.
type crew struct {
	cancel context.CancelCauseFunc
	work   sync.WaitGroup
}

func (c *crew) run(member func() error) {
	c.work.Go(func() {
		if err := guarded(member); err != nil {
			c.cancel(err)
		}
	})
}

func (c *crew) wait() { c.work.Wait() }
