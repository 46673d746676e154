package standin

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Decide is one pass: what to do about the snapshot, and what to remember. Pure and deterministic.
//
// The order is the real client's: leftovers of a former process are cleaned up in the first pass; instances that failed
// or never registered are given up; then machines are asked for; and only a pass that asked for none may remove one.
func Decide(s Snapshot, m Memory, config Config) (Plan, Memory) {
	d := decision{Snapshot: s, memory: m.clone(), config: config}
	d.cleanUp()
	d.giveUp()
	d.scaleUp()
	d.scaleDown()
	d.memory.Started = true
	return d.plan, d.memory
}

// decision is one pass being made.
type decision struct {
	Snapshot
	memory Memory
	config Config
	plan   Plan
	// needed are the kubeNodes on which a pending pod is expected to land.
	needed map[string]bool
	// asked is whether this pass asks for a machine.
	asked bool
}

func (d *decision) do(call Call) { d.plan.Calls = append(d.plan.Calls, call) }

func (d *decision) note(format string, args ...any) {
	d.plan.Notes = append(d.plan.Notes, fmt.Sprintf(format, args...))
}

// cleanUp frees the kubeNodes that a former process of this client was removing when it died.
func (d *decision) cleanUp() {
	if d.memory.Started {
		return
	}
	for _, kubeNode := range d.KubeNodes {
		if kubeNode.Group != "" && leavingTaint(kubeNode.Node) {
			d.do(CleanUp{Group: kubeNode.Group, KubeNode: kubeNode.Node})
		}
	}
}

// giveUp deletes the instances that failed, and those that did not register in time.
func (d *decision) giveUp() {
	var listed, failed []string
	for i := range d.Groups {
		group := &d.Groups[i]
		room := group.Target - group.Min
		for _, instance := range group.Instances {
			switch since, waiting := d.waiting(instance); {
			case instance.Failed():
				failed = append(failed, instance.ID)
				d.creationFailed(group, instance)
			case waiting:
				listed = append(listed, instance.ID)
				if d.Now.Sub(since) >= group.Options.MaxNodeProvisionTime && room > 0 {
					room--
					d.do(DeleteInstance{Group: group.ID, Instance: instance.ID, Reason: ReasonUnregistered})
				}
			}
		}
	}
	keepOnly(d.memory.Unregistered, listed)
	keepOnly(d.memory.Errored, failed)
}

// waiting is whether the instance should have a kubeNode and has none, and since when.
func (d *decision) waiting(instance Instance) (time.Time, bool) {
	if !instance.expected() || d.registered(instance.ID) {
		return time.Time{}, false
	}
	since, known := d.memory.Unregistered[instance.ID]
	if !known {
		since = d.Now
		d.memory.Unregistered[instance.ID] = since
	}
	return since, true
}

// creationFailed counts the failure once, and deletes the instance in every pass in which it is still listed.
func (d *decision) creationFailed(group *Group, instance Instance) {
	if !d.memory.Errored[instance.ID] {
		d.memory = d.memory.Fault(group.ID, d.Now, d.config)
		d.memory.Errored[instance.ID] = true
		d.note("group %s rests until %s: %s: %s", group.ID, d.memory.Faults[group.ID].Until().Format(time.TimeOnly),
			instance.ErrorCode, instance.ErrorMessage)
	}
	d.do(DeleteInstance{Group: group.ID, Instance: instance.ID, Reason: ReasonCreateError})
}

// registered is whether a kubeNode carries the id, byte for byte.
func (d *decision) registered(id string) bool {
	return slices.ContainsFunc(d.KubeNodes, func(k KubeNode) bool { return k.Spec.ProviderID == id })
}

// upcoming is how many machines of the group are asked for and not yet here: they count as room for pods.
func (d *decision) upcoming(group *Group) int32 {
	if d.memory.resting(group.ID, d.Now) {
		return 0
	}
	upcoming := group.Target
	for _, kubeNode := range d.KubeNodes {
		if kubeNode.Group == group.ID {
			upcoming--
		}
	}
	for _, instance := range group.Instances {
		if instance.Failed() {
			upcoming--
		}
	}
	return max(upcoming, 0)
}

// leavingTaint is whether the kubeNode carries the taint of one that is being removed.
func leavingTaint(kubeNode *corev1.Node) bool {
	return slices.ContainsFunc(kubeNode.Spec.Taints, func(t corev1.Taint) bool { return t.Key == TaintToBeDeleted })
}
