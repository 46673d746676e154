// Command reference writes docs/reference/api.md from the CustomResourceDefinitions, so that the page and kubectl explain
// cannot disagree.
package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
)

const page = "docs/reference/api.md"

// kinds are in the order in which a reader meets them.
var kinds = []string{"groups", "nodes", "nodeclaims"}

// theirs are the fields whose inside is Kubernetes' own and documented there.
var theirs = []string{
	"conditions", "env", "envFrom", "imagePullSecrets", "nodeTaints", "podSecurityContext", "resources", "securityContext",
	"slotRef", "taintsToRemove", "tolerations",
}

func main() {
	text, err := write()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(page), 0o755)
	}
	if err == nil {
		err = os.WriteFile(page, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func write() ([]byte, error) {
	var out bytes.Buffer
	out.WriteString("<!-- Written by make generate from config/crd/bases. -->\n\n# API reference\n\n" +
		"Everything is in `infra.homecluster.dev/v2alpha1` and has a namespace. A field in **bold** is required. Where the type is\n" +
		"one of Kubernetes, its own reference says what is inside; what is narrower here stands among the rules. A time is written\n" +
		"as in RFC 3339, such as `2026-03-04T09:38:15Z`. The rules hold for what a write brings in: an object that was stored under\n" +
		"others still gets its status, loses its finalizers and is deleted. `kubectl explain` shows the same text.\n")
	for _, plural := range kinds {
		raw, err := crd.Bases.ReadFile("bases/infra.homecluster.dev_" + plural + ".yaml")
		if err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", plural, err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &definition); err != nil {
			return nil, fmt.Errorf("reading the definition of %s: %w", plural, err)
		}
		writeKind(&out, definition)
	}
	return out.Bytes(), nil
}

func writeKind(out *bytes.Buffer, definition apiextensionsv1.CustomResourceDefinition) {
	version, names := definition.Spec.Versions[0], definition.Spec.Names
	schema := version.Schema.OpenAPIV3Schema
	fmt.Fprintf(out, "\n## %s (`%s`)\n\n%s\n", names.Kind, strings.Join(names.ShortNames, "`, `"), schema.Description)
	var columns []string
	for _, column := range version.AdditionalPrinterColumns {
		wide := ""
		if column.Priority > 0 {
			wide = " (wide)"
		}
		columns = append(columns, column.Name+wide)
	}
	fmt.Fprintf(out, "\nColumns of `kubectl get`: %s.\n", strings.Join(columns, ", "))
	for _, part := range []string{"spec", "status"} {
		fields := schema.Properties[part]
		fmt.Fprintf(out, "\n### %s.%s\n\n%s\n\n",
			names.Kind, part, fields.Description)
		writeFields(out, part, fields, said(*schema))
	}
	fmt.Fprintf(out, "\n### Rules of a whole %s\n\n", names.Kind)
	for _, rule := range schema.XValidations {
		fmt.Fprintf(out, "- `%s`: %s\n", strings.TrimPrefix(rule.FieldPath, "."), line(rule.Message))
	}
}

func writeFields(out *bytes.Buffer, path string, parent apiextensionsv1.JSONSchemaProps, said map[string][]string) {
	for _, name := range slices.Sorted(maps.Keys(parent.Properties)) {
		field, at := parent.Properties[name], path+"."+name
		shown := "`" + strings.TrimPrefix(strings.TrimPrefix(at, "spec."), "status.") + "`"
		if slices.Contains(parent.Required, name) {
			shown = "**" + shown + "**"
		}
		kind := typeOf(name, field)
		if field.Default != nil {
			kind += "; default `" + string(field.Default.Raw) + "`"
		}
		meaning := line(field.Description)
		if known := rules(at, field, said, slices.Contains(theirs, name) && name != "conditions"); len(known) > 0 {
			meaning += " *Rules: " + line(strings.Join(known, "; ")) + ".*"
		}
		fmt.Fprintf(out, "- %s (%s): %s\n", shown, kind, meaning)
		if slices.Contains(theirs, name) {
			continue
		}
		if field.Items != nil {
			writeFields(out, at+"[]", *field.Items.Schema, said)
		}
		writeFields(out, at, field, said)
	}
}

// typeOf is a field's type in words that a reader of YAML knows.
func typeOf(name string, field apiextensionsv1.JSONSchemaProps) string {
	switch {
	case len(field.Enum) > 0:
		var values []string
		for _, value := range field.Enum {
			values = append(values, strings.Trim(string(value.Raw), `"`))
		}
		return strings.Join(values, ", ")
	case slices.Contains(theirs, name):
		return strings.Replace(field.Type, "array", "list", 1) + ", as in Kubernetes"
	case field.Type == "array":
		return "list of " + typeOf("", *field.Items.Schema)
	case field.AdditionalProperties != nil:
		return "map"
	case slices.ContainsFunc(field.XValidations, func(rule apiextensionsv1.ValidationRule) bool {
		return strings.Contains(rule.Rule, "duration(self)")
	}):
		return "duration"
	case field.Format == "date-time":
		return "time"
	}
	return field.Type
}

// line is a text on one line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }
