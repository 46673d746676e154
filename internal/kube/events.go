package kube

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/events"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

const (
	// reportingController is whom events name as their author.
	reportingController = "homelab-autoscaler"
	// slotAction is the action of every event on a slot; claims have v2.EventAction.
	slotAction = "slot"
	// maxNote is what the API server accepts as an event's note.
	maxNote = 1024
)

// Event is one thing worth telling about a slot or a claim.
type Event struct {
	// Claim, or else Slot, is the object the event is about.
	Claim *v2.NodeClaim
	Slot  *v2.Node
	// Related is the claim behind an event on a slot; nil when there is none.
	Related *v2.NodeClaim
	// Warning makes the type Warning instead of Normal.
	Warning         bool
	Reason, Message string
}

// Events publishes events. Repeats with the same object, type, reason and action become one with a count.
type Events struct {
	broadcaster events.EventBroadcaster
	recorder    events.EventRecorder
}

// NewEvents publishes through a client of events.k8s.io, once Start runs.
func NewEvents(client v1.EventsV1Interface) (*Events, error) {
	scheme, err := NewScheme()
	if err != nil {
		return nil, err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client})
	return &Events{broadcaster: broadcaster, recorder: broadcaster.NewRecorder(scheme, reportingController)}, nil
}

// Start publishes until the context ends.
func (e *Events) Start(ctx context.Context) error {
	if err := e.broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		return fmt.Errorf("starting the event recorder: %w", err)
	}
	<-ctx.Done()
	e.broadcaster.Shutdown()
	return nil
}

// NeedLeaderElection is false: a replica that never leads never publishes.
func (e *Events) NeedLeaderElection() bool { return false }

// Publish hands an event over and does not wait for it: an event is at most once, conditions are the record.
func (e *Events) Publish(event Event) {
	kind, action := corev1.EventTypeNormal, slotAction
	if event.Warning {
		kind = corev1.EventTypeWarning
	}
	var related *corev1.ObjectReference
	regarding := slotReference(event.Slot)
	if event.Claim != nil {
		regarding, action = claimReference(event.Claim), v2.EventAction
	}
	if event.Related != nil {
		related = claimReference(event.Related)
	}
	message := clip(event.Message)
	if related == nil {
		// A nil pointer in the interface would not be nil.
		e.recorder.Eventf(regarding, nil, kind, event.Reason, action, "%s", message)
		return
	}
	e.recorder.Eventf(regarding, related, kind, event.Reason, action, "%s", message)
}

// claimReference and slotReference leave the resourceVersion out: with it, two events about one object would never be
// repeats of each other.
func claimReference(claim *v2.NodeClaim) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v2.GroupVersion.String(), Kind: "NodeClaim",
		Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID}
}

func slotReference(slot *v2.Node) *corev1.ObjectReference {
	if slot == nil {
		return nil
	}
	return &corev1.ObjectReference{APIVersion: v2.GroupVersion.String(), Kind: "Node",
		Namespace: slot.Namespace, Name: slot.Name, UID: slot.UID}
}

func clip(text string) string {
	if len(text) <= maxNote {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:maxNote-len(ellipsis)], "") + ellipsis
}
