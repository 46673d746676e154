package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

func TestOursAreTheThreeKinds(t *testing.T) {
	kinds, err := Ours()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name+" "+kind.Plural)
		if missing := Lacks(kind.Schema, kind.Schema); missing != nil {
			t.Errorf("%s lacks of itself %v", kind.Name, missing)
		}
		if len(Properties(kind.Schema)) == 0 {
			t.Errorf("%s has no fields", kind.Name)
		}
	}
	if diff := cmp.Diff([]string{"Group groups", "Node nodes", "NodeClaim nodeclaims"}, names); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnotherSchemaLacks(t *testing.T) {
	const ours = `
properties:
  apiVersion: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      watts: {type: integer}
      jobs:
        type: array
        items: {type: object, properties: {name: {type: string}, outcome: {type: string, enum: [Failed, TimedOut]}}}
      labels: {type: object, additionalProperties: {type: object, properties: {key: {type: string}}}}
`
	for name, test := range map[string]struct {
		other string
		want  []string
	}{
		"nothing, of the same": {ours, nil},
		"nothing, of one that knows more": {`
properties:
  spec:
    properties:
      watts: {}
      volts: {}
      jobs: {items: {properties: {name: {}, outcome: {enum: [Failed, TimedOut, Unknown]}, n: {}}}}
      labels: {additionalProperties: {properties: {key: {}}}}
`, nil},
		"nothing, of one that takes everything": {`{properties: {spec: {x-kubernetes-preserve-unknown-fields: true}}}`, nil},
		"the whole spec":                        {`{properties: {status: {}}}`, []string{"spec"}},
		"everything":                            {`{}`, []string{"spec"}},
		"fields, in lists and maps too": {`
properties:
  spec:
    properties:
      jobs: {items: {properties: {outcome: {type: string}}}}
      labels: {additionalProperties: {}}
`, []string{"spec.jobs[].name", "spec.labels{}.key", "spec.watts"}},
		"a value of a field": {`
properties:
  spec:
    properties:
      watts: {}
      jobs: {items: {properties: {name: {}, outcome: {enum: [Failed]}}}}
      labels: {additionalProperties: {properties: {key: {}}}}
`, []string{"spec.jobs[].outcome=TimedOut"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Lacks(parse(t, ours), parse(t, test.other))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKindsAreFoundInAnOpenAPIDocument(t *testing.T) {
	document := parse(t, `
components:
  schemas:
    dev.homecluster.infra.v2alpha1.Node:
      properties: {spec: {}}
      x-kubernetes-group-version-kind: [{group: infra.homecluster.dev, kind: Node, version: v2alpha1}]
    dev.homecluster.infra.v1alpha1.Group:
      x-kubernetes-group-version-kind: [{group: infra.homecluster.dev, kind: Group, version: v1alpha1}]
    io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta: {type: object}
`)
	found := Published(document, "infra.homecluster.dev", "v2alpha1")
	if len(found) != 1 || Properties(found["Node"])["spec"] == nil {
		t.Errorf("found %v", found)
	}
	if found := Published(Schema{}, "infra.homecluster.dev", "v2alpha1"); len(found) != 0 {
		t.Errorf("found %v in an empty document", found)
	}
}

func TestAListIsCutShort(t *testing.T) {
	for want, paths := range map[string][]string{"a, b, c": {"a", "b", "c"}, "a, b, c and 2 more": {"a", "b", "c", "d", "e"}} {
		if got := Brief(paths); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func parse(t *testing.T, text string) Schema {
	t.Helper()
	var s Schema
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	return s
}
