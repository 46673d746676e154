package slot

import (
	"context"
	"fmt"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
)

// Committer carries out Decisions, and is their only reader.
type Committer struct {
	Live   *kube.Live
	Writer *kube.Writer
	Brake  *Brake
	// Publish tells an event.
	Publish func(kube.Event)
	Metrics *metrics.Metrics
}

// Commit writes the decision in the order of its fields: assumed absences are read again, the brake is asked, then
// finalizers, claims, slot, actions, removals; only then events and the log line. The first refused write ends it. The time
// answered, if any, is when a braked decision may be tried again.
func (c *Committer) Commit(ctx context.Context, in slot.Input, d slot.Decision) (time.Time, error) {
	if d.Empty() && len(d.Notes) == 0 {
		return time.Time{}, nil
	}
	if err := c.assumes(ctx, in, d.Assumes); err != nil {
		return time.Time{}, err
	}
	if d.Brake {
		if ok, next := c.Brake.Take(in.Now, in.Policy.EffectiveBudget()); !ok {
			c.suspended(in, d, next)
			return next, nil
		}
	}
	t := newTransaction(c, in)
	err := t.write(ctx, d)
	if err != nil {
		// What was saved will not be decided again, so this is the only time to tell of it.
		c.announceSaved(t, d)
		if d.Brake && t.writes == 0 {
			c.Brake.Return(in.Now)
		}
		return time.Time{}, err
	}
	c.announce(ctx, d)
	return time.Time{}, nil
}

// assumes reads again, live, every object whose absence the decision relies on.
func (c *Committer) assumes(ctx context.Context, in slot.Input, absences []slot.Absence) error {
	for _, absence := range absences {
		var object client.Object
		namespace := in.Namespace
		switch absence.Kind {
		case slot.KindSlot:
			object = &v2.Node{}
		case slot.KindClaim:
			object = &v2.NodeClaim{}
		case slot.KindJob:
			object = &batchv1.Job{}
		case slot.KindKubeNode:
			object, namespace = &corev1.Node{}, ""
		default:
			return fmt.Errorf("unknown kind %q in an assumption", absence.Kind)
		}
		if err := c.Live.Absent(ctx, object, namespace, absence.Name, absence.UID); err != nil {
			return err
		}
	}
	return nil
}

// suspended tells that a machine looks gone while another was declared gone a moment ago.
func (c *Committer) suspended(in slot.Input, d slot.Decision, next time.Time) {
	if in.Slot == nil {
		return
	}
	event := kube.Event{Slot: in.Slot, Warning: true, Reason: v2.EventObservationSuspended, Message: fmt.Sprintf(
		"the machine looks gone, but another one was declared gone less than %s ago: waiting until %s, in case the network and not the machine is at fault",
		in.Policy.EffectiveBudget(), next.UTC().Format(time.RFC3339))}
	if len(d.Claims) > 0 {
		event.Related = d.Claims[0].Claim
	}
	c.Publish(event)
}

// announceSaved tells of the claims whose new status was saved before a later write was refused.
func (c *Committer) announceSaved(t *transaction, d slot.Decision) {
	for _, note := range d.Notes {
		if note.Claim != nil && t.saved[note.Claim.UID] {
			c.Publish(kube.Event(note))
		}
	}
}

// announce comes last: what was written has been saved, so it may be told.
func (c *Committer) announce(ctx context.Context, d slot.Decision) {
	for _, note := range d.Notes {
		c.Publish(kube.Event(note))
	}
	log.FromContext(ctx).Info("committed", "did", strings.Join(d.Lines(), "; "))
}
