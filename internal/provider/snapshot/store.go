// Package snapshot keeps what the provider's read calls are answered from: the objects of the informers and this
// process's own writes, indexed, with one answer per group that is made anew only when something in it changed.
//
// A change is judged by the slot it concerns alone, and the group's numbers follow by counting. So every read costs the
// same whatever the number of slots, but for the lists: the instances, and the template's next slot, which are made when
// first asked for after a change. Nothing here talks to the API server. Objects that go in belong to their informers and are never changed.
package snapshot

import (
	"maps"
	"slices"
	"sync"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// Store is the snapshot of one namespace, and of all kubeNodes. Its methods may be called at any time from anywhere.
type Store struct {
	namespace string
	base      policy.Policy
	clock     clock.PassiveClock

	mu        sync.RWMutex
	groups    map[string]*v2.Group
	slots     map[string]*entry
	kubeNodes map[string]*corev1.Node
	buried    graves

	kubeNodeByID    multimap
	slotByKubeNode  multimap
	slotByID        multimap
	membersOfGroups multimap

	// What is made of the objects is kept until one of them changes.
	counts     map[string]*count
	answers    map[string]*Answer
	blueprints map[string]*blueprint
	world      *World
}

// New makes an empty store. The base policy is what a group that says nothing gets.
func New(namespace string, base policy.Policy, clock clock.PassiveClock) *Store {
	return &Store{
		namespace: namespace, base: base, clock: clock,
		groups: map[string]*v2.Group{}, slots: map[string]*entry{}, kubeNodes: map[string]*corev1.Node{},
		buried:       graves{},
		kubeNodeByID: multimap{}, slotByKubeNode: multimap{}, slotByID: multimap{}, membersOfGroups: multimap{},
		counts: map[string]*count{}, answers: map[string]*Answer{}, blueprints: map[string]*blueprint{},
	}
}

// Observe takes in an object as an informer told of it. Kinds that answer no question are ignored.
func (s *Store) Observe(object client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := object.(type) {
	case *v2.Group:
		if !sameGroup(s.groups[o.Name], o) {
			s.dropGroup(o.Name)
		}
		s.groups[o.Name] = o
	case *v2.Node:
		s.observeSlot(o)
	case *v2.NodeClaim:
		s.change(o.Spec.SlotRef.Name, func(e *entry) { e.observe(o) })
	case *batchv1.Job:
		s.observeJob(o, facts.JobUnfinished(o))
	case *corev1.Node:
		s.observeKubeNode(o)
	}
}

// Forget takes out an object that an informer saw disappear.
func (s *Store) Forget(object client.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch o := object.(type) {
	case *v2.Group:
		s.dropGroup(o.Name)
		delete(s.groups, o.Name)
	case *v2.Node:
		s.changeMachine(o.Name, func(e *entry) { e.slot = nil })
	case *v2.NodeClaim:
		s.buried.add(o.UID, s.clock.Now())
		s.change(o.Spec.SlotRef.Name, func(e *entry) { delete(e.claims, o.UID) })
	case *batchv1.Job:
		s.observeJob(o, false)
	case *corev1.Node:
		s.forgetKubeNode(o)
	}
}

// Wrote takes in a claim as this process just wrote it, so that its own next read shows it. The informer's word counts
// again once it has caught up, or after a while in any case.
func (s *Store) Wrote(claim *v2.NodeClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.buried.has(claim.UID) {
		return
	}
	now := s.clock.Now()
	s.change(claim.Spec.SlotRef.Name, func(e *entry) { e.wrote(claim, now) })
}

// Deleted takes in that this process deleted a claim. Until the informer saw it go, it is shown as going.
func (s *Store) Deleted(claim *v2.NodeClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	s.change(claim.Spec.SlotRef.Name, func(e *entry) { e.deleted(claim, now) })
}

// Machines are all kubeNodes by name and all unfinished lifecycle Jobs, for a view of which the rest is read live.
func (s *Store) Machines() (map[string]*corev1.Node, []*batchv1.Job) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var jobs []*batchv1.Job
	for _, e := range s.slots {
		jobs = slices.AppendSeq(jobs, maps.Values(e.jobs))
	}
	return maps.Clone(s.kubeNodes), jobs
}

// dropGroup forgets what was made for a group as it was.
func (s *Store) dropGroup(name string) {
	delete(s.answers, name)
	delete(s.counts, name)
	delete(s.blueprints, name)
}

