package main

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// said are the messages of all rules by the field that they speak of.
func said(root apiextensionsv1.JSONSchemaProps) map[string][]string {
	found := map[string][]string{}
	var walk func(path string, field apiextensionsv1.JSONSchemaProps)
	walk = func(path string, field apiextensionsv1.JSONSchemaProps) {
		for _, rule := range field.XValidations {
			at := strings.TrimPrefix(path+rule.FieldPath, ".")
			found[at] = append(found[at], rule.Message)
		}
		for _, inner := range inside(field) {
			walk(path+inner.step, inner.field)
		}
	}
	walk("", root)
	return found
}

// step is a field in another one.
type step struct {
	step  string
	field apiextensionsv1.JSONSchemaProps
}

func inside(field apiextensionsv1.JSONSchemaProps) []step {
	var found []step
	for _, name := range slices.Sorted(maps.Keys(field.Properties)) {
		found = append(found, step{"." + name, field.Properties[name]})
	}
	if field.Items != nil {
		found = append(found, step{"[]", *field.Items.Schema})
	}
	if field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil {
		found = append(found, step{"{}", *field.AdditionalProperties.Schema})
	}
	return found
}

// rules are a field's bounds and rules in words, and, where what is in it has no rows of its own, theirs.
func rules(path string, field apiextensionsv1.JSONSchemaProps, said map[string][]string, whole bool) []string {
	found := append(bounds(field), said[strings.TrimPrefix(path, ".")]...)
	for _, inner := range inside(field) {
		rowless := whole || inner.step == "{}" || inner.step == "[]" && len(inner.field.Properties) == 0
		if !rowless && inner.step == "[]" {
			found = append(found, said[path+"[]"]...)
		}
		if !rowless {
			continue
		}
		for _, rule := range rules(path+inner.step, inner.field, said, whole) {
			if name := strings.TrimPrefix(inner.step, "."); name != inner.step {
				rule = name + ": " + rule
			}
			found = append(found, rule)
		}
	}
	return slices.Compact(found)
}

// bounds are what a schema says of size, in words.
func bounds(field apiextensionsv1.JSONSchemaProps) []string {
	var found []string
	switch {
	case field.Format == "date-time":
		return nil // its type says it
	case field.MaxLength != nil && field.MinLength != nil:
		found = append(found, fmt.Sprintf("%d to %d characters", *field.MinLength, *field.MaxLength))
	case field.MaxLength != nil:
		found = append(found, fmt.Sprintf("at most %d characters", *field.MaxLength))
	case field.MaxItems != nil:
		found = append(found, fmt.Sprintf("at most %d items", *field.MaxItems))
	case field.MaxProperties != nil:
		found = append(found, fmt.Sprintf("at most %d keys", *field.MaxProperties))
	}
	if field.Minimum != nil && *field.Minimum != math.MinInt32 {
		found = append(found, fmt.Sprintf("at least %v", *field.Minimum))
	}
	if field.Maximum != nil && *field.Maximum != math.MaxInt32 {
		found = append(found, fmt.Sprintf("at most %v", *field.Maximum))
	}
	return found
}
