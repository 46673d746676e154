package convert

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation/field"
	sigsyaml "sigs.k8s.io/yaml"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/validate"
	"homecluster.dev/autoscaler/internal/schema"
)

// object is one that is being converted.
type object struct {
	root, metadata        *yaml.Node
	kind, namespace, name string
	notes                 []Note
}

func (o *object) note(format string, args ...any) {
	o.notes = append(o.notes, Note{Object: o.String(), Text: fmt.Sprintf(format, args...)})
}

func (o *object) fault(format string, args ...any) {
	o.notes = append(o.notes, Note{Object: o.String(), Text: fmt.Sprintf(format, args...), Fault: true})
}

// String names the object as people do.
func (o *object) String() string {
	return o.kind + " " + strings.TrimPrefix(o.namespace+"/"+o.name, "/")
}

// written are the fields of metadata that the API server writes. A file that carries them cannot be applied to make an
// object anew; stale managedFields even make the API server refuse it.
var written = []string{
	"managedFields", "uid", "resourceVersion", "creationTimestamp", "generation", "selfLink", "deletionTimestamp",
	"deletionGracePeriodSeconds", "ownerReferences",
}

const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// ourPrefix is before the names of the operator's own annotations and finalizers.
const ourPrefix = "infra.homecluster.dev/"

// tidyMetadata takes away what belongs to the old object and not to its manifest.
func (o *object) tidyMetadata() {
	var dropped []string
	for _, key := range written {
		if drop(o.metadata, key) != nil {
			dropped = append(dropped, key)
		}
	}
	annotations := value(o.metadata, "annotations")
	if drop(annotations, lastApplied) != nil {
		dropped = append(dropped, "annotation "+lastApplied)
	}
	if len(dropped) > 0 {
		o.note("dropped of metadata, since it belongs to the object that was and not to the one that will be: %s", strings.Join(dropped, ", "))
	}
	for _, key := range keys(annotations) {
		if strings.HasPrefix(key, ourPrefix) && key != v2.AnnotationHold && key != v2.AnnotationHoldUntil {
			drop(annotations, key)
			o.note("dropped annotation %s: 0.1 worked with it, 0.2 does not know it", key)
		}
	}
	o.dropFinalizers()
	for _, key := range []string{"annotations", "finalizers"} {
		if v := value(o.metadata, key); v != nil && len(v.Content) == 0 {
			drop(o.metadata, key)
		}
	}
}

// quoteMetadata makes strings of what the API server takes for none: the name on, the label group: 1, the annotation hold: true.
func (o *object) quoteMetadata() {
	scalar := schema.Schema{"type": "string"}
	for _, key := range []string{"name", "namespace"} {
		if v := value(o.metadata, key); v != nil {
			o.fit("metadata."+key, v, scalar)
		}
	}
	for _, key := range []string{"labels", "annotations"} {
		if v := value(o.metadata, key); v != nil {
			o.fit("metadata."+key, v, schema.Schema{"additionalProperties": scalar})
		}
	}
}

// dropFinalizers takes off those of 0.1: nobody would ever take them off again.
func (o *object) dropFinalizers() {
	finalizers := value(o.metadata, "finalizers")
	if finalizers == nil {
		return
	}
	var kept []*yaml.Node
	for _, finalizer := range finalizers.Content {
		if strings.HasPrefix(finalizer.Value, ourPrefix) {
			o.note("dropped finalizer %s: 0.2 puts its own on while it needs it", finalizer.Value)
			continue
		}
		kept = append(kept, finalizer)
	}
	finalizers.Content = kept
}

// dropIntent drops what v1alpha1 used to ask for a machine. In Go it was called DesiredPowerState, and so it is in some
// manifests.
func (o *object) dropIntent() {
	spec := value(o.root, "spec")
	for _, key := range []string{"powerState", "desiredPowerState"} {
		wish := drop(spec, key)
		if wish == nil {
			continue
		}
		o.note("dropped spec.%s: %s: nothing stores desired power any more; a machine is wanted while a NodeClaim names its slot", key, brief(wish))
		if wish.Value == "on" || wish.Value == "true" {
			o.note("it was wanted on: 0.2 switches a machine off that nobody claims; to keep it, ask for it once it is up: "+
				"kubectl homelab up %s%s", o.name, inNamespace(o.namespace))
		}
	}
}

