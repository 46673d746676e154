package snapshot

import (
	"time"

	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// count is a group in numbers, kept as its slots change one by one.
type count struct {
	pool.Tally
	// base is what the group's slots are judged by: a view without them.
	base pool.View
	// until is a time before which time alone changes no part.
	until time.Time
}

// add judges a slot anew and counts it in.
func (c *count) add(e *entry, now time.Time) {
	base := c.base
	base.Now = now
	part := pool.PartOf(base, e.view)
	c.Add(part)
	c.until = earlier(c.until, earlier(part.ValidUntil, e.viewUntil))
	e.parts[base.Name] = part
}

// countOf is the group's count, made anew when the group changed or time did. The caller holds the lock for writing.
func (s *Store) countOf(name string, now time.Time) *count {
	if c := s.counts[name]; c != nil && (c.until.IsZero() || now.Before(c.until)) {
		return c
	}
	group := s.groups[name]
	c := &count{base: pool.View{Namespace: s.namespace, Name: name, Group: group, Policy: policy.For(s.base, group)}}
	for _, slot := range s.membersOfGroups[name] {
		e := s.slots[slot]
		e.view = s.viewOf(slot, e)
		c.add(e, now)
	}
	s.counts[name] = c
	return c
}

// members are the group's slots with their parts. The caller holds the lock for writing.
func (s *Store) members(name string) (pool.View, []pool.Part) {
	now := s.clock.Now()
	view := s.countOf(name, now).base
	view.Now = now
	slots := s.membersOfGroups[name]
	view.Slots = make([]pool.Slot, 0, len(slots))
	parts := make([]pool.Part, 0, len(slots))
	for _, slot := range slots {
		e := s.slots[slot]
		view.Slots, parts = append(view.Slots, e.view), append(parts, e.parts[name])
	}
	return view, parts
}

// instances are the listed machines of a group without a failed boot. The caller holds the lock for writing.
func (s *Store) instances(name string) []pool.Instance {
	s.countOf(name, s.clock.Now())
	slots := s.membersOfGroups[name]
	list := make([]pool.Instance, 0, len(slots))
	for _, slot := range slots {
		if instance, listed := s.slots[slot].parts[name].Instance(slot); listed {
			list = append(list, instance)
		}
	}
	return list
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
