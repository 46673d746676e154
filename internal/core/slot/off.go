package slot

import (
	"fmt"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// offBelief is how a reversal ends: off believed, assumed, or given up.
type offBelief struct {
	// source is whose evidence it is.
	source v2.PowerSource
	// removeKubeNode is whether the kubeNode may go with it.
	removeKubeNode bool
	// assumed: the attempts are spent without a sign of life.
	assumed bool
	// released: the slot is being deleted and the machine would not go off.
	released bool
	// nothingBought: no startup pod ever ran.
	nothingBought bool
	why           string
}

// offClause is one clause of the off rule: it forbids to believe in off, or it is a reason to.
type offClause struct {
	name     string
	forbids  func(r *run) bool
	believes func(r *run, v *reversal, first time.Time) *offBelief
}

// offRule is the off rule, one for every reversal. The first clause that has an answer gives it.
func offRule() []offClause {
	return []offClause{
		{name: "a switch that says on forbids", forbids: (*run).switchedOn},
		{name: "(a) its switch says off", believes: (*run).switchedOff},
		{name: "(b) silence since", believes: (*run).fellSilent},
		{name: "(c) silence from before", believes: (*run).silentAllAlong},
	}
}

// believedOff asks the off rule. Before a shutdown Job of this reversal has started, nothing is evidence of its success.
func (r *run) believedOff(v *reversal) *offBelief {
	first := firstStart(*v.jobs)
	if first.IsZero() {
		return nil
	}
	for _, clause := range r.offRule {
		if clause.forbids != nil && clause.forbids(r) {
			return nil
		}
		if clause.believes == nil {
			continue
		}
		if belief := clause.believes(r, v, first); belief != nil {
			return belief
		}
	}
	return nil
}

// switchedOn forbids every belief: the machine's own switch says on.
func (r *run) switchedOn() bool { return r.reading.State == v2.PowerOn }

// switchedOff is clause (a): the machine's own switch says off, read after a shutdown Job started, even while the
// kubeNode still says Ready, if it turned to off since that start.
func (r *run) switchedOff(_ *reversal, first time.Time) *offBelief {
	if !r.reading.SaysOffAfter(first, r.kubeletOn, r.policy) {
		return nil
	}
	return &offBelief{source: v2.PowerSourceOutOfBand, removeKubeNode: true,
		why: "off: its switch said so at " + instant(r.reading.At)}
}

// fellSilent is clause (b): silence that began after that start has lasted the settle time.
func (r *run) fellSilent(_ *reversal, first time.Time) *offBelief {
	if r.kubeletOn || r.silentSince.Before(first) || !r.passed(r.silentSince.Add(r.policy.ShutdownSettle)) {
		return nil
	}
	return &offBelief{source: v2.PowerSourceKubelet, removeKubeNode: true,
		why: fmt.Sprintf("off: silent since %s, after the shutdown Job started", instant(r.silentSince))}
}

// silentAllAlong is clause (c): silence from before, once a shutdown Job ended well and the settle time has passed since.
// The slot is then free, but the kubeNode is kept unless this boot never registered, seen or not: silence from before
// proves less.
func (r *run) silentAllAlong(v *reversal, first time.Time) *offBelief {
	ended := succeededAt(*v.jobs)
	if r.kubeletOn || !r.silentSince.Before(first) || ended.IsZero() || !r.passed(ended.Add(r.policy.ShutdownSettle)) {
		return nil
	}
	return &offBelief{source: v2.PowerSourceShutdownJob, removeKubeNode: !v.registered && !r.spokeUnseen(v),
		why: fmt.Sprintf("off: silent all along, and the shutdown Job succeeded %s", instant(ended))}
}

// spokeUnseen is whether the kubeNode itself shows that this boot's kubelet reported, though nobody saw it: the object was
// made, or its condition turned, since the boot committed. A boot begins in silence, so it was not Unknown all the time.
func (r *run) spokeUnseen(v *reversal) bool {
	boot, ready := facts.LastJob(*v.jobs, v2.OperationStartup), facts.ReadyCondition(r.in.KubeNode)
	if boot == nil || ready == nil {
		return false
	}
	return !r.in.KubeNode.CreationTimestamp.Before(boot.CreatedAt) || !ready.LastTransitionTime.Before(boot.CreatedAt)
}

// signOfLife is whether the machine was seen on after the reversal's first shutdown Job started: it is on now, or its
// silence began later than that.
func (r *run) signOfLife(v *reversal) bool {
	first := firstStart(*v.jobs)
	return r.kubeletOn || r.reading.State == v2.PowerOn || !first.IsZero() && !r.silentSince.Before(first)
}

// succeededAt is when the newest shutdown Job that ended well ended; zero: none did.
func succeededAt(records []v2.JobRecord) time.Time {
	for i := len(records) - 1; i >= 0; i-- {
		record := records[i]
		if record.Operation == v2.OperationShutdown && record.Outcome == v2.JobSucceeded {
			return record.FinishedAt.Time
		}
	}
	return time.Time{}
}
