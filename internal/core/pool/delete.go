package pool

import (
	"cmp"
	"slices"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// NodeRef is a node as the client names it.
type NodeRef struct {
	// ProviderID is the node's spec.providerID, or the id of an instance that never registered.
	ProviderID string
	// Name is the node's name; an instance that never registered has its id for one.
	Name string
}

// String names the node for a message, with what of it the client told.
func (r NodeRef) String() string {
	switch {
	case r.ProviderID == "" || r.ProviderID == r.Name:
		return r.Name
	case r.Name == "":
		return r.ProviderID
	}
	return r.Name + " (" + r.ProviderID + ")"
}

// Deletion is what giving machines back writes.
type Deletion struct {
	// Claims are to be marked and deleted. Those already marked or already going are among them: whoever sees a mark
	// without its delete finishes the delete.
	Claims []*v2.NodeClaim
	// Errored are failed boots that stop counting once status.endedBy says who answered them.
	Errored []*v2.NodeClaim
}

// PlanDelete is what giving the nodes back writes, or the reason why nothing may be written: the whole batch is judged
// before the first write, since the client takes its marks off every node of a batch that fails. A node whose machine
// nothing asks for any more is already what was asked.
func PlanDelete(v View, nodes []NodeRef) (Deletion, error) {
	if len(nodes) == 0 {
		return Deletion{}, Faultf(Malformed, "no node is named")
	}
	sum := Summarize(v)
	var plan Deletion
	var idle, running int32
	seen := map[string]bool{}
	for _, ref := range nodes {
		slot, err := v.Resolve(ref)
		if err != nil {
			return Deletion{}, err
		}
		if seen[slot.Name] {
			continue
		}
		seen[slot.Name] = true
		instance, _ := sum.InstanceOf(slot.Name)
		if err := plan.add(v, slot, instance); err != nil {
			return Deletion{}, err
		}
		switch instance.State {
		case Running:
			running++
		case Creating, Errored:
			idle++
		}
	}
	if after := sum.Target - idle - running; running > 0 && after < sum.Min {
		return Deletion{}, Faultf(Refused, "group %s would have %d machines, below its minSize of %d",
			v.Name, after, v.Group.Spec.MinSize)
	}
	return plan, nil
}

func (d *Deletion) add(v View, slot *Slot, instance Instance) error {
	if instance.State == Errored {
		d.Errored = append(d.Errored, instance.Claim)
		return nil
	}
	for _, claim := range slot.Claims {
		if !facts.Live(claim) {
			continue
		}
		hold := facts.HoldOf(slot.Object, v.Now)
		if hold.Held && facts.Committed(claim) && !facts.Marked(claim, slot.Object) {
			return Faultf(Refused, "slot %s is held and its machine stays as it is: %s", slot.Name, hold.Why)
		}
		d.Claims = append(d.Claims, claim)
	}
	return nil
}

// Resolve is the slot a node stands for. The providerID decides, since an invented node has no other name of its own;
// then the name. One that names one machine and carries the id of another is refused: whichever was meant, the wrong one
// might go down. The slot must be the group's: its live claim's, else its newest claim's, else its label's.
func (v View) Resolve(ref NodeRef) (*Slot, error) {
	if ref.ProviderID == "" && ref.Name == "" {
		return nil, Faultf(Malformed, "a node has neither providerID nor name")
	}
	byID, byName := v.slotOfID(ref.ProviderID), v.slotWhere(func(s Slot) bool { return s.named(ref.Name) })
	if byID != nil && byName != nil && byID != byName {
		return nil, Faultf(Malformed, "node %s is two machines: its providerID is that of slot %s, its name that of slot %s",
			ref, byID.Name, byName.Name)
	}
	slot := cmp.Or(byID, byName)
	if slot == nil || slot.governedBy() != v.Name {
		return nil, Faultf(Malformed, "node %s is not of group %s", ref, v.Name)
	}
	return slot, nil
}

// slotOfID is the slot whose kubeNode carries the id, else the one that has, declares or had it; or nil.
func (v View) slotOfID(id string) *Slot {
	return cmp.Or(
		v.slotWhere(func(s Slot) bool { return s.carries(id) }),
		v.slotWhere(func(s Slot) bool { return s.knownAs(id) }),
	)
}

func (v View) slotWhere(is func(Slot) bool) *Slot {
	if i := slices.IndexFunc(v.Slots, is); i >= 0 {
		return &v.Slots[i]
	}
	return nil
}

// carries is whether the slot's kubeNode carries the id.
func (s Slot) carries(id string) bool {
	return id != "" && s.KubeNode != nil && s.KubeNode.Spec.ProviderID == id
}

// knownAs is whether the id is one the slot has, declares or had.
func (s Slot) knownAs(id string) bool {
	if id == "" {
		return false
	}
	for _, own := range s.ProviderIDs() {
		if own == id {
			return true
		}
	}
	return false
}

// ProviderIDs are the ids under which the client may speak of the slot at any time, whatever its kubeNode carries now.
func (s Slot) ProviderIDs() []string {
	ids := []string{v2.ProviderIDPrefix + s.Name}
	if s.Object != nil {
		ids = append(ids, s.Object.Spec.ProviderID, s.Object.Status.ProviderID)
	}
	for _, claim := range s.Claims {
		ids = append(ids, claim.Status.ProviderID)
	}
	return ids
}

// named is whether a kubelet of that name is the slot's.
func (s Slot) named(name string) bool {
	if name == "" {
		return false
	}
	if s.Object != nil {
		return s.Object.Spec.KubernetesNodeName == name
	}
	for _, claim := range s.Claims {
		if claim.Status.NodeName == name {
			return true
		}
	}
	return false
}

// governedBy is the group the slot's machine answers to.
func (s Slot) governedBy() string {
	if live := facts.NewestLive(s.Claims); live != nil {
		return live.Spec.Request.Group
	}
	if newest := facts.Newest(s.Claims); newest != nil {
		return newest.Spec.Request.Group
	}
	if s.Object == nil {
		return ""
	}
	return s.Object.Labels[v2.LabelGroup]
}