func inNamespace(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + namespace
}

func (o *object) dropStatus() {
	status := drop(o.root, "status")
	if status == nil || isNull(status) || len(status.Content) == 0 {
		return
	}
	o.note("dropped status (%s): it is the operator's report, and 0.2 makes its own", strings.Join(keys(status), ", "))
}

// completeSlot fills in and tells what a slot needs to be one.
func (o *object) completeSlot() {
	spec := value(o.root, "spec")
	if spec != nil && spec.Kind == yaml.MappingNode && text(spec, "kubernetesNodeName") == "" && o.name != "" {
		drop(spec, "kubernetesNodeName")
		put(spec, "kubernetesNodeName", o.name)
		o.note("added spec.kubernetesNodeName: %s: 0.1 went by the slot's own name, 0.2 wants it said", o.name)
	}
	if text(value(o.metadata, "labels"), v2.LabelGroup) == "" {
		o.note("it has no label %q: it belongs to no pool, and only claims made by hand wake its machine", v2.LabelGroup)
	}
}

// gone says why a field is no more, where that is known.
var gone = map[string]string{
	"spec.maxSize": "a pool is as large as it has slots",
	"spec.name":    "a group's name is its metadata.name",
}

// fit drops fields that the schema does not know, and quotes what must be a string.
func (o *object) fit(path string, node *yaml.Node, known any) {
	fields, _ := known.(schema.Schema)
	if fields == nil || fields["x-kubernetes-int-or-string"] == true || fields["x-kubernetes-preserve-unknown-fields"] == true {
		return
	}
	switch node.Kind {
	case yaml.ScalarNode:
		if fields["type"] == "string" && !isNull(node) && quote(node) {
			o.note("quoted %s: %q: it is a string", path, node.Value)
		}
	case yaml.SequenceNode:
		for i, item := range node.Content {
			o.fit(fmt.Sprintf("%s[%d]", path, i), item, fields["items"])
		}
	case yaml.MappingNode:
		o.fitMapping(path, node, fields)
	}
}

func (o *object) fitMapping(path string, node *yaml.Node, fields schema.Schema) {
	properties, isMap := schema.Properties(fields), fields["additionalProperties"]
	for _, key := range keys(node) {
		at := path + "." + key
		v := value(node, key)
		known, ok := properties[key]
		if !ok && isMap != nil {
			known, ok = isMap, true
		}
		switch {
		case !ok:
			drop(node, key)
			why := "v2alpha1 has no such field"
			if reason := gone[at]; reason != "" {
				why += ": " + reason
			}
			o.note("dropped %s: %s: %s", at, brief(v), why)
		case isNull(v):
			drop(node, key) // it says nothing, and an API server takes it for the wrong type
		default:
			o.fit(at, v, known)
		}
	}
}

// check says what the API server will refuse, as far as that can be told without one.
func (o *object) check() {
	out, err := yaml.Marshal(o.root)
	if err != nil {
		o.fault("it cannot be written: %v", err)
		return
	}
	var faults field.ErrorList
	switch o.kind {
	case "Group":
		var group v2.Group
		err = sigsyaml.UnmarshalStrict(out, &group)
		faults = validate.Group(&group)
	case "Node":
		var slot v2.Node
		err = sigsyaml.UnmarshalStrict(out, &slot)
		faults = validate.Slot(&slot)
	}
	if o.name == "" {
		o.fault("it has no metadata.name")
	}
	if err != nil {
		o.fault("%s", strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "error unmarshaling JSON: ")), " "))
		return
	}
	for _, fault := range faults {
		o.fault("%v", fault)
	}
}
