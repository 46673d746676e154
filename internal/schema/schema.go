// Package schema compares the schemas of our kinds, as a cluster has them, with those that this program was built with.
//
// It matters since an API server silently drops what its schema does not know: a program that is newer than the
// CustomResourceDefinitions would save half of what it decides.
package schema

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
)

// Schema is one level of an OpenAPI schema, as a CustomResourceDefinition or an API server writes it.
type Schema = map[string]any

// Kind is one of our kinds as this program knows it.
type Kind struct {
	// Name is the kind's, Plural what its objects are listed under.
	Name, Plural string
	// Schema is that of its objects.
	Schema Schema
}

// Ours are our kinds, by name, sorted.
var Ours = sync.OnceValues(read)

// definition is what we read of a CustomResourceDefinition.
type definition struct {
	Spec struct {
		Names    struct{ Kind, Plural string }
		Versions []struct {
			Schema struct{ OpenAPIV3Schema Schema }
		}
	}
}

func read() ([]Kind, error) {
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		return nil, fmt.Errorf("reading our CustomResourceDefinitions: %w", err)
	}
	var kinds []Kind
	for _, file := range files {
		text, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			return nil, fmt.Errorf("reading our CustomResourceDefinitions: %w", err)
		}
		var found definition
		if err := yaml.Unmarshal(text, &found); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file.Name(), err)
		}
		if len(found.Spec.Versions) != 1 {
			return nil, fmt.Errorf("reading %s: it has %d versions, want one", file.Name(), len(found.Spec.Versions))
		}
		kinds = append(kinds, Kind{found.Spec.Names.Kind, found.Spec.Names.Plural, found.Spec.Versions[0].Schema.OpenAPIV3Schema})
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(a.Name, b.Name) })
	return kinds, nil
}

// Lacks lists what an object of ours may carry and the other schema would drop or refuse, sorted: fields as spec.watts, and
// values of fields as status.phase=ready. What the other has more is no fault: it is newer. Neither is a rule that differs.
func Lacks(ours, other Schema) []string {
	var missing []string
	properties := Properties(ours)
	for name := range properties {
		if name != "apiVersion" && name != "kind" && name != "metadata" { // every object has them
			missing = append(missing, lacking(name, properties[name], Properties(other)[name])...)
		}
	}
	slices.Sort(missing)
	return missing
}

// lacking compares one field and what is in it. Of a field that is missing as a whole only itself is told.
func lacking(path string, ours, other any) []string {
	mine, _ := ours.(Schema)
	theirs, known := other.(Schema)
	if !known {
		return []string{path}
	}
	if theirs["x-kubernetes-preserve-unknown-fields"] == true {
		return nil
	}
	var missing []string
	if values, limited := theirs["enum"].([]any); limited {
		wanted, _ := mine["enum"].([]any)
		for _, value := range wanted {
			if !slices.Contains(values, value) {
				missing = append(missing, fmt.Sprintf("%s=%v", path, value))
			}
		}
	}
	for name, property := range Properties(mine) {
		missing = append(missing, lacking(path+"."+name, property, Properties(theirs)[name])...)
	}
	for keyword, suffix := range map[string]string{"items": "[]", "additionalProperties": "{}"} {
		if inner, ok := mine[keyword].(Schema); ok {
			missing = append(missing, lacking(path+suffix, inner, theirs[keyword])...)
		}
	}
	return missing
}

// Properties are the fields of an object's schema, by name.
func Properties(s Schema) Schema {
	properties, _ := s["properties"].(Schema)
	return properties
}

// Brief is a list of at most three of the paths, and how many more there are.
func Brief(paths []string) string {
	const most = 3
	if len(paths) <= most {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:most], ", "), len(paths)-most)
}

// Published reads the schemas of the kinds in an OpenAPI document of an API server, by kind.
func Published(document Schema, group, version string) map[string]Schema {
	components, _ := document["components"].(Schema)
	schemas, _ := components["schemas"].(Schema)
	found := map[string]Schema{}
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		published, _ := schemas[name].(Schema)
		kinds, _ := published["x-kubernetes-group-version-kind"].([]any)
		for _, kind := range kinds {
			gvk, _ := kind.(Schema)
			if name, ok := gvk["kind"].(string); ok && gvk["group"] == group && gvk["version"] == version {
				found[name] = published
			}
		}
	}
	return found
}
