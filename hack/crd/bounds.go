package main

import "math"

const (
	// timePattern is what Go's clients can read. The API server takes more for a time, such as a lower-case t; one such
	// object, and no client could list its kind any more.
	timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`
	// quantityPattern leaves out what no machine has: exponents of many digits take gigabytes to compare.
	quantityPattern = `^[+-]?([0-9]{1,24}([.][0-9]{0,24})?|[.][0-9]{1,24})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`
)

// Bounds that several fields share.
var (
	objectName = schema{"maxLength": 253}
	labelValue = schema{"maxLength": 63}
	taintKey   = schema{"minLength": 1, "maxLength": 317}
	identity   = schema{"minimum": 0, "maximum": math.MaxInt32}
)

// bounds are for fields of Kubernetes' own types, by the end of their path, [] being in a list and {} in a map. Rules
// have a cost, which the API server computes from the largest object allowed: without bounds they would be refused.
var bounds = map[string]schema{
	".spec.nodeLabels{}":                           labelValue,
	".spec.nodeTaints[].effect":                    {"enum": []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}},
	".spec.nodeTaints[].key":                       taintKey,
	".spec.nodeTaints[].value":                     labelValue,
	".spec.taintsToRemove[].effect":                {"enum": []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}},
	".spec.taintsToRemove[].key":                   taintKey,
	".spec.taintsToRemove[].value":                 labelValue,
	".spec.power.nodeSelector{}":                   labelValue,
	".headers{}":                                   {"maxLength": 1024},
	".spec.slotRef.name":                           objectName,
	".spec.slotRef.namespace":                      {"maxLength": 63},
	"PodSpec.env[].name":                           {"minLength": 1, "maxLength": 256},
	"PodSpec.env[].valueFrom.configMapKeyRef.name": objectName,
	"PodSpec.env[].valueFrom.secretKeyRef.name":    objectName,
	"PodSpec.envFrom[].configMapRef.name":          objectName,
	"PodSpec.envFrom[].secretRef.name":             objectName,
	"PodSpec.imagePullSecrets[].name":              objectName,
	"PodSpec.nodeSelector{}":                       labelValue,
	"PodSpec.tolerations[].effect":                 {"enum": []string{"", "NoSchedule", "PreferNoSchedule", "NoExecute"}},
	"PodSpec.tolerations[].key":                    {"maxLength": 317},
	"PodSpec.tolerations[].operator":               {"enum": []string{"", "Exists", "Equal", "Lt", "Gt"}},
	"PodSpec.tolerations[].value":                  labelValue,
	"ecurityContext.fsGroup":                       identity,
	"ecurityContext.runAsGroup":                    identity,
	"ecurityContext.runAsUser":                     identity,
	"ecurityContext.supplementalGroups[]":          identity,
}
