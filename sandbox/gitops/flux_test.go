package gitops_test

import (
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/ext"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// kustomization is of Flux's kind what matters here, and what the page uses.
type kustomization struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Metadata   map[string]any `json:"metadata"`
	Spec       struct {
		Interval         string         `json:"interval"`
		Path             string         `json:"path"`
		Prune            bool           `json:"prune"`
		Wait             bool           `json:"wait"`
		Timeout          string         `json:"timeout"`
		SourceRef        map[string]any `json:"sourceRef"`
		HealthCheckExprs []struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			InProgress string `json:"inProgress"`
			Failed     string `json:"failed"`
			Current    string `json:"current"`
		} `json:"healthCheckExprs"`
	} `json:"spec"`
}

// check is one expression and what it says when it is true.
type check struct {
	program cel.Program
	status  string
}

// flux are the page's health checks by kind, in the order in which Flux asks them.
type flux map[string][]check

func newFlux(t *testing.T) flux {
	t.Helper()
	env, err := cel.NewEnv(cel.HomogeneousAggregateLiterals(), cel.EagerlyValidateDeclarations(true), cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true), cel.OptionalTypes(), ext.Strings(), ext.Sets(), ext.Encoders())
	if err != nil {
		t.Fatal(err)
	}
	checks := flux{}
	for _, of := range object[kustomization](t, "Kustomization").Spec.HealthCheckExprs {
		if of.APIVersion != v2.GroupVersion.String() {
			t.Errorf("a check for %s", of.APIVersion)
		}
		for _, e := range []struct{ text, status string }{{of.InProgress, "InProgress"}, {of.Failed, "Failed"}, {of.Current, "Current"}} {
			tree, issues := env.Parse(e.text) // Flux parses and does not compile, since it does not know the fields
			if issues.Err() != nil {
				t.Fatal(issues.Err())
			}
			program, err := env.Program(tree, cel.EvalOptions(cel.OptOptimize))
			if err != nil {
				t.Fatal(err)
			}
			checks[of.Kind] = append(checks[of.Kind], check{program, e.status})
		}
	}
	return checks
}

// health answers as Flux does: a status of an older generation is asked nothing.
func (f flux) health(t *testing.T, kind string, fields map[string]any) string {
	t.Helper()
	status, _ := fields["status"].(map[string]any)
	metadata, _ := fields["metadata"].(map[string]any)
	if seen, ok := status["observedGeneration"]; ok && seen != metadata["generation"] {
		return "InProgress"
	}
	for _, c := range f[kind] {
		is, _, err := c.program.Eval(fields)
		if err != nil {
			t.Fatalf("the health of %v: %v", fields, err)
		}
		if is.Value() == true {
			return c.status
		}
	}
	return "InProgress"
}
