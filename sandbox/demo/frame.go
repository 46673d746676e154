package demo

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
	"homecluster.dev/autoscaler/sandbox/liveview"
)

// Frame is what the live view shows of the world.
func (w *World) Frame(title string, at time.Duration, checklist *Checklist) liveview.Frame {
	return liveview.Frame{Title: title, Elapsed: at, Steps: checklist.View(),
		Tables: []liveview.Table{w.slotTable(), w.claimTable(), w.podTable()},
		Feeds:  []liveview.Feed{w.events, w.power}}
}

func (w *World) slotTable() liveview.Table {
	t := liveview.Table{Name: "slots", Noun: "slot", Header: []string{"SLOT", "GROUP", "PHASE", "POWER", "SWITCH", "MACHINE", "KUBENODE"},
		Empty: "no slots yet"}
	for _, name := range slices.Sorted(maps.Keys(w.slots)) {
		slot := w.slots[name]
		t.Rows = append(t.Rows, []liveview.Cell{
			{Text: name}, {Text: slot.Labels[v2.LabelGroup]},
			{Text: string(slot.Status.Phase), Tone: slotTones[slot.Status.Phase]},
			{Text: string(slot.Status.PowerState), Tone: powerTones[slot.Status.PowerState]},
			{Text: string(reading(slot)), Tone: powerTones[reading(slot)]},
			w.machineCell(name), kubeNodeCell(w.kubeNodes[slot.Spec.KubernetesNodeName]),
		})
	}
	return t
}

// machineCell is the truth about the machine, from the room's own power log and from nowhere else.
func (w *World) machineCell(name string) liveview.Cell {
	if w.on[name] {
		return liveview.Cell{Text: "on", Tone: liveview.Good}
	}
	return liveview.Cell{Text: "off", Tone: liveview.Dim}
}

func kubeNodeCell(kubeNode *corev1.Node) liveview.Cell {
	switch {
	case kubeNode == nil:
		return liveview.Cell{}
	case !facts.KubeletOn(kubeNode):
		return liveview.Cell{Text: "silent", Tone: liveview.Busy}
	case !facts.KubeNodeReady(kubeNode):
		return liveview.Cell{Text: "not ready", Tone: liveview.Busy}
	case kubeNode.Spec.Unschedulable:
		return liveview.Cell{Text: "cordoned", Tone: liveview.Busy}
	}
	return liveview.Cell{Text: "Ready", Tone: liveview.Good}
}

func (w *World) claimTable() liveview.Table {
	t := liveview.Table{Name: "claims", Noun: "claim", Header: []string{"CLAIM", "GROUP", "PHASE", "CALL", "REASON"}, Empty: "no claims"}
	for _, name := range slices.Sorted(maps.Keys(w.claims)) {
		claim := w.claims[name]
		phase := facts.Phase(claim)
		t.Rows = append(t.Rows, []liveview.Cell{{Text: name}, {Text: claim.Spec.Request.Group},
			{Text: string(phase), Tone: claimTones[phase]}, {Text: string(claim.Spec.Request.Call)}, {Text: string(claim.Status.Reason)}})
	}
	return t
}

func (w *World) podTable() liveview.Table {
	t := liveview.Table{Name: "pods", Noun: "pod", Header: []string{"POD", "PHASE", "KUBENODE"}, Empty: "no pods"}
	for _, name := range slices.Sorted(maps.Keys(w.pods)) {
		pod := w.pods[name]
		phase, tone := string(pod.Status.Phase), podTones[pod.Status.Phase]
		if pod.DeletionTimestamp != nil {
			phase, tone = "Terminating", liveview.Dim
		}
		t.Rows = append(t.Rows, []liveview.Cell{{Text: name}, {Text: phase, Tone: tone}, {Text: pod.Spec.NodeName}})
	}
	return t
}

var (
	slotTones = map[v2.SlotPhase]liveview.Tone{v2.SlotOff: liveview.Dim, v2.SlotPending: liveview.Busy,
		v2.SlotBooting: liveview.Busy, v2.SlotReady: liveview.Good, v2.SlotDraining: liveview.Busy}
	powerTones = map[v2.PowerState]liveview.Tone{v2.PowerOn: liveview.Good, v2.PowerOff: liveview.Dim, v2.PowerUnknown: liveview.Busy}
	claimTones = map[v2.ClaimPhase]liveview.Tone{v2.ClaimPending: liveview.Busy, v2.ClaimBooting: liveview.Busy,
		v2.ClaimReady: liveview.Good, v2.ClaimCompleted: liveview.Dim, v2.ClaimFailed: liveview.Bad}
	podTones = map[corev1.PodPhase]liveview.Tone{corev1.PodPending: liveview.Busy, corev1.PodRunning: liveview.Good,
		corev1.PodFailed: liveview.Bad, corev1.PodSucceeded: liveview.Dim}
)
