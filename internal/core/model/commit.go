package model

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// Section is one field of a Decision that is written.
type Section uint8

// The sections, in the order in which commit writes them.
const (
	Finalizers Section = iota
	ClaimStatuses
	SlotStatusWrite
	Actions
	Removals
)

// Rules are how a Decision is committed. A mutant has others.
type Rules struct {
	// Order is the order of the sections.
	Order []Section
	// BlindAbsences leaves assumed absences unread, BlindEvidence the kubeNode that is relied on; BlindCreates creates a Job
	// without a look at its owner and at the slot's other Jobs; BlindWrites carry no UID and no resourceVersion.
	BlindAbsences, BlindEvidence, BlindCreates, BlindWrites bool
}

// TheRules are the law: intent is saved before the act, protection goes last, and nothing is written on an outdated
// reading.
func TheRules() Rules {
	return Rules{Order: []Section{Finalizers, ClaimStatuses, SlotStatusWrite, Actions, Removals}}
}

// Commit is a Decision being written, one write at a time. It remembers what its own writes left, so that a second write
// to an object carries the version of the first. It is never changed in place: a State that stops in the middle of one
// keeps it.
type Commit struct {
	In       slot.Input
	Decision slot.Decision
	// Done is how many writes have been made.
	Done   int
	rules  Rules
	writes []any
	// latest are the objects as our own writes left them.
	latest []metav1.Object
}

func newCommit(in slot.Input, d slot.Decision, rules Rules) *Commit {
	c := &Commit{In: in, Decision: d, rules: rules}
	for _, section := range rules.Order {
		switch section {
		case Finalizers:
			c.writes = appendAll(c.writes, d.Finalizers)
		case ClaimStatuses:
			c.writes = appendAll(c.writes, d.Claims)
		case SlotStatusWrite:
			if d.Slot != nil {
				c.writes = append(c.writes, *d.Slot)
			}
		case Actions:
			c.writes = appendAll(c.writes, d.Actions)
		case Removals:
			c.writes = appendAll(c.writes, d.Removals)
		}
	}
	return c
}

func appendAll[T any](all []any, some []T) []any {
	for _, one := range some {
		all = append(all, one)
	}
	return all
}

// begin reads the assumed absences again, live, and takes the token where the Decision asks for it.
func (c *Commit) begin(s *State) error {
	for _, absence := range c.Decision.Assumes {
		if uid, found := s.present(absence); found && !c.rules.BlindAbsences && (absence.UID == "" || absence.UID == uid) {
			return fmt.Errorf("%w: %s %s is there after all", errRefused, absence.Kind, absence.Name)
		}
	}
	if c.Decision.Brake {
		if budget := c.In.Policy.EffectiveBudget(); !s.Braked.IsZero() && c.In.Now.Before(s.Braked.Add(budget)) {
			return fmt.Errorf("%w: no MachineGone token before %s", errRefused, s.Braked.Add(budget).Format(time.TimeOnly))
		}
		s.Braked = c.In.Now
	}
	return nil
}

// run writes until n writes are done in all, or one is refused, and answers the commit as it then stands. A token with
// which nothing was written goes back.
func (c *Commit) run(s *State, n int) (*Commit, error) {
	after := *c
	after.latest = slices.Clone(c.latest)
	s.blind = c.rules.BlindWrites
	defer func() { s.blind = false }()
	for after.Done < min(n, len(after.writes)) {
		if err := after.write(s, after.writes[after.Done]); err != nil {
			if after.Decision.Brake && after.Done == 0 && s.Braked.Equal(after.In.Now) {
				s.Braked = time.Time{}
			}
			return &after, err
		}
		after.Done++
	}
	return &after, nil
}

// complete is whether everything is written: only then is anything announced.
func (c *Commit) complete() bool { return c.Done == len(c.writes) }

// saved are the notes on claims whose status has been written.
func (c *Commit) saved() []slot.Note {
	return slices.DeleteFunc(slices.Clone(c.Decision.Notes), func(n slot.Note) bool {
		return n.Claim == nil || !slices.ContainsFunc(c.writes[:c.Done], func(w any) bool {
			status, ok := w.(slot.ClaimStatus)
			return ok && status.Claim == n.Claim
		})
	})
}

func (c *Commit) write(s *State, what any) error {
	switch w := what.(type) {
	case slot.AddFinalizer:
		return c.finalizer(s, w.Claim, w.Slot, true)
	case slot.ClaimStatus:
		if err := c.evidence(s); err != nil {
			return err
		}
		return c.keepClaim(s.updateClaim(latest(c, w.Claim), func(claim *v2.NodeClaim) { claim.Status = w.Status }))
	case slot.SlotStatus:
		if err := c.evidence(s); err != nil {
			return err
		}
		return c.keepSlot(s.updateSlot(latest(c, w.Slot), func(n *v2.Node) { n.Status = w.Status }))
	case slot.Action:
		return c.act(s, w)
	case slot.ClearDeadline:
		return c.keepClaim(s.updateClaim(latest(c, w.Claim), func(claim *v2.NodeClaim) { claim.Spec.DeadlineAt = nil }))
	case slot.DeleteClaim:
		return s.deleteClaim(latest(c, w.Claim))
	case slot.DropFinalizer:
		return c.finalizer(s, w.Claim, w.Slot, false)
	}
	panic(fmt.Sprintf("unknown write %T", what))
}

