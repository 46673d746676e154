package policy

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

type override struct {
	to   *time.Duration
	from *metav1.Duration
}

// overrides pairs each field of Group.spec.timeouts with the duration it replaces.
func (p *Policy) overrides(t *v2.Timeouts) []override {
	return []override{
		{&p.StartupJob, t.StartupJob},
		{&p.Registration, t.Registration},
		{&p.ReadinessGate, t.ReadinessGate},
		{&p.ShutdownJob, t.ShutdownJob},
		{&p.ShutdownSettle, t.ShutdownSettle},
		{&p.Drain, t.Drain},
		{&p.MachineGone, t.MachineGone},
	}
}
