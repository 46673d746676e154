package model

import (
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
)

// clientEvents are what cluster-autoscaler does to the slot by way of our provider, whose own choices are core/pool's.
func clientEvents() []event {
	unmarked := claims(func(s *State, c *v2.NodeClaim) bool { return facts.Wanted(c, s.Slot) })
	return []event{
		{name: "IncreaseSize takes the slot", kind: ProviderClaims,
			options: when(func(s *State) bool { view, one := s.view(); return pool.Offerable(view, one) == nil }),
			happen: func(s *State, _ uint8) {
				view, one := s.view()
				must(s.createClaim(pool.NewClaim(view, one, pool.Ask{Call: v2.CallIncreaseSize, Delta: 1, By: "cluster-autoscaler"})))
			}},
		{name: "DeleteNodes ends claim *", kind: Marks, options: unmarked, words: claimName,
			happen: func(s *State, i uint8) { must(s.deleteClaim(s.mark(i))) }},
		{name: "DeleteNodes marks claim * and dies", kind: Marks, options: unmarked, words: claimName,
			happen: func(s *State, i uint8) { s.mark(i) }},
		{name: "DecreaseTargetSize takes back claim *", kind: Marks, words: claimName,
			options: claims(func(s *State, c *v2.NodeClaim) bool {
				return facts.Wanted(c, s.Slot) && facts.Phase(c) == v2.ClaimPending
			}),
			happen: func(s *State, i uint8) { must(s.deleteClaim(s.Claims[i])) }},
		{name: "cluster-autoscaler taints the kubeNode and cordons it", kind: Cordons,
			options: when(func(s *State) bool { return s.heard() && !s.KubeNode.Spec.Unschedulable }),
			happen: func(s *State, _ uint8) {
				s.kubeNode(func(n *corev1.Node) {
					n.Spec.Unschedulable = true
					n.Spec.Taints = append(slices.Clone(n.Spec.Taints), caTaint())
				})
			}},
	}
}

// view is the slot as the provider sees it.
func (s *State) view() (pool.View, pool.Slot) {
	from := pool.Objects{Group: s.Group, Claims: s.Claims, KubeNodes: map[string]*corev1.Node{}}
	if s.Slot != nil {
		from.Slots = []*v2.Node{s.Slot}
	}
	if s.KubeNode != nil {
		from.KubeNodes[machine] = s.KubeNode
	}
	for _, j := range s.Jobs {
		from.Jobs = append(from.Jobs, []*batchv1.Job{j.Job}...)
	}
	view := pool.Assemble(s.Now, namespace, group, policy.Default(), from)
	if len(view.Slots) == 0 {
		return view, pool.Slot{Name: machine}
	}
	return view, view.Slots[0]
}

// mark records a DeleteNodes on a claim.
func (s *State) mark(i uint8) *v2.NodeClaim {
	after, err := s.updateClaim(s.Claims[i], func(c *v2.NodeClaim) {
		c.Spec.Request.Call, c.Spec.Request.Nodes = v2.CallDeleteNodes, []string{machine}
	})
	must(err)
	return after
}

// handClaim is a claim that a person makes, with nothing but what the webhook fills in.
func (s *State) handClaim() {
	now := metav1.NewTime(s.Now)
	deadline := metav1.NewTime(s.Now.Add(s.policy().EffectiveBudget()))
	c := s.bareClaim()
	c.Spec.RequestedAt, c.Spec.RequestedBy, c.Spec.DeadlineAt = &now, "somebody", &deadline
	must(s.createClaim(c))
}

// bareClaim is a claim as a person writes it.
func (s *State) bareClaim() *v2.NodeClaim {
	return &v2.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("hand-%d", s.serial), Namespace: namespace},
		Spec: v2.NodeClaimSpec{
			SlotRef: corev1.ObjectReference{Name: machine},
			Request: v2.ClaimRequest{Call: v2.CallCreate, Group: group},
		},
	}
}
