package model

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// errRefused is a write whose precondition did not hold, or whose object is gone.
var errRefused = errors.New("refused")

// same is the precondition of a write.
func (s *State) same(observed, live metav1.Object) error {
	if s.blind {
		return nil
	}
	return same(observed, live)
}

// same is whether the object observed is the one the API server keeps now.
func same(observed, live metav1.Object) error {
	if observed.GetUID() != live.GetUID() || observed.GetResourceVersion() != live.GetResourceVersion() {
		return fmt.Errorf("%w: %s has changed", errRefused, observed.GetName())
	}
	return nil
}

// updateClaim writes a claim if it is still as observed, and answers it as the write left it.
func (s *State) updateClaim(observed *v2.NodeClaim, change func(*v2.NodeClaim)) (*v2.NodeClaim, error) {
	i := slices.IndexFunc(s.Claims, func(c *v2.NodeClaim) bool { return c.Name == observed.Name })
	if i < 0 {
		return nil, fmt.Errorf("%w: claim %s is gone", errRefused, observed.Name)
	}
	if err := s.same(observed, s.Claims[i]); err != nil {
		return nil, err
	}
	before := s.Claims[i]
	after := *before
	change(&after)
	after.ResourceVersion = s.next()
	if !reflect.DeepEqual(before.Spec, after.Spec) || deletes(before, &after) {
		after.Generation++
	}
	s.Claims = slices.Clone(s.Claims)
	s.Claims[i] = &after
	if after.DeletionTimestamp != nil && len(after.Finalizers) == 0 {
		s.Claims = slices.Delete(s.Claims, i, i+1)
	}
	return &after, nil
}

// updateSlot writes the slot if it is still as observed.
func (s *State) updateSlot(observed *v2.Node, change func(*v2.Node)) (*v2.Node, error) {
	if s.Slot == nil {
		return nil, fmt.Errorf("%w: the slot is gone", errRefused)
	}
	if err := s.same(observed, s.Slot); err != nil {
		return nil, err
	}
	before := s.Slot
	after := *before
	change(&after)
	after.ResourceVersion = s.next()
	if deletes(before, &after) {
		after.Generation++
	}
	s.Slot = &after
	if after.DeletionTimestamp != nil && len(after.Finalizers) == 0 {
		s.Slot = nil
	}
	return &after, nil
}

// deletes is whether a write begins a deletion. That raises the generation, as a change of the spec does.
func deletes(before, after metav1.Object) bool {
	return before.GetDeletionTimestamp() == nil && after.GetDeletionTimestamp() != nil
}

// deleteClaim begins the deletion of a claim, or ends it where no finalizer holds it.
func (s *State) deleteClaim(observed *v2.NodeClaim) error {
	_, err := s.updateClaim(observed, func(c *v2.NodeClaim) {
		if c.DeletionTimestamp == nil {
			now := metav1.NewTime(s.Now)
			c.DeletionTimestamp = &now
		}
	})
	return err
}

func (s *State) deleteSlot() error {
	_, err := s.updateSlot(s.Slot, func(n *v2.Node) {
		now := metav1.NewTime(s.Now)
		n.DeletionTimestamp = &now
	})
	return err
}

func (s *State) createClaim(claim *v2.NodeClaim) error {
	if s.claim(claim.Name) != nil {
		return fmt.Errorf("%w: claim %s exists", errRefused, claim.Name)
	}
	created := *claim
	meta := s.meta(claim.Name)
	created.UID, created.ResourceVersion, created.Generation = meta.UID, meta.ResourceVersion, meta.Generation
	created.CreationTimestamp = meta.CreationTimestamp
	if created.Spec.TTLSecondsAfterFinished == nil {
		created.Spec.TTLSecondsAfterFinished = new(int32(3600)) // the kind's own default
	}
	s.Claims = append(slices.Clone(s.Claims), &created)
	return nil
}

