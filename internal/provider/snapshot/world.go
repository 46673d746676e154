package snapshot

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"homecluster.dev/autoscaler/internal/core/pool"
)

// World is what is asked of all slots together. It is shared and never changed.
type World struct {
	// GPULabel is the key that marks a machine with an accelerator.
	GPULabel string
	// GPUTypes are the accelerators there are, sorted.
	GPUTypes []string
	// Prices are the different prices there are.
	Prices []pool.Price
}

// World is the answer about all slots together.
func (s *Store) World() *World {
	s.mu.RLock()
	world := s.world
	s.mu.RUnlock()
	if world != nil {
		return world
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.world == nil {
		s.world = s.makeWorld()
	}
	return s.world
}

func (s *Store) makeWorld() *World {
	var slots []pool.Slot
	for _, name := range slices.Sorted(maps.Keys(s.slots)) {
		if e := s.slots[name]; e.slot != nil {
			slots = append(slots, s.viewOf(name, e))
		}
	}
	world := &World{GPULabel: pool.GPULabel(slots), GPUTypes: slices.Sorted(maps.Keys(pool.GPUTypes(slots)))}
	view := pool.View{Now: s.clock.Now(), Namespace: s.namespace, Policy: s.base}
	for _, slot := range slots {
		price, ok := pool.PriceOf(view, slot)
		if ok && !slices.ContainsFunc(world.Prices, func(p pool.Price) bool { return samePrice(p, price) }) {
			world.Prices = append(world.Prices, price)
		}
	}
	return world
}

func samePrice(a, b pool.Price) bool {
	return a.Hourly == b.Hourly && a.Pod == b.Pod && maps.EqualFunc(a.Capacity, b.Capacity, resource.Quantity.Equal)
}
