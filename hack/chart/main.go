// Command chart copies what is generated elsewhere into the Helm chart: the CustomResourceDefinitions as templates, so that
// helm upgrade replaces them, their admission policies, the webhook configurations, the manager's rights, the alert rules
// and the dashboard.
package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/admission"
	"homecluster.dev/autoscaler/config/crd"
	"homecluster.dev/autoscaler/config/webhook"
)

const (
	chart     = "charts/homelab-autoscaler"
	templates = chart + "/templates"
	roles     = "config/rbac/role.yaml"
	observer  = "config/rbac/observer/role.yaml"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

func run() error {
	for _, write := range []func() error{definitions, policies, webhooks, rights, monitoring} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
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

// rights writes the rules of all roles as named templates: their names and namespaces are the chart's.
func rights() error {
	var out bytes.Buffer
	out.WriteString("{{/* Written by make generate from " + roles + " and " + observer + ". */}}\n")
	for _, of := range []struct {
		file  string
		names map[string]string
	}{
		{roles, map[string]string{"ClusterRole": "clusterRules", "Role": "namespaceRules"}},
		{observer, map[string]string{"Role": "observerRules"}},
	} {
		if err := rules(&out, of.file, of.names); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(templates, "_rights.tpl"), out.Bytes(), 0o644)
}

// rules writes the roles of a file, each under the name that its kind has.
func rules(out *bytes.Buffer, file string, names map[string]string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for document := range strings.SplitSeq(strings.TrimPrefix(string(text), "---\n"), "\n---\n") {
		var role rbacv1.ClusterRole // a Role has the same fields
		if err := yaml.UnmarshalStrict([]byte(document), &role); err != nil {
			return fmt.Errorf("reading %s: %w", file, err)
		}
		name, known := names[role.Kind]
		if !known {
			return fmt.Errorf("%s has a %q, which the chart does not know", file, role.Kind)
		}
		fmt.Fprintf(out, "{{- define \"homelab-autoscaler.%s\" -}}\n", name)
		for _, rule := range role.Rules {
			text, err := grant(rule)
			if err != nil {
				return fmt.Errorf("writing the rules of %s: %w", role.Kind, err)
			}
			out.WriteString(text)
		}
		out.WriteString("{{- end -}}\n")
	}
	return nil
}

// grant is the template of one rule, which is rendered only where the values need it.
func grant(rule rbacv1.PolicyRule) (string, error) {
	text, err := yaml.Marshal([]rbacv1.PolicyRule{rule})
	if err != nil {
		return "", err
	}
	granted := named(escape(string(text)))
	if condition := needed(rule); condition != "" {
		granted = "{{- if " + condition + " }}\n" + granted + "{{- end }}\n"
	}
	return granted, nil
}

// needed is the template's condition under which the manager needs a rule; empty: always. It is what the manager asks for
// at its start, depending on its flags.
func needed(rule rbacv1.PolicyRule) string {
	const own = `include "homelab-autoscaler.ownCertificate" .`
	about := func(group, resource string) bool {
		return slices.Contains(rule.APIGroups, group) && (resource == "" || slices.Contains(rule.Resources, resource))
	}
	switch {
	case about("coordination.k8s.io", ""):
		return ".Values.controllerManager.leaderElection.enable"
	case about("", "secrets"):
		return own
	case about("admissionregistration.k8s.io", ""):
		return "and (" + own + ") .Values.webhook.enable"
	case about("authentication.k8s.io", ""), about("authorization.k8s.io", ""):
		return `include "homelab-autoscaler.guardedMetrics" .`
	}
	return ""
}

const fullname = `{{ include "homelab-autoscaler.fullname" . }}`

// named gives the objects that a rule names the release's own names.
func named(rules string) string {
	return strings.NewReplacer("- homelab-autoscaler-certs\n", "- "+fullname+"-certs\n", "- homelab-autoscaler\n", "- "+fullname+"\n").Replace(rules)
}

// webhooks writes the webhook configurations, which ask the release's own Service about the namespace that is served.
func webhooks() error {
	text := string(webhook.Configurations)
	_, text, _ = strings.Cut(text, "\napiVersion: ") // what comes before is about the file
	text = escape("apiVersion: " + text)
	for _, change := range []struct{ from, to string }{
		{"\n  name: homelab-autoscaler\n", "\n  name: " + fullname + "\n" + `  labels:
    {{- include "homelab-autoscaler.labels" . | nindent 4 }}
  {{- if eq .Values.tls.source "certManager" }}
  annotations:
    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/{{ include "homelab-autoscaler.fullname" . }}-ports
  {{- end }}
`},
		{"    clientConfig:\n", `    clientConfig:
      {{- if eq .Values.tls.source "secret" }}
      caBundle: {{ .Values.tls.secret.caBundle | b64enc }}
      {{- end }}
`},
		{"{name: homelab-autoscaler-webhook, namespace: homelab-autoscaler-system, ", "{name: " + fullname + "-webhook, namespace: {{ .Release.Namespace }}, "},
		{"kubernetes.io/metadata.name: homelab-autoscaler-system", `kubernetes.io/metadata.name: {{ include "homelab-autoscaler.watchNamespace" . }}`},
	} {
		if !strings.Contains(text, change.from) {
			return fmt.Errorf("config/webhook has no %q any more, which the chart replaces", change.from)
		}
		text = strings.ReplaceAll(text, change.from, change.to)
	}
	if strings.Contains(text, "homelab-autoscaler-system") {
		return fmt.Errorf("config/webhook names a namespace where the chart does not expect one")
	}
	text = "{{- /* Written by make generate from config/webhook. */}}\n{{- if .Values.webhook.enable }}\n" + text + "{{- end }}\n"
	return os.WriteFile(filepath.Join(templates, "admission", "webhooks.yaml"), []byte(text), 0o644)
}
