package model

import (
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/slot"
)

// Where the world is.
const (
	namespace = "power"
	machine   = "worker-01"
	group     = "workers"
)

// epoch is when every history begins.
var epoch = time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)

// Objects are what the API server keeps of one slot. No object is ever changed in place, and no slice: both are shared
// between states and with snapshots.
type Objects struct {
	Slot     *v2.Node
	Claims   []*v2.NodeClaim
	Jobs     []slot.Job
	KubeNode *corev1.Node
	Pods     []*corev1.Pod
	Group    *v2.Group
}

// State is the world at one moment. It is copied by assignment.
type State struct {
	Objects
	Now   time.Time
	Metal Metal
	// Said is what the power observer last heard of the switch, and understood.
	Said v2.PowerState
	// Terminating is whether the namespace is being deleted.
	Terminating bool
	// Cache is what a lagging informer cache still holds, or nil when the cache is up to date.
	Cache *Objects
	// Leader is a former leader that stopped in the middle of a commit and will go on, or nil.
	Leader *Commit
	// Down is whether the manager died or was paused in its last commit, and no other has acted since.
	Down bool
	// Braked is when the manager last took its MachineGone token; the zero time: it has one.
	Braked time.Time
	Left   Budget
	Ghost  Ghost

	// serial numbers UIDs and resourceVersions.
	serial uint32
	// blind makes writes without preconditions, for a mutant.
	blind bool
}

// Ghost is what no manager can know, kept for the laws.
type Ghost struct {
	// Startups are the startup Jobs ever created, by claim. Immutable, as all slices.
	Startups []types.UID
	// Stripped is whether somebody took a finalizer of ours off by hand.
	Stripped bool
	// Unseen is whether a Job was deleted by hand before its uid was recorded: nothing can tell that it ever was.
	Unseen bool
	// Misread is whether the switch turned to off, in its words, while the machine ran.
	Misread bool
}

// New is a world with one slot, its group, and a machine that is off.
func New(budget Budget) State {
	s := State{Now: epoch, Left: budget}
	s.Group = &v2.Group{ObjectMeta: s.meta(group)}
	s.createSlot()
	return s
}

func (s *State) next() string {
	s.serial++
	return strconv.FormatUint(uint64(s.serial), 10)
}

// meta is the metadata that the API server gives a new object.
func (s *State) meta(name string) metav1.ObjectMeta {
	version := s.next()
	return metav1.ObjectMeta{
		Name: name, Namespace: namespace, UID: types.UID("uid-" + version), ResourceVersion: version, Generation: 1,
		CreationTimestamp: metav1.NewTime(s.Now),
	}
}

func (s *State) createSlot() {
	created := &v2.Node{
		ObjectMeta: s.meta(machine),
		Spec: v2.NodeSpec{
			KubernetesNodeName: machine,
			StartupPodSpec:     v2.MinimalPodSpec{Image: "power", Command: []string{"on"}},
			ShutdownPodSpec:    v2.MinimalPodSpec{Image: "power", Command: []string{"off"}},
		},
	}
	created.Labels = map[string]string{v2.LabelGroup: group}
	s.Slot = created
}

// policy is in force for the slot.
func (o *Objects) policy() policy.Policy { return policy.For(policy.Default(), o.groupInForce()) }

func (o *Objects) groupInForce() *v2.Group {
	if facts.GroupOf(o.Slot, o.Claims) == group {
		return o.Group
	}
	return nil
}

// input is what a manager observes of the objects at a time.
func (o *Objects) input(now time.Time, terminating bool) slot.Input {
	in := slot.Input{
		Now: now, Namespace: namespace, Name: machine,
		Slot: o.Slot, Group: o.groupInForce(), Policy: o.policy(), Claims: o.Claims, Jobs: o.Jobs,
		AlwaysOn: true,
	}
	if o.Slot != nil {
		in.KubeNode = o.KubeNode
	}
	if in.KubeNode != nil {
		in.Pods = o.Pods
	}
	deleting := o.Slot != nil && o.Slot.DeletionTimestamp != nil ||
		slices.ContainsFunc(o.Claims, func(c *v2.NodeClaim) bool { return c.DeletionTimestamp != nil })
	in.NamespaceTerminating = terminating && deleting
	return in
}

// Input is what a manager with an up-to-date cache observes.
func (s *State) Input() slot.Input { return s.input(s.Now, s.Terminating) }

func (o *Objects) claim(name string) *v2.NodeClaim {
	for _, c := range o.Claims {
		if c.Name == name {
			return c
		}
	}
	return nil
}

func (o *Objects) job(name string) *slot.Job {
	for i := range o.Jobs {
		if o.Jobs[i].Name == name {
			return &o.Jobs[i]
		}
	}
	return nil
}

// wanted is the newest claim for whose sake the machine shall be on, or nil.
func (o *Objects) wanted() *v2.NodeClaim {
	var newest *v2.NodeClaim
	for _, c := range o.Claims {
		if facts.Wanted(c, o.Slot) && (newest == nil || facts.Older(newest, c) < 0) {
			newest = c
		}
	}
	return newest
}
