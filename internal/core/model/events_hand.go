package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// handEvents are what people do with kubectl, Git and their backups.
func handEvents() []event {
	return []event{
		{name: "a person makes a claim", kind: HandClaims, options: when((*State).stands),
			happen: func(s *State, _ uint8) { s.handClaim() }},
		{name: "a person makes a claim while the webhook is down", kind: Unfilled, options: when((*State).stands),
			happen: func(s *State, _ uint8) { must(s.createClaim(s.bareClaim())) }},
		{name: "a person deletes claim *", kind: ClaimDeletes, words: claimName,
			options: claims(func(_ *State, c *v2.NodeClaim) bool { return c.DeletionTimestamp == nil }),
			happen:  func(s *State, i uint8) { must(s.deleteClaim(s.Claims[i])) }},
		{name: "a person deletes the slot", kind: SlotDeletes,
			options: when(func(s *State) bool { return s.Slot != nil && s.Slot.DeletionTimestamp == nil }),
			happen:  func(s *State, _ uint8) { must(s.deleteSlot()) }},
		{name: "the slot is created again", kind: SlotCreates,
			options: when(func(s *State) bool { return s.Slot == nil && !s.Terminating }), happen: func(s *State, _ uint8) { s.createSlot() }},
		{name: "a person deletes the kubeNode", kind: KubeNodeDeletes, options: when(func(s *State) bool { return s.KubeNode != nil }),
			happen: func(s *State, _ uint8) { s.KubeNode, s.Pods = nil, nil }},
		{name: "a person strips the finalizer of claim *", kind: Strips, words: claimName,
			options: claims(func(_ *State, c *v2.NodeClaim) bool { return facts.HasFinalizer(c) }),
			happen:  func(s *State, i uint8) { s.strip(s.Claims[i]) }},
		{name: "a person holds the slot", kind: Holds, options: when(func(s *State) bool { return s.Slot != nil && !s.held() }),
			happen: func(s *State, _ uint8) { s.annotate(map[string]string{v2.AnnotationHold: "repairs"}) }},
		{name: "the hold is lifted", options: when((*State).held), happen: func(s *State, _ uint8) { s.annotate(nil) }},
		{name: "a person deletes the group", kind: GroupDeletes, options: when(func(s *State) bool { return s.Group != nil }),
			happen: func(s *State, _ uint8) { s.Group = nil }},
		{name: "a person patches shutdownAttempts of claim * to 0", kind: Patches, words: claimName,
			options: claims(func(_ *State, c *v2.NodeClaim) bool { return c.Status.ShutdownAttempts > 0 && facts.HasFinalizer(c) }),
			happen: func(s *State, i uint8) {
				_, err := s.updateClaim(s.Claims[i], func(c *v2.NodeClaim) { c.Status.ShutdownAttempts = 0 })
				must(err)
			}},
		{name: "everything is restored from a backup without status", kind: Restores,
			options: when(func(s *State) bool { return s.Slot != nil && s.Slot.DeletionTimestamp == nil && len(s.Claims) > 0 }),
			happen:  func(s *State, _ uint8) { s.restore() }},
	}
}

// stands is whether there is a slot that is to stay.
func (s *State) stands() bool { return s.Slot != nil && s.Slot.DeletionTimestamp == nil }

func (s *State) held() bool { return facts.HoldOf(s.Slot, s.Now).Held }

func (s *State) annotate(annotations map[string]string) {
	_, err := s.updateSlot(s.Slot, func(n *v2.Node) { n.Annotations = annotations })
	must(err)
}

func (s *State) strip(c *v2.NodeClaim) {
	s.Ghost.Stripped = true
	_, err := s.updateClaim(c, func(c *v2.NodeClaim) {
		c.Finalizers = withFinalizer(c.Finalizers, v2.FinalizerNodeClaim, false)
	})
	must(err)
}

// restore makes slot and claims anew, as a backup that leaves status out does: new uids, the owners rewritten, finalizers
// kept. Jobs are not in the backup and were collected with their owners; a claim that was on its way out is not restored.
func (s *State) restore() {
	n := *s.Slot
	n.UID, n.ResourceVersion, n.CreationTimestamp = types.UID("uid-"+s.next()), s.next(), metav1.NewTime(s.Now)
	n.Generation, n.Status = 1, v2.NodeStatus{}
	s.Slot = &n
	kept := make([]*v2.NodeClaim, 0, len(s.Claims))
	for _, c := range s.Claims {
		if c.DeletionTimestamp != nil {
			continue
		}
		restored := *c
		restored.UID, restored.ResourceVersion, restored.CreationTimestamp = types.UID("uid-"+s.next()), s.next(), metav1.NewTime(s.Now)
		restored.OwnerReferences = slices.Clone(c.OwnerReferences)
		for i := range restored.OwnerReferences {
			restored.OwnerReferences[i].UID = n.UID
		}
		restored.Generation, restored.Status = 1, v2.NodeClaimStatus{}
		kept = append(kept, &restored)
	}
	s.Claims, s.Jobs = kept, nil
}

// terminate deletes what is in the namespace, as its controller does.
func (s *State) terminate() {
	s.Terminating = true
	if s.Slot != nil && s.Slot.DeletionTimestamp == nil {
		must(s.deleteSlot())
	}
	for _, c := range s.Claims {
		must(s.deleteClaim(c))
	}
	s.Jobs, s.Group = nil, nil
}

// stubborn labels a pod that no disruption budget lets go.
const stubborn = "stubborn"

func (s *State) bindPod(stays bool) {
	pod := &corev1.Pod{ObjectMeta: s.meta("app")}
	pod.Namespace, pod.Spec.NodeName = "default", machine
	if stays {
		pod.Labels = map[string]string{stubborn: "true"}
	}
	s.Pods = []*corev1.Pod{pod}
}
