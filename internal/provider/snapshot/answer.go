package snapshot

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// Answer is one group, summed up. It is shared and never changed.
type Answer struct {
	// View is what the summary was made from.
	View pool.View
	*pool.Summary
	// Broken is what is wrong with the group itself, or nil.
	Broken error
	// Template is the serialized node that one more machine would become, made when first asked for.
	Template func() ([]byte, error)

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
	view := pool.View{Now: now, Namespace: s.namespace, Name: name, Group: group, Policy: policy.For(s.base, group)}
	var until time.Time
	view.Slots = make([]pool.Slot, 0, len(s.membersOfGroups[name]))
	for _, slot := range s.membersOfGroups[name] {
		e := s.slots[slot]
		view.Slots = append(view.Slots, s.viewOf(slot, e))
		until = earlier(until, e.viewUntil)
	}
	answer := &Answer{View: view, Summary: pool.Summarize(view), Broken: pool.Broken(view)}
	answer.validUntil = earlier(until, answer.ValidUntil)
	answer.Template = sync.OnceValues(func() ([]byte, error) {
		template, err := pool.Template(view, answer.Summary)
		if err != nil {
			return nil, err
		}
		return template.Marshal()
	})
	s.answers[name] = answer
	return answer, true
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

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
