package slot

import (
	"fmt"
	"time"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
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

// believedOff is the off rule, one for every reversal:
//
//	(a) the machine's own switch says off, read after a shutdown Job started, even while the kubeNode still says Ready;
//	(b) silence that began after that start has lasted the settle time;
//	(c) silence from before, once a shutdown Job ended well and the settle time has passed since. The slot is then free,
//	    but the kubeNode is kept unless this boot never registered: silence from before proves less.
//
// A switch that says on forbids all three.
func (r *run) believedOff(v *reversal) *offBelief {
	first := firstStart(*v.jobs)
	if first.IsZero() || r.reading.State == v2.PowerOn {
		return nil
	}
	if r.reading.State == v2.PowerOff && r.reading.At.After(first) {
		return &offBelief{source: v2.PowerSourceOutOfBand, removeKubeNode: true,
			why: "off: its switch said so at " + instant(r.reading.At)}
	}
	if r.kubeletOn {
		return nil
	}
	settle := r.policy.ShutdownSettle
	if !r.silentSince.Before(first) {
		if !r.passed(r.silentSince.Add(settle)) {
			return nil
		}
		return &offBelief{source: v2.PowerSourceKubelet, removeKubeNode: true,
			why: fmt.Sprintf("off: silent since %s, after the shutdown Job started", instant(r.silentSince))}
	}
	ended := succeededAt(*v.jobs)
	if ended.IsZero() || !r.passed(ended.Add(settle)) {
		return nil
	}
	return &offBelief{source: v2.PowerSourceShutdownJob, removeKubeNode: !v.registered,
		why: fmt.Sprintf("off: silent all along, and the shutdown Job succeeded %s", instant(ended))}
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
		if record.Operation == v2.OperationShutdown && record.Outcome == v2.JobSucceeded && record.FinishedAt != nil {
			return record.FinishedAt.Time
		}
	}
	return time.Time{}
}
