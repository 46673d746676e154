package snapshot

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// blueprint is a group's template before it is aimed at a slot, or why there is none. It reads every slot, and is kept
// until a machine of the group is another one: what claims do changes nothing in it.
type blueprint struct {
	kubeNode *corev1.Node
	err      error
}

func (s *Store) blueprint(name string) (*corev1.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.blueprints[name]
	if kept == nil {
		kept = &blueprint{}
		view, _ := s.members(name)
		kept.kubeNode, kept.err = pool.Blueprint(view)
		s.blueprints[name] = kept
	}
	return kept.kubeNode, kept.err
}

// changeMachine is a change of what a slot's machine is, beyond its claims and Jobs.
func (s *Store) changeMachine(slot string, edit func(*entry)) {
	s.world = nil
	s.dropBlueprints(slot)
	s.change(slot, edit)
	s.dropBlueprints(slot)
}

func (s *Store) dropBlueprints(slot string) {
	if e := s.slots[slot]; e != nil {
		for _, group := range e.groups {
			delete(s.blueprints, group)
		}
	}
}

// sameGroup is whether two states of a group ask for the same. Most updates are of the status.
func sameGroup(a, b *v2.Group) bool {
	return a != nil && a.UID == b.UID && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}

// sameMachine is whether two states of a slot describe the same machine. Most updates are of the status.
func sameMachine(a, b *v2.Node) bool {
	return a != nil && a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) &&
		equality.Semantic.DeepEqual(a.Labels, b.Labels) && equality.Semantic.DeepEqual(a.Spec, b.Spec)
}