// evidence reads the kubeNode again that a status rests on.
func (c *Commit) evidence(s *State) error {
	relies := c.Decision.Relies
	switch {
	case relies == nil || c.rules.BlindEvidence:
		return nil
	case s.KubeNode == nil:
		return fmt.Errorf("%w: the kubeNode is gone", errRefused)
	}
	return same(relies, s.KubeNode)
}

func (c *Commit) act(s *State, action slot.Action) error {
	switch a := action.(type) {
	case slot.CreateJob:
		return c.create(s, a.Job)
	case slot.DeleteJob:
		return s.deleteJob(a.UID)
	case slot.SetJobTTL:
		return s.updateJob(a.UID, func(j *slot.Job) bool { j.Spec.TTLSecondsAfterFinished = &a.Seconds; return true })
	case slot.PatchKubeNode:
		after, err := s.patchKubeNode(latest(c, a.Before), a.After)
		if err == nil {
			c.latest = append(c.latest, after)
		}
		return err
	case slot.DeleteKubeNode:
		return s.deleteKubeNode(latest(c, a.KubeNode))
	case slot.Evict:
		s.Pods = slices.DeleteFunc(slices.Clone(s.Pods), func(p *corev1.Pod) bool { return p.UID == a.UID && p.Labels[stubborn] == "" })
		return nil
	case slot.CreateClaim:
		return s.createClaim(a.Claim)
	}
	panic(fmt.Sprintf("unknown action %T", action))
}

// create makes a lifecycle Job. A create has no precondition of its own, so a Job decided on an outdated reading, or by a
// leader that was paused, would come to life long after its turn: its owner is read again, live, and so are the slot's
// other lifecycle Jobs, none of which may be unfinished.
func (c *Commit) create(s *State, job *batchv1.Job) error {
	if !c.rules.BlindCreates {
		if err := c.ownerUnchanged(s, controller(job)); err != nil {
			return err
		}
		for _, other := range s.Jobs {
			if other.Name != job.Name && facts.JobUnfinished(other.Job) {
				return fmt.Errorf("%w: Job %s has not ended, or is going away", errRefused, other.Name)
			}
		}
	}
	return s.createJob(job)
}

func (c *Commit) ownerUnchanged(s *State, uid types.UID) error {
	if n := c.In.Slot; n != nil && n.UID == uid {
		if s.Slot == nil {
			return fmt.Errorf("%w: the slot is gone", errRefused)
		}
		return same(latest(c, n), s.Slot)
	}
	for _, claim := range c.In.Claims {
		if claim.UID != uid {
			continue
		}
		if live := s.claim(claim.Name); live != nil {
			return same(latest(c, claim), live)
		}
	}
	return fmt.Errorf("%w: the Job's owner is gone", errRefused)
}

// finalizer puts ours on or takes it off. The API server lets nobody put one on what is being deleted.
func (c *Commit) finalizer(s *State, claim *v2.NodeClaim, n *v2.Node, add bool) error {
	if add && (claim != nil && claim.DeletionTimestamp != nil || n != nil && n.DeletionTimestamp != nil) {
		return fmt.Errorf("%w: a finalizer on what is being deleted", errRefused)
	}
	if claim != nil {
		return c.keepClaim(s.updateClaim(latest(c, claim), func(claim *v2.NodeClaim) {
			claim.Finalizers = withFinalizer(claim.Finalizers, v2.FinalizerNodeClaim, add)
		}))
	}
	return c.keepSlot(s.updateSlot(latest(c, n), func(n *v2.Node) {
		n.Finalizers = withFinalizer(n.Finalizers, v2.FinalizerSlot, add)
	}))
}

func withFinalizer(list []string, finalizer string, add bool) []string {
	list = slices.DeleteFunc(slices.Clone(list), func(f string) bool { return f == finalizer })
	if add {
		list = append(list, finalizer)
	}
	return list
}

func (c *Commit) keepClaim(after *v2.NodeClaim, err error) error {
	if err == nil {
		c.latest = append(c.latest, after)
	}
	return err
}

func (c *Commit) keepSlot(after *v2.Node, err error) error {
	if err == nil {
		c.latest = append(c.latest, after)
	}
	return err
}

// latest is an object as the commit's last write left it, else as observed.
func latest[T metav1.Object](c *Commit, observed T) T {
	for _, object := range slices.Backward(c.latest) {
		if object.GetUID() == observed.GetUID() {
			return object.(T)
		}
	}
	return observed
}

// present is the live uid of an object whose absence was assumed, if there is one.
func (s *State) present(a slot.Absence) (uid types.UID, found bool) {
	var object metav1.Object
	switch a.Kind {
	case slot.KindSlot:
		if s.Slot != nil {
			object = s.Slot
		}
	case slot.KindClaim:
		if c := s.claim(a.Name); c != nil {
			object = c
		}
	case slot.KindJob:
		if j := s.job(a.Name); j != nil {
			object = j
		}
	case slot.KindKubeNode:
		if s.KubeNode != nil {
			object = s.KubeNode
		}
	default:
		panic("unknown kind " + a.Kind)
	}
	if object == nil {
		return "", false
	}
	return object.GetUID(), true
}
