// Command chart copies what is generated elsewhere into the Helm chart: the CustomResourceDefinitions as templates, so that
// helm upgrade replaces them, their admission policies, the manager's rights, the alert rules and the dashboard.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/admission"
	"homecluster.dev/autoscaler/config/crd"
)

const (
	chart     = "charts/homelab-autoscaler"
	templates = chart + "/templates"
	roles     = "config/rbac/role.yaml"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run() error {
	if err := definitions(); err != nil {
		return err
	}
	if err := policies(); err != nil {
		return err
	}
	if err := rights(); err != nil {
		return err
	}
	return monitoring()
}

// monitoring copies the files that templates hand on as they are.
func monitoring() error {
	for _, name := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile(filepath.Join("monitoring", name))
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(chart, "files"), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(chart, "files", name), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// definitions writes a template for each CustomResourceDefinition, and removes those that are no more.
func definitions() error {
	dir := filepath.Join(templates, "crd")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			return err
		}
		template, err := definition(string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", file.Name(), err)
		}
		if err := os.WriteFile(filepath.Join(dir, file.Name()), []byte(template), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// annotated is the line below which our own annotations and labels go.
const annotated = "  annotations:\n"

// definition makes a template of a CustomResourceDefinition's text.
func definition(text string) (string, error) {
	head, rest, found := strings.Cut(escape(strings.TrimPrefix(text, "---\n")), annotated)
	if !found {
		return "", fmt.Errorf("it has no annotations to add to")
	}
	return "{{- /* Written by make generate from config/crd/bases. */}}\n{{- if .Values.crd.enable }}\n" + head +
		"  labels:\n    {{- include \"homelab-autoscaler.labels\" . | nindent 4 }}\n" + annotated +
		"    {{- if .Values.crd.keep }}\n    helm.sh/resource-policy: keep\n    {{- end }}\n" + rest + "{{- end }}\n", nil
}

// policies writes a template for each file of admission policies. They belong to the kinds, and come and go with them.
func policies() error {
	dir := filepath.Join(templates, "admission")
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	files, err := fs.Glob(admission.Policies, "*.yaml")
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := admission.Policies.ReadFile(file)
		if err != nil {
			return err
		}
		template := "{{- /* Written by make generate from config/admission. */}}\n{{- if .Values.crd.enable }}\n" + escape(string(text)) + "{{- end }}\n"
		if err := os.WriteFile(filepath.Join(dir, file), []byte(template), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// escape keeps what looks like a template from being one.
func escape(text string) string { return strings.ReplaceAll(text, "{{", `{{ "{{" }}`) }

// rights writes the rules of the two roles as named templates: their names and namespaces are the chart's.
func rights() error {
	text, err := os.ReadFile(roles)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	out.WriteString("{{/* Written by make generate from " + roles + ". */}}\n")
	for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
			return fmt.Errorf("reading %s: %w", roles, err)
		}
		name, known := map[string]string{"ClusterRole": "clusterRules", "Role": "namespaceRules"}[role.Kind]
		if !known {
			return fmt.Errorf("%s has a %q, which the chart does not know", roles, role.Kind)
		}
		rules, err := yaml.Marshal(role.Rules)
		if err != nil {
			return fmt.Errorf("writing the rules of %s: %w", role.Kind, err)
		}
		fmt.Fprintf(&out, "{{- define \"homelab-autoscaler.%s\" -}}\n%s{{- end -}}\n", name, named(escape(string(rules))))
	}
	return os.WriteFile(filepath.Join(templates, "_rights.tpl"), out.Bytes(), 0o644)
}

// named gives the objects that a rule names the release's own names.
func named(rules string) string {
	const fullname = `{{ include "homelab-autoscaler.fullname" . }}`
	return strings.NewReplacer("- homelab-autoscaler-certs\n", "- "+fullname+"-certs\n", "- homelab-autoscaler\n", "- "+fullname+"\n").Replace(rules)
}
