package provider

import (
	"context"
	"fmt"
	"hash/fnv"
)

// stripes is how many turns there are. Groups share them by name; two that share one only wait for each other.
const stripes = 64

// turns lets the mutations of one group go one after another within this process, so that two deletes that come at once
// do not both count the machine that the floor keeps. Other replicas are not held back: what must hold between them
// rests on preconditions alone.
type turns [stripes]chan struct{}

func newTurns() *turns {
	var t turns
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return &t
}

// take waits for the group's turn and returns what gives it back.
func (t *turns) take(ctx context.Context, group string) (func(), error) {
	hash := fnv.New32a()
	// Writing to a hash never fails.
	_, _ = hash.Write([]byte(group))
	turn := t[hash.Sum32()%stripes]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for another call on group %s: %w", quoted(group), ctx.Err())
	}
}
