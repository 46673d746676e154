package kubelet

import (
	"context"
	"time"
)

// exit is how a container ended.
type exit struct {
	code    int32
	signal  int32
	reason  string
	message string
}

// The reasons of an exit, as a kubelet writes them.
const (
	reasonCompleted = "Completed"
	reasonError     = "Error"
	reasonStart     = "StartError"
	reasonUnknown   = "ContainerStatusUnknown"
	reasonDeadline  = "DeadlineExceeded"
)

// runner runs one container once. Its two methods are called in this order by one goroutine.
type runner interface {
	// start returns once the container runs, or why it does not. When ctx ends the container is gone at once, as if
	// the plug were pulled.
	start(ctx context.Context) error
	// wait returns how it ended. When stop closes the container is asked to end, and after grace made to.
	wait(stop <-chan struct{}, grace func() time.Duration) exit
}

// sleeper is a container of which nothing is executed: it runs until it is asked to go, and goes at once.
type sleeper struct{ plug <-chan struct{} }

func (s *sleeper) start(ctx context.Context) error {
	s.plug = ctx.Done()
	return nil
}

func (s *sleeper) wait(stop <-chan struct{}, _ func() time.Duration) exit {
	select {
	case <-s.plug:
	case <-stop:
	}
	return exit{reason: reasonCompleted}
}
