package validate

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// Claim lists what is wrong with a claim on its own. That its slot exists and is free takes a look at the cluster.
func Claim(claim *v2.NodeClaim) field.ErrorList {
	spec, path := claim.Spec, field.NewPath("spec")
	faults := nameLength(claim.Name, MaxClaimName)
	if spec.SlotRef.Name == "" {
		faults = append(faults, field.Required(path.Child("slotRef", "name"), "the slot whose machine is asked for"))
	} else {
		for _, why := range validation.IsDNS1123Subdomain(spec.SlotRef.Name) {
			faults = append(faults, field.Invalid(path.Child("slotRef", "name"), spec.SlotRef.Name, why))
		}
	}
	if other := spec.SlotRef.Namespace; other != "" && claim.Namespace != "" && other != claim.Namespace {
		faults = append(faults, field.Invalid(path.Child("slotRef", "namespace"), other, "must be the claim's own namespace, or left out"))
	}
	faults = append(faults, claimRequest(path.Child("request"), spec.Request)...)
	if len(spec.RequestedBy) > maxRequestedBy {
		faults = append(faults, field.TooLong(path.Child("requestedBy"), spec.RequestedBy, maxRequestedBy))
	}
	faults = append(faults, bounded(path.Child("maxNodeProvisionTime"), spec.MaxNodeProvisionTime)...)
	if ttl := spec.TTLSecondsAfterFinished; ttl != nil && *ttl < 0 {
		faults = append(faults, field.Invalid(path.Child("ttlSecondsAfterFinished"), *ttl, "must not be negative"))
	}
	return append(faults, claimLabels(claim)...)
}

const maxRequestedBy = 256

func claimRequest(path *field.Path, request v2.ClaimRequest) field.ErrorList {
	var faults field.ErrorList
	if request.Group == "" {
		faults = append(faults, field.Required(path.Child("group"), "the group the machine is asked for"))
	}
	switch request.Call {
	case v2.CallIncreaseSize, v2.CallDecreaseTargetSize, v2.CallDeleteNodes, v2.CallCreate, v2.CallDelete:
	default:
		faults = append(faults, field.NotSupported(path.Child("call"), request.Call, []v2.Call{
			v2.CallIncreaseSize, v2.CallDecreaseTargetSize, v2.CallDeleteNodes, v2.CallCreate, v2.CallDelete,
		}))
	}
	return faults
}

// claimLabels: the labels are for people, but one that says something else than the spec misleads them.
func claimLabels(claim *v2.NodeClaim) field.ErrorList {
	var faults field.ErrorList
	path := field.NewPath("metadata", "labels")
	if slot := claim.Labels[v2.LabelNode]; slot != "" && slot != claim.Spec.SlotRef.Name {
		faults = append(faults, field.Invalid(path.Key(v2.LabelNode), slot, "must agree with spec.slotRef.name"))
	}
	if group := claim.Labels[v2.LabelGroup]; group != "" && group != claim.Spec.Request.Group {
		faults = append(faults, field.Invalid(path.Key(v2.LabelGroup), group, "must agree with spec.request.group"))
	}
	return faults
}
