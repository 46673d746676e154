package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// Answer is one group, summed up. It is shared and never changed. Its numbers are counted as slots change, at the same
// cost in a group of any size; its lists are made when first asked for.
type Answer struct {
	// View is the group without its slots, as far as an answer needs it.
	View pool.View
	// Slots is how many slots the group has; the rest is as in pool.Summary.
	Slots, Target, Ready, Offerable, Min, Max int32
	// Broken is what is wrong with the group itself, or nil.
	Broken error
	// Instances are the listed machines, by slot name.
	Instances func() []pool.Instance
	// Shaped is whether it is known of any slot what its machine offers: without that there is no template.
	Shaped bool
	// Template is the serialized node that one more machine would become.
	Template func() ([]byte, error)

	// sum is there from the start only where the numbers needed it: with a failed boot, whether that still counts
	// depends on the other slots.
	sum        *pool.Summary
	validUntil time.Time
}

// Offered is whether the group is offered to cluster-autoscaler.
func (a *Answer) Offered() bool { return pool.Engine(a.View.Group) == v2.EngineClusterAutoscaler }

// Group is the group's answer; false when it does not exist.
func (s *Store) Group(name string) (*Answer, bool) {
	now := s.clock.Now()
	s.mu.RLock()
	_, exists := s.groups[name]
	answer := s.answers[name]
	s.mu.RUnlock()
	if !exists {
		return nil, false
	}
	if answer.valid(now) {
		return answer, true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(name, now)
}

// Groups are the answers of all groups, by name.
func (s *Store) Groups() []*Answer {
	s.mu.RLock()
	names := slices.Sorted(maps.Keys(s.groups))
	s.mu.RUnlock()
	answers := make([]*Answer, 0, len(names))
	for _, name := range names {
		if answer, ok := s.Group(name); ok {
			answers = append(answers, answer)
		}
	}
	return answers
}

func (a *Answer) valid(now time.Time) bool {
	return a != nil && (a.validUntil.IsZero() || now.Before(a.validUntil))
}

// answer is the kept answer, or a new one. The caller holds the lock for writing.
func (s *Store) answer(name string, now time.Time) (*Answer, bool) {
	group := s.groups[name]
	if group == nil {
		return nil, false
	}
	if kept := s.answers[name]; kept.valid(now) {
		return kept, true
	}
	answer := s.makeAnswer(name, now)
	s.answers[name] = answer
	return answer, true
}

func (s *Store) makeAnswer(name string, now time.Time) *Answer {
	count := s.countOf(name, now)
	answer := &Answer{
		View: count.base, Broken: pool.Broken(count.base), validUntil: count.until,
		Slots: count.Slots, Target: count.Target, Ready: count.Ready, Offerable: count.Offerable,
		Shaped: count.Shaped > 0,
	}
	answer.View.Now = now
	answer.Instances = sync.OnceValue(func() []pool.Instance {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.instances(name)
	})
	sum := sync.OnceValue(func() *pool.Summary {
		s.mu.Lock()
		defer s.mu.Unlock()
		return pool.Sum(s.members(name))
	})
	if count.Failed > 0 {
		answer.sum = pool.Sum(s.members(name))
		answer.Target, answer.Offerable = answer.sum.Target, int32(len(answer.sum.Offerable))
		answer.Instances = func() []pool.Instance { return answer.sum.Instances }
		sum = func() *pool.Summary { return answer.sum }
	}
	answer.Min, answer.Max = pool.Bounds(count.base.Group, answer.Target, answer.Offerable)
	answer.Template = sync.OnceValues(func() ([]byte, error) {
		blueprint, err := s.blueprint(name)
		if err != nil {
			return nil, err
		}
		return sum().Aim(blueprint).Marshal()
	})
	return answer
}

// Instance is the machine of a slot as the group lists it; false when it does not.
func (s *Store) Instance(group, slot string) (pool.Instance, bool) {
	now := s.clock.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	answer, exists := s.answer(group, now)
	e := s.slots[slot]
	switch {
	case !exists || e == nil || !slices.Contains(e.groups, group):
		return pool.Instance{}, false
	case answer.sum != nil:
		return answer.sum.InstanceOf(slot)
	}
	return e.parts[group].Instance(slot)
}

// SlotFor is the slot that a node stands for: by the id its kubeNode carries, by an id the slot declares or had, then by
// name. The cost does not depend on the number of slots.
func (s *Store) SlotFor(ref pool.NodeRef) (pool.Slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := cmp.Or(
		s.slotByKubeNode.first(s.kubeNodeByID.first(ref.ProviderID)),
		s.slotByID.first(ref.ProviderID),
		s.slotByKubeNode.first(ref.Name),
	)
	e := s.slots[name]
	if e == nil {
		return pool.Slot{}, false
	}
	return s.viewOf(name, e), true
}

// Slot is the slot of that name.
func (s *Store) Slot(name string) (pool.Slot, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.slots[name]
	if e == nil {
		return pool.Slot{}, false
	}
	return s.viewOf(name, e), true
}
