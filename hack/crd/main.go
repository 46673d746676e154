// Command crd finishes the CustomResourceDefinitions that controller-gen writes: it puts every paragraph of a description
// on one line, so that kubectl explain can wrap it, and bounds what markers cannot reach, the inside of Kubernetes' own
// types and of its times and quantities.
package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

const folder = "config/crd/bases"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "crd:", err)
		os.Exit(1)
	}
}

func run() error {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return err
	}
	unused := map[string]bool{}
	for path := range bounds {
		unused[path] = true
	}
	for _, file := range files {
		if err := finish(file, unused); err != nil {
			return fmt.Errorf("finishing %s: %w", file, err)
		}
	}
	for path := range unused {
		return fmt.Errorf("no field %s to bound", path)
	}
	return nil
}

// schema is one level of an OpenAPI schema, or what stands around it.
type schema = map[string]any

func finish(file string, unused map[string]bool) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var definition schema
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return err
	}
	spec, _ := definition["spec"].(schema)
	versions, _ := spec["versions"].([]any)
	for _, version := range versions {
		served, _ := version.(schema)
		validation, _ := served["schema"].(schema)
		root, _ := validation["openAPIV3Schema"].(schema)
		walk("", root, unused)
	}
	if text, err = yaml.Marshal(definition); err != nil {
		return err
	}
	return os.WriteFile(file, append([]byte("---\n"), text...), 0o644)
}

// walk finishes a field and what is in it.
func walk(path string, field schema, unused map[string]bool) {
	if text, ok := field["description"].(string); ok {
		field["description"] = paragraphs(text)
	}
	if field["format"] == "date-time" {
		field["pattern"], field["maxLength"] = timePattern, 64
	}
	if field["format"] == "int32" {
		// The API server's complaint about a number that its format cannot hold names no field; one about bounds does.
		delete(field, "format")
		if _, given := field["minimum"]; !given {
			field["minimum"] = math.MinInt32
		}
		if _, given := field["maximum"]; !given {
			field["maximum"] = math.MaxInt32
		}
	}
	if field["x-kubernetes-int-or-string"] == true {
		field["pattern"] = quantityPattern
	}
	for bounded, bound := range bounds {
		if strings.HasSuffix(path, bounded) {
			delete(unused, bounded)
			for name, value := range bound {
				field[name] = value
			}
		}
	}
	properties, _ := field["properties"].(schema)
	for name, inner := range properties {
		walk(path+"."+name, inner.(schema), unused)
	}
	if items, ok := field["items"].(schema); ok {
		walk(path+"[]", items, unused)
	}
	if values, ok := field["additionalProperties"].(schema); ok {
		walk(path+"{}", values, unused)
	}
}

// paragraphs joins the lines of a description; one that begins a list, or is indented, stays its own.
func paragraphs(text string) string {
	var out strings.Builder
	glue := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "":
			glue = "\n\n"
			continue
		case glue == " " && startsItem(line):
			glue = "\n"
		}
		out.WriteString(glue + line)
		glue = " "
	}
	return out.String()
}

func startsItem(line string) bool {
	first, _, _ := strings.Cut(line, " ")
	return first == "" || first == "-" || first == "*" || len(first) == 2 && first[0] >= '1' && first[0] <= '9' && first[1] == '.'
}
