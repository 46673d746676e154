package webhook

import (
	"context"
	"encoding/json"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/policy"
	"homecluster.dev/autoscaler/internal/core/pool"
	"homecluster.dev/autoscaler/internal/core/validate"
)

// claimDefaulter fills in what a new claim leaves out.
type claimDefaulter struct {
	Config
	decoder admission.Decoder
}

// Handle answers with a patch that adds what is missing and touches nothing that is there. A claim that cannot be read
// is left to the schema, which says what is wrong with it.
func (d *claimDefaulter) Handle(ctx context.Context, request admission.Request) admission.Response {
	claim := &v2.NodeClaim{}
	if err := d.decoder.Decode(request, claim); err != nil || claim.Spec.SlotRef.Name == "" || claim.Spec.Request.Group == "" {
		return admission.Allowed("")
	}
	if ours, _ := d.serves(request.Namespace); !ours {
		return admission.Allowed("") // the validator says so
	}
	before, err := json.Marshal(claim)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	pool.Complete(claim, d.asked(ctx, claim, request))
	after, err := json.Marshal(claim)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	return admission.PatchResponseFromRaw(before, after)
}

// asked reads what surrounds the claim. What cannot be read counts as missing: the controller computes it again.
func (d *claimDefaulter) asked(ctx context.Context, claim *v2.NodeClaim, request admission.Request) pool.Asked {
	ctx, done := bounded(ctx)
	defer done()
	slot, err := d.Live.Slot(ctx, request.Namespace, claim.Spec.SlotRef.Name)
	if err != nil {
		d.Log.Error(err, "a claim gets no owner")
	}
	group, err := d.Live.Group(ctx, request.Namespace, claim.Spec.Request.Group)
	if err != nil {
		d.Log.Error(err, "a claim gets the times of no group")
	}
	return pool.Asked{Slot: slot, Group: group, Policy: policy.For(d.Policy, group), By: request.UserInfo.Username, Now: d.Clock.Now()}
}

// claimValidator judges new claims. An old one is the schema's affair: it hardly changes, and may always end.
type claimValidator struct{ Config }

// ValidateCreate refuses a claim without a slot, or for a slot that another one has.
func (v *claimValidator) ValidateCreate(ctx context.Context, claim *v2.NodeClaim) (admission.Warnings, error) {
	if ours, warnings := v.serves(claim.Namespace); !ours {
		return warnings, nil
	}
	faults := validate.Claim(claim)
	place, group, err := v.around(ctx, claim)
	if err != nil {
		if len(faults) > 0 {
			return nil, refuse("NodeClaim", claim.Name, faults)
		}
		return v.unread(err)
	}
	faults = append(faults, validate.ClaimPlace(claim, place)...)
	return validate.ClaimWarnings(claim, place, group, v.Clock.Now()), refuse("NodeClaim", claim.Name, faults)
}

func (v *claimValidator) around(ctx context.Context, claim *v2.NodeClaim) (validate.Place, *v2.Group, error) {
	ctx, done := bounded(ctx)
	defer done()
	var place validate.Place
	var err error
	if place.Slot, err = v.Live.Slot(ctx, claim.Namespace, claim.Spec.SlotRef.Name); err != nil {
		return place, nil, err
	}
	if place.Slot == nil {
		if place.Slots, err = v.Live.Slots(ctx, claim.Namespace); err != nil {
			return place, nil, err
		}
	}
	if place.Claims, err = v.Live.ClaimsOfSlot(ctx, claim.Namespace, claim.Spec.SlotRef.Name); err != nil {
		return place, nil, err
	}
	group, err := v.Live.Group(ctx, claim.Namespace, claim.Spec.Request.Group)
	return place, group, err
}

// ValidateUpdate is never asked.
func (v *claimValidator) ValidateUpdate(context.Context, *v2.NodeClaim, *v2.NodeClaim) (admission.Warnings, error) {
	return nil, nil
}

// ValidateDelete is never asked.
func (v *claimValidator) ValidateDelete(context.Context, *v2.NodeClaim) (admission.Warnings, error) {
	return nil, nil
}
