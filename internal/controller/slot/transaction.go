package slot

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/slot"
	"homecluster.dev/autoscaler/internal/kube"
	"homecluster.dev/autoscaler/internal/metrics"
)

// transaction is one commit under way. It remembers each object as its last write left it, so that the next write to the
// same object carries that version and keeps what the last one did.
type transaction struct {
	live      *kube.Live
	writer    *kube.Writer
	metrics   *metrics.Metrics
	namespace string
	slotName  string
	// observed are the slot and the claims as they were decided on.
	observed map[types.UID]client.Object
	claims   map[types.UID]*v2.NodeClaim
	// saved are the claims whose new status has been written.
	saved map[types.UID]bool
	slots map[types.UID]*v2.Node
	// kubeNodes are resourceVersions only: a kubeNode is patched by what differs, whatever else it carries.
	kubeNodes map[types.UID]string
	writes    int
}

func newTransaction(c *Committer, in slot.Input) *transaction {
	observed := map[types.UID]client.Object{}
	if in.Slot != nil {
		observed[in.Slot.UID] = in.Slot
	}
	for _, claim := range in.Claims {
		observed[claim.UID] = claim
	}
	return &transaction{
		live: c.Live, writer: c.Writer, metrics: c.Metrics, namespace: in.Namespace, slotName: in.Name, observed: observed,
		claims: map[types.UID]*v2.NodeClaim{}, saved: map[types.UID]bool{}, slots: map[types.UID]*v2.Node{}, kubeNodes: map[types.UID]string{},
	}
}

// write makes every write of the decision, in its order. The order is the law: intent before the act, protection off last.
// A status counts once it is saved, whatever becomes of the writes after it.
func (t *transaction) write(ctx context.Context, d slot.Decision) error {
	for _, f := range d.Finalizers {
		if err := t.did(t.addFinalizer(ctx, f)); err != nil {
			return err
		}
	}
	for _, c := range d.Claims {
		if err := t.evidence(ctx, d); err != nil {
			return err
		}
		if err := t.did(t.claim(t.writer.ClaimStatus(ctx, t.latestClaim(c.Claim), c.Status))); err != nil {
			return err
		}
		t.saved[c.Claim.UID] = true
		t.metrics.ClaimSaved(c.Claim, c.Status)
	}
	if d.Slot != nil {
		if err := t.evidence(ctx, d); err != nil {
			return err
		}
		if err := t.did(t.slot(t.writer.SlotStatus(ctx, t.latestSlot(d.Slot.Slot), d.Slot.Status))); err != nil {
			return err
		}
		t.metrics.SlotSaved(d.Slot.Slot, d.Slot.Status)
	}
	for _, action := range d.Actions {
		if err := t.did(t.act(ctx, action)); err != nil {
			return err
		}
	}
	for _, removal := range d.Removals {
		if err := t.did(t.remove(ctx, removal)); err != nil {
			return err
		}
	}
	return nil
}

// evidence reads the kubeNode again that a status rests on: a cache that lags, or a leader that was paused, would tell of
// a machine what has not been true for long.
func (t *transaction) evidence(ctx context.Context, d slot.Decision) error {
	if d.Relies == nil {
		return nil
	}
	return t.live.Unchanged(ctx, d.Relies)
}

func (t *transaction) did(err error) error {
	if err == nil {
		t.writes++
	}
	return err
}

func (t *transaction) addFinalizer(ctx context.Context, f slot.AddFinalizer) error {
	if f.Claim != nil {
		return t.claim(t.writer.AddClaimFinalizer(ctx, t.latestClaim(f.Claim)))
	}
	return t.slot(t.writer.AddSlotFinalizer(ctx, t.latestSlot(f.Slot)))
}

