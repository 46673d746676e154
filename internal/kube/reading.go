package kube

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// readingOwner names the power observer in managedFields. It is not us: the manager and it never write the same field.
const readingOwner = client.FieldOwner("homelab-autoscaler-power-observer")

// Readings writes status.powerReading of slots and nothing else.
type Readings struct{ client client.Client }

// NewReadings writes through a client.
func NewReadings(c client.Client) *Readings { return &Readings{client: c} }

// Save applies a reading to a slot of that UID, whatever else has changed in it; nil takes the reading away. It is a
// server-side apply of the one field, so that nobody's write is undone by it, and it undoes nobody's.
func (r *Readings) Save(ctx context.Context, slot *v2.Node, reading *v2.PowerReading) error {
	status := map[string]any{}
	if reading != nil {
		status["powerReading"] = reading
	}
	applied, err := json.Marshal(map[string]any{
		"apiVersion": v2.GroupVersion.String(),
		"kind":       "Node",
		"metadata":   map[string]any{"name": slot.Name, "namespace": slot.Namespace, "uid": slot.UID},
		"status":     status,
	})
	if err != nil {
		return fmt.Errorf("writing the reading of slot %s: %w", slot.Name, err)
	}
	target := &v2.Node{}
	target.Name, target.Namespace = slot.Name, slot.Namespace
	err = r.client.Status().Patch(ctx, target, client.RawPatch(types.ApplyPatchType, applied), readingOwner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("saving the reading of slot %s: %w", slot.Name, err)
	}
	return nil
}