// createJob creates a Job. One of the same name and the same controller is the same Job: an answer that was lost.
func (s *State) createJob(job *batchv1.Job) error {
	if found := s.job(job.Name); found != nil {
		if controller(found.Job) != controller(job) {
			return fmt.Errorf("%w: another owner has Job %s", errRefused, job.Name)
		}
		return nil
	}
	created := &batchv1.Job{ObjectMeta: s.meta(job.Name)}
	created.Labels, created.OwnerReferences = job.Labels, job.OwnerReferences
	s.Jobs = append(slices.Clone(s.Jobs), slot.Job{Job: created})
	if job.Labels[v2.LabelOperation] == startup {
		s.Ghost.Startups = append(slices.Clone(s.Ghost.Startups), controller(job))
	}
	return nil
}

func controller(object metav1.Object) types.UID {
	if owner := metav1.GetControllerOf(object); owner != nil {
		return owner.UID
	}
	return ""
}

// updateJob writes the Job of that uid; change answers false to remove it.
func (s *State) updateJob(uid types.UID, change func(*slot.Job) bool) error {
	i := slices.IndexFunc(s.Jobs, func(j slot.Job) bool { return j.UID == uid })
	if i < 0 {
		return fmt.Errorf("%w: Job %s is gone", errRefused, uid)
	}
	after := *s.Jobs[i].Job
	after.ResourceVersion = s.next()
	changed := slot.Job{Job: &after, Pods: s.Jobs[i].Pods}
	s.Jobs = slices.Clone(s.Jobs)
	if !change(&changed) {
		s.Jobs = slices.Delete(s.Jobs, i, i+1)
		return nil
	}
	s.Jobs[i] = changed
	return nil
}

// deleteJob begins a Job's foreground deletion: it stays until its pods are gone.
func (s *State) deleteJob(uid types.UID) error {
	return s.updateJob(uid, func(j *slot.Job) bool {
		if j.DeletionTimestamp == nil {
			now := metav1.NewTime(s.Now)
			j.DeletionTimestamp = &now
		}
		return true
	})
}

func (s *State) patchKubeNode(observed, after *corev1.Node) (*corev1.Node, error) {
	if s.KubeNode == nil {
		return nil, fmt.Errorf("%w: the kubeNode is gone", errRefused)
	}
	if err := s.same(observed, s.KubeNode); err != nil {
		return nil, err
	}
	patched := *after
	patched.ResourceVersion = s.next()
	s.KubeNode = &patched
	return &patched, nil
}

func (s *State) deleteKubeNode(observed *corev1.Node) error {
	if s.KubeNode == nil {
		return fmt.Errorf("%w: the kubeNode is gone", errRefused)
	}
	if err := s.same(observed, s.KubeNode); err != nil {
		return err
	}
	s.KubeNode, s.Pods = nil, nil
	return nil
}

// garbage is whether the collector has anything to do: a dependent none of whose owners exists.
func (s *State) garbage() bool {
	return slices.ContainsFunc(s.Claims, func(c *v2.NodeClaim) bool { return c.DeletionTimestamp == nil && s.orphan(c) }) ||
		slices.ContainsFunc(s.Jobs, func(j slot.Job) bool { return s.orphan(j) })
}

// orphan is whether an object has owners and none of them exists.
func (s *State) orphan(object metav1.Object) bool {
	owners := object.GetOwnerReferences()
	return len(owners) > 0 && !slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool {
		return s.Slot != nil && s.Slot.UID == owner.UID ||
			slices.ContainsFunc(s.Claims, func(c *v2.NodeClaim) bool { return c.UID == owner.UID })
	})
}

// collectGarbage deletes orphans as the garbage collector does. An orphaned Job goes with its pods.
func (s *State) collectGarbage() {
	for _, c := range s.Claims {
		if s.orphan(c) && c.DeletionTimestamp == nil {
			must(s.deleteClaim(c))
		}
	}
	s.Jobs = slices.DeleteFunc(slices.Clone(s.Jobs), func(j slot.Job) bool { return s.orphan(j) })
}

// must is for writes that cannot be refused: their object was taken from the state itself.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