func (s *Store) observeSlot(slot *v2.Node) {
	change := s.changeMachine
	if e := s.slots[slot.Name]; e != nil && sameMachine(e.slot, slot) {
		change = s.change
	}
	change(slot.Name, func(e *entry) { e.slot = slot })
}

func (s *Store) observeJob(job *batchv1.Job, unfinished bool) {
	slot := job.Labels[v2.LabelNode]
	if slot == "" {
		return
	}
	if e := s.slots[slot]; !unfinished && (e == nil || e.jobs[job.Name] == nil) {
		return
	}
	s.change(slot, func(e *entry) {
		if delete(e.jobs, job.Name); unfinished {
			e.jobs[job.Name] = job
		}
	})
}

func (s *Store) observeKubeNode(kubeNode *corev1.Node) {
	before := s.kubeNodes[kubeNode.Name]
	s.kubeNodes[kubeNode.Name] = kubeNode
	if before != nil && saysTheSame(before, kubeNode) {
		return
	}
	if before != nil {
		s.kubeNodeByID.remove(before.Spec.ProviderID, before.Name)
	}
	s.kubeNodeByID.add(kubeNode.Spec.ProviderID, kubeNode.Name)
	s.touchSlotsOf(kubeNode.Name)
}

func (s *Store) forgetKubeNode(kubeNode *corev1.Node) {
	if before := s.kubeNodes[kubeNode.Name]; before != nil {
		s.kubeNodeByID.remove(before.Spec.ProviderID, before.Name)
		delete(s.kubeNodes, kubeNode.Name)
	}
	s.touchSlotsOf(kubeNode.Name)
}

func (s *Store) touchSlotsOf(kubeNode string) {
	for _, slot := range slices.Clone(s.slotByKubeNode[kubeNode]) {
		s.changeMachine(slot, func(*entry) {})
	}
}

// change edits the entry of a slot, keeps the indexes in step, and drops every answer the slot stood or stands in.
func (s *Store) change(slot string, edit func(*entry)) {
	e := s.slots[slot]
	if e == nil {
		e = newEntry()
		s.slots[slot] = e
	}
	s.unindex(slot, e)
	edit(e)
	if e.empty() {
		delete(s.slots, slot)
		return
	}
	s.index(slot, e)
}

func (s *Store) index(slot string, e *entry) {
	view := s.makeView(slot, e)
	e.view, e.viewUntil = view, e.validUntil()
	e.groups, e.ids = view.Groups(), view.ProviderIDs()
	if e.slot != nil {
		e.kubeNode = e.slot.Spec.KubernetesNodeName
	}
	s.slotByKubeNode.add(e.kubeNode, slot)
	for _, id := range e.ids {
		s.slotByID.add(id, slot)
	}
	for _, group := range e.groups {
		s.membersOfGroups.add(group, slot)
		delete(s.answers, group)
		if c := s.counts[group]; c != nil {
			c.add(e, s.clock.Now())
		}
	}
}

func (s *Store) unindex(slot string, e *entry) {
	s.slotByKubeNode.remove(e.kubeNode, slot)
	for _, id := range e.ids {
		s.slotByID.remove(id, slot)
	}
	for _, group := range e.groups {
		s.membersOfGroups.remove(group, slot)
		delete(s.answers, group)
		if c := s.counts[group]; c != nil {
			c.Remove(e.parts[group])
		}
	}
	clear(e.parts)
	e.kubeNode = ""
}

// viewOf is the slot as a view shows it now: as it was at its last change, unless an own write of this process was shown
// long enough since. The caller holds the lock for writing.
func (s *Store) viewOf(name string, e *entry) pool.Slot {
	if !e.viewUntil.IsZero() && !s.clock.Now().Before(e.viewUntil) {
		e.view = s.makeView(name, e)
		e.viewUntil = e.validUntil()
	}
	return e.view
}

func (s *Store) makeView(name string, e *entry) pool.Slot {
	view := pool.Slot{Name: name, Object: e.slot, Claims: e.effective(s.clock.Now())}
	if e.slot != nil {
		view.KubeNode = s.kubeNodes[e.slot.Spec.KubernetesNodeName]
	}
	if len(e.jobs) > 0 {
		view.UnfinishedJob = slices.Min(slices.Collect(maps.Keys(e.jobs)))
	}
	return view
}
