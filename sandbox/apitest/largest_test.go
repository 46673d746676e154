package apitest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// largest makes a value as large as its schema allows, with as many items as there may be, all of them different. Where a
// schema sets no bound, no rule looks, and the value stays what it is.
func largest(p place, good any) any {
	s := p.schema
	switch good := good.(type) {
	case map[string]any:
		grown := map[string]any{}
		for key, inner := range good {
			grown[key] = largest(place{p.kind, append(slices.Clone(p.steps), key), s.Properties[key], false}, inner)
		}
		if s.MaxProperties == nil {
			return grown
		}
		for i := len(good); i < int(*s.MaxProperties); i++ {
			key := fmt.Sprintf("%s%04d/%s", strings.Repeat("a", 249), i, strings.Repeat("b", 63))
			if p.steps[len(p.steps)-1] == "headers" {
				key = fmt.Sprintf("%s%04d", strings.Repeat("a", 124), i)
			}
			if grown[key] = any("1"); s.AdditionalProperties.Schema.MaxLength != nil {
				grown[key] = wide(*s.AdditionalProperties.Schema.MaxLength)
			}
		}
		return grown
	case []any:
		if s.MaxItems == nil {
			return good
		}
		grown := make([]any, *s.MaxItems)
		for i := range grown {
			inner := largest(place{p.kind, append(slices.Clone(p.steps), item), *s.Items.Schema, false}, good[min(i, len(good)-1)])
			grown[i] = numbered(inner, i)
		}
		return grown
	case string:
		if s.MaxLength == nil || s.Format != "" || len(s.Enum) > 0 || strings.Contains(fmt.Sprint(s.XValidations), "decimal number") ||
			strings.Contains(fmt.Sprint(s.XValidations), "duration") {
			return good
		}
		if name := p.steps[len(p.steps)-1]; name == "jsonPath" || name == "address" {
			return wide(*s.MaxLength)
		}
		if text := longest(p, int(*s.MaxLength)); strings.Trim(text, "1") != "" {
			return text
		}
		return wide(*s.MaxLength)
	}
	return good
}

func wide(n int64) string { return strings.Repeat("a", int(n)) }

// numbered makes an item differ from its neighbours in what tells items apart.
func numbered(in any, i int) any {
	number := func(text string) string { return text[:len(text)-4] + fmt.Sprintf("%04d", i) }
	switch in := in.(type) {
	case string:
		return number(in)
	case map[string]any:
		for _, name := range []string{"name", "key", "mountPath"} {
			if text, ok := in[name].(string); ok && len(text) > 4 {
				in[name] = number(text)
			}
		}
	}
	return in
}

// Rules have a budget at run time as well as at installation. The largest object that the schema allows must fit into it,
// when it is made and when every part of it has changed.
func TestTheLargestObjectsFitIntoTheBudgetOfTheRules(t *testing.T) {
	c, namespace := server(t)
	var objects []*unstructured.Unstructured
	for kind := range kinds {
		objects = append(objects, fulls(t, kind, namespace)...)
	}
	for _, object := range objects {
		kind := object.GetKind()
		t.Run(kind+" "+object.GetName(), func(t *testing.T) {
			spec := largest(place{kind: kind, schema: definition(t, kind).Properties["spec"]}, object.Object["spec"]).(map[string]any)
			if kind == "NodeClaim" {
				spec["slotRef"].(map[string]any)["namespace"] = namespace
			}
			object.Object["spec"] = spec
			raw, err := object.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%d bytes", len(raw))
			made := object.DeepCopy()
			if err := c.Create(t.Context(), made); err != nil {
				t.Fatalf("making it: %.600v", err)
			}
			changed := &unstructured.Unstructured{Object: made.Object}
			switch kind {
			case "NodeClaim":
				request := changed.Object["spec"].(map[string]any)["request"].(map[string]any)
				request["call"], request["nodes"] = "DeleteNodes", append([]any{"one"}, request["nodes"].([]any)[1:]...)
			case "Node":
				for _, list := range []string{"nodeTaints", "taintsToRemove"} {
					items := changed.Object["spec"].(map[string]any)[list].([]any)
					slices.Reverse(items)
				}
			}
			changed.SetLabels(map[string]string{"changed": "yes"})
			if err := c.Update(t.Context(), changed); err != nil {
				t.Errorf("changing it: %.600v", err)
			}
			changed.Object["status"] = object.Object["status"]
			if err := c.Status().Update(t.Context(), changed); err != nil {
				t.Errorf("writing its status: %.600v", err)
			}
		})
	}
}
