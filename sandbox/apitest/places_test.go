package apitest

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
)

// kinds are ours, with the files of their definitions and of an object that says everything.
var kinds = map[string]struct{ definition, full string }{
	"Group":     {"groups", "group"},
	"Node":      {"nodes", "slot"},
	"NodeClaim": {"nodeclaims", "claim"},
}

// Steps of a place that are no field names.
const (
	item  = "[]"
	value = "{}"
)

// place is where the schema of a kind says something: a field, a list's item or a map's value.
type place struct {
	kind     string
	steps    []string
	schema   apiextensionsv1.JSONSchemaProps
	required bool
}

func (p place) String() string { return join(p.steps) }

// join writes steps as kubectl explain does, with [] and {} for what has no name.
func join(steps []string) string {
	return strings.NewReplacer("."+item, item, "."+value, value).Replace(strings.Join(steps, "."))
}

// definition is the schema of a kind.
func definition(t *testing.T, kind string) apiextensionsv1.JSONSchemaProps {
	t.Helper()
	text, err := crd.Bases.ReadFile("bases/infra.homecluster.dev_" + kinds[kind].definition + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var whole apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &whole); err != nil {
		t.Fatal(err)
	}
	return *whole.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// places are all places of a kind's schema below the root, spec before status.
func places(t *testing.T, kind string) []place {
	t.Helper()
	root := definition(t, kind)
	var found []place
	for _, part := range []string{"spec", "status"} {
		found = append(found, below(place{kind, []string{part}, root.Properties[part], false})...)
	}
	return found
}

func below(p place) []place {
	found := []place{p}
	inner := func(step string, schema apiextensionsv1.JSONSchemaProps, required bool) {
		found = append(found, below(place{p.kind, append(slices.Clone(p.steps), step), schema, required})...)
	}
	for _, name := range slices.Sorted(maps.Keys(p.schema.Properties)) {
		inner(name, p.schema.Properties[name], slices.Contains(p.schema.Required, name))
	}
	if p.schema.Items != nil {
		inner(item, *p.schema.Items.Schema, false)
	}
	if p.schema.AdditionalProperties != nil && p.schema.AdditionalProperties.Schema != nil {
		inner(value, *p.schema.AdditionalProperties.Schema, false)
	}
	return found
}

// fulls are the objects of a kind that say everything together. Of slots there are several, of different names: one has
// one power switch.
func fulls(t *testing.T, kind, namespace string) []*unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{Object: read(t, kinds[kind].full).(map[string]any)}
	object.SetNamespace(namespace)
	switch kind {
	case "NodeClaim":
		if err := unstructured.SetNestedField(object.Object, namespace, "spec", "slotRef", "namespace"); err != nil {
			t.Fatal(err)
		}
	case "Node":
		var all []*unstructured.Unstructured
		for i, power := range read(t, "power").(map[string]any)["switches"].([]any) {
			slot := &unstructured.Unstructured{Object: put(object.Object, path("spec.power"), power).(map[string]any)}
			slot = slot.DeepCopy()
			slot.SetName(fmt.Sprintf("full-%d", i))
			all = append(all, slot)
		}
		return all
	}
	return []*unstructured.Unstructured{object}
}

func read(t *testing.T, file string) any {
	t.Helper()
	text, err := os.ReadFile("testdata/full/" + file + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return parsed(t, "\n"+regexp.MustCompile(`(?m)^`).ReplaceAllString(string(text), "  "))
}

// holding is the first of the objects that has a place, as its index, and where the place is in it, or nil.
func holding(objects []*unstructured.Unstructured, p place) (int, []any) {
	for i, object := range objects {
		if at := locate(object.Object, p.steps); at != nil {
			return i, at
		}
	}
	return 0, nil
}

// locate finds a value of a place in an object: its keys and indexes, or nil.
func locate(in any, steps []string) []any {
	if len(steps) == 0 {
		return []any{}
	}
	try := func(key, inner any) []any {
		if rest := locate(inner, steps[1:]); rest != nil {
			return append([]any{key}, rest...)
		}
		return nil
	}
	switch in := in.(type) {
	case []any:
		for i, inner := range in {
			if at := try(i, inner); at != nil {
				return at
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(in)) {
			if steps[0] != value && steps[0] != key {
				continue
			}
			if at := try(key, in[key]); at != nil {
				return at
			}
		}
	}
	return nil
}

// absent as a value takes away what is there.
type absent struct{}

// put is a copy of a value with another one at a place in it.
func put(in any, at []any, put_ any) any {
	if len(at) == 0 {
		return put_
	}
	switch in := in.(type) {
	case []any:
		out := slices.Clone(in)
		out[at[0].(int)] = put(out[at[0].(int)], at[1:], put_)
		return out
	case map[string]any:
		out := maps.Clone(in)
		key := at[0].(string)
		if _, away := put_.(absent); away && len(at) == 1 {
			delete(out, key)
		} else {
			out[key] = put(out[key], at[1:], put_)
		}
		return out
	}
	return put(map[string]any{}, at, put_) // a parent that is not there yet
}

// get is the value at a place.
func get(in any, at []any) any {
	for _, key := range at {
		switch inside := in.(type) {
		case []any:
			in = inside[key.(int)]
		case map[string]any:
			in = inside[key.(string)]
		}
	}
	return in
}

// field writes a place in an object as the API server does.
func field(at []any) string {
	var out strings.Builder
	for _, key := range at {
		switch key := key.(type) {
		case int:
			out.WriteString("[" + strconv.Itoa(key) + "]")
		case string:
			out.WriteString("." + key)
		}
	}
	return strings.TrimPrefix(out.String(), ".")
}