func (t *transaction) act(ctx context.Context, action slot.Action) error {
	switch a := action.(type) {
	case slot.CreateJob:
		return t.createJob(ctx, a.Job)
	case slot.DeleteJob:
		return t.writer.DeleteJob(ctx, t.namespace, a.Name, a.UID)
	case slot.SetJobTTL:
		return t.writer.SetJobTTL(ctx, t.namespace, a.Name, a.UID, a.Seconds)
	case slot.PatchKubeNode:
		after, err := t.writer.PatchKubeNode(ctx, t.latestKubeNode(a.Before), a.After)
		if err == nil {
			t.kubeNodes[after.UID] = after.ResourceVersion
		}
		return err
	case slot.DeleteKubeNode:
		return t.writer.DeleteKubeNode(ctx, t.latestKubeNode(a.KubeNode))
	case slot.Evict:
		refusal, err := t.writer.Evict(ctx, a.Namespace, a.Name, a.UID)
		if refusal != nil {
			log.FromContext(ctx).Info("eviction refused for now", "pod", a.Namespace+"/"+a.Name, "because", refusal.Error())
		}
		return err
	case slot.CreateClaim:
		_, err := t.writer.CreateClaim(ctx, a.Claim)
		return err
	}
	return fmt.Errorf("unknown action %T", action)
}

// createJob creates a lifecycle Job only where its owner still is what was decided on and no other Job works the switch.
// A create carries no precondition of its own: decided on a cache that lags, it would be the second Job.
func (t *transaction) createJob(ctx context.Context, job *batchv1.Job) error {
	if err := t.ownerUnchanged(ctx, job); err != nil {
		return err
	}
	if err := t.live.NoOtherJob(ctx, t.namespace, t.slotName, job.Name); err != nil {
		return err
	}
	return t.writer.CreateJob(ctx, job)
}

// ownerUnchanged reads the Job's owner again. That this very commit has written it a moment ago proves nothing: a leader
// may have been paused for an hour since, and its successor may have run that Job and collected it.
func (t *transaction) ownerUnchanged(ctx context.Context, job *batchv1.Job) error {
	owner := metav1.GetControllerOf(job)
	if owner == nil {
		return nil
	}
	switch claim, slot, observed := t.claims[owner.UID], t.slots[owner.UID], t.observed[owner.UID]; {
	case claim != nil:
		return t.live.Unchanged(ctx, claim)
	case slot != nil:
		return t.live.Unchanged(ctx, slot)
	case observed != nil:
		return t.live.Unchanged(ctx, observed)
	}
	return fmt.Errorf("creating Job %s for %s %s, which was not observed", job.Name, owner.Kind, owner.Name)
}

func (t *transaction) remove(ctx context.Context, removal slot.Removal) error {
	switch r := removal.(type) {
	case slot.ClearDeadline:
		return t.claim(t.writer.ClearDeadline(ctx, t.latestClaim(r.Claim)))
	case slot.DeleteClaim:
		return t.writer.DeleteClaim(ctx, t.latestClaim(r.Claim))
	case slot.DropFinalizer:
		if r.Claim != nil {
			return t.claim(t.writer.DropClaimFinalizer(ctx, t.latestClaim(r.Claim)))
		}
		return t.slot(t.writer.DropSlotFinalizer(ctx, t.latestSlot(r.Slot)))
	}
	return fmt.Errorf("unknown removal %T", removal)
}

// claim and slot remember what a write left.
func (t *transaction) claim(after *v2.NodeClaim, err error) error {
	if err == nil {
		t.claims[after.UID] = after
	}
	return err
}

func (t *transaction) slot(after *v2.Node, err error) error {
	if err == nil {
		t.slots[after.UID] = after
	}
	return err
}

func (t *transaction) latestClaim(observed *v2.NodeClaim) *v2.NodeClaim {
	if latest, ok := t.claims[observed.UID]; ok {
		return latest
	}
	return observed
}

func (t *transaction) latestSlot(observed *v2.Node) *v2.Node {
	if latest, ok := t.slots[observed.UID]; ok {
		return latest
	}
	return observed
}

func (t *transaction) latestKubeNode(observed *corev1.Node) *corev1.Node {
	version, ok := t.kubeNodes[observed.UID]
	if !ok {
		return observed
	}
	latest := observed.DeepCopy()
	latest.ResourceVersion = version
	return latest
}
