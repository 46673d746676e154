package pool

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
)

// View is one group and everything an answer about it depends on, read once. Nothing in this package changes it.
type View struct {
	// Now is the time of the reading.
	Now time.Time
	// Namespace and Name are the group's, whether or not it exists.
	Namespace, Name string
	// Group is the group, or nil when it does not exist.
	Group *v2.Group
	// Policy is in force for the group: policy.For(base, Group).
	Policy policy.Policy
	// Slots are the slots labelled with the group and those that a claim of the group names, by name. A slot can stand
	// in two views while its label has changed and a claim of the former group still lives.
	Slots []Slot
}

// Slot is one machine as a group sees it.
type Slot struct {
	// Name is the slot's name, whether or not it exists.
	Name string
	// Object is the slot, or nil when it is gone and only claims still name it.
	Object *v2.Node
	// Claims are all claims that name the slot, of any group, in any order.
	Claims []*v2.NodeClaim
	// KubeNode is the corev1.Node named by the slot's spec, or nil.
	KubeNode *corev1.Node
	// UnfinishedJob names a lifecycle Job of the slot that has not ended; empty: there is none.
	UnfinishedJob string
}

// Objects are the lists a View is assembled from. Objects of other groups may be among them.
type Objects struct {
	// Group is the group, or nil when it does not exist.
	Group *v2.Group
	// Slots are slots, in any order.
	Slots []*v2.Node
	// Claims are claims, in any order.
	Claims []*v2.NodeClaim
	// KubeNodes are kubeNodes by name.
	KubeNodes map[string]*corev1.Node
	// Jobs are lifecycle Jobs, found by their slot label.
	Jobs []*batchv1.Job
}

// Assemble picks from the objects what concerns the group. The base policy is what a group that says nothing gets.
func Assemble(now time.Time, namespace, name string, base policy.Policy, from Objects) View {
	slots := make(map[string]*Slot, len(from.Slots))
	at := func(name string) *Slot {
		if slots[name] == nil {
			slots[name] = &Slot{Name: name}
		}
		return slots[name]
	}
	for _, slot := range from.Slots {
		s := at(slot.Name)
		s.Object, s.KubeNode = slot, from.KubeNodes[slot.Spec.KubernetesNodeName]
	}
	for _, claim := range from.Claims {
		s := at(claim.Spec.SlotRef.Name)
		s.Claims = append(s.Claims, claim)
	}
	for _, job := range from.Jobs {
		if s := slots[job.Labels[v2.LabelNode]]; s != nil && facts.JobUnfinished(job) {
			s.UnfinishedJob = cmp.Or(s.UnfinishedJob, job.Name)
		}
	}
	view := View{Now: now, Namespace: namespace, Name: name, Group: from.Group, Policy: policy.For(base, from.Group)}
	for _, key := range slices.Sorted(maps.Keys(slots)) {
		if s := *slots[key]; slices.Contains(s.Groups(), name) {
			view.Slots = append(view.Slots, s)
		}
	}
	return view
}

// Groups names the groups in whose views the slot stands: its label's and those of its claims, each once.
func (s Slot) Groups() []string {
	var groups []string
	add := func(group string) {
		if group != "" && !slices.Contains(groups, group) {
			groups = append(groups, group)
		}
	}
	if s.Object != nil {
		add(s.Object.Labels[v2.LabelGroup])
	}
	for _, claim := range s.Claims {
		add(claim.Spec.Request.Group)
	}
	return groups
}

// Engine is who may ask for machines of the group; a group that does not say is cluster-autoscaler's.
func Engine(group *v2.Group) v2.Engine { return cmp.Or(group.Spec.Engine, v2.EngineClusterAutoscaler) }

// find is the slot of that name, or nil.
func (v View) find(name string) *Slot {
	i, ok := slices.BinarySearchFunc(v.Slots, name, func(s Slot, name string) int { return strings.Compare(s.Name, name) })
	if !ok {
		return nil
	}
	return &v.Slots[i]
}
