package crd_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"homecluster.dev/autoscaler/config/crd"
)

// definitions reads every CRD of the project, by kind.
func definitions(t *testing.T) map[string]apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := crd.Bases.ReadDir("bases")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]apiextensionsv1.CustomResourceDefinition{}
	for _, file := range files {
		raw, err := crd.Bases.ReadFile("bases/" + file.Name())
		if err != nil {
			t.Fatal(err)
		}
		var definition apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(raw, &definition); err != nil {
			t.Fatalf("%s: %v", file.Name(), err)
		}
		found[definition.Spec.Names.Kind] = definition
	}
	return found
}

func TestEveryFieldIsDescribedInMoreThanItsOwnName(t *testing.T) {
	for kind, definition := range definitions(t) {
		schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
		if schema.Description == "" {
			t.Errorf("%s has no description", kind)
		}
		walk(kind, schema, func(path, name string, field *apiextensionsv1.JSONSchemaProps) {
			if path == kind+".metadata" {
				return // the API server knows it, and controller-gen describes it nowhere
			}
			if fault := describes(name, field.Description); fault != "" {
				t.Errorf("%s: %s: %q", path, fault, field.Description)
			}
		})
	}
}

// kubectl explain wraps lines to the terminal, and can do so only where a paragraph is one.
func TestEveryParagraphIsOneLine(t *testing.T) {
	item := regexp.MustCompile(`^( |[-*] |[1-9]\. )`)
	for kind, definition := range definitions(t) {
		walk(kind, definition.Spec.Versions[0].Schema.OpenAPIV3Schema, func(path, _ string, field *apiextensionsv1.JSONSchemaProps) {
			before := ""
			for line := range strings.SplitSeq(field.Description, "\n") {
				if line != "" && before != "" && !item.MatchString(line) {
					t.Errorf("%s: a line breaks before %q", path, line)
				}
				before = line
			}
		})
	}
}

// walk visits every named field below schema, through lists and maps.
func walk(path string, schema *apiextensionsv1.JSONSchemaProps, visit func(path, name string, field *apiextensionsv1.JSONSchemaProps)) {
	for name, field := range schema.Properties {
		visit(path+"."+name, name, &field)
		walk(path+"."+name, &field, visit)
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		walk(path+"[]", schema.Items.Schema, visit)
	}
	if schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil {
		walk(path+"{}", schema.AdditionalProperties.Schema, visit)
	}
}

// filler is what a sentence may add to a field's name without saying anything.
var filler = strings.Fields("a an and are defines field for if in is object of on optional represents specifies that the this to value which with")

// describes says what is wrong with a description; empty when it tells more than the field's name does.
func describes(name, description string) string {
	if strings.TrimSpace(description) == "" {
		return "no description"
	}
	said := words(name)
	for _, word := range words(description) {
		if !slices.Contains(said, word) && !slices.Contains(filler, word) {
			return ""
		}
	}
	return "the description only repeats the name"
}

// words are the lower-case words of a sentence or a camelCase name; a run of capitals is one word with what follows it.
func words(text string) []string {
	var spaced strings.Builder
	wasLower := false
	for _, r := range text {
		if unicode.IsUpper(r) && wasLower {
			spaced.WriteByte(' ')
		}
		wasLower = unicode.IsLower(r)
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(spaced.String(), func(r rune) bool { return !unicode.IsLetter(r) })
}

func TestADescriptionMustSayMoreThanTheName(t *testing.T) {
	tests := map[string]struct{ name, description, want string }{
		"nothing at all":               {"minSize", " ", "no description"},
		"the name in words":            {"minSize", "The min size.", "the description only repeats the name"},
		"the name as it is":            {"minSize", "minSize", "the description only repeats the name"},
		"the name with an acronym":     {"providerID", "This field is the provider ID of the object", "the description only repeats the name"},
		"a sentence with a meaning":    {"minSize", "The floor of the pool.", ""},
		"the name and one more thing":  {"minSize", "The min size of the pool.", ""},
		"a word that contains another": {"n", "The number.", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, describes(tt.name, tt.description)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNamesAndColumnsAreWhatPeopleType(t *testing.T) {
	type shown struct {
		Plural, Short, Narrow, Wide string
		Categories                  []string
		Status                      bool
	}
	want := map[string]shown{
		"Group": {
			Plural: "groups", Short: "hlgroup", Narrow: "Ready Target Offerable Slots Min Age", Wide: "Engine Budget",
		},
		"Node": {
			Plural: "nodes", Short: "slot", Narrow: "Group Phase Power Claim Attempt Age", Wide: "KubeNode Reason Held ProviderID",
		},
		"NodeClaim": {
			Plural: "nodeclaims", Short: "nc",
			Narrow: "Slot Group Phase Attempt Reason Requested-By Age", Wide: "Deadline Call Ready-At Finished",
		},
	}
	got := map[string]shown{}
	for kind, definition := range definitions(t) {
		version := definition.Spec.Versions[0]
		var narrow, wide []string
		for _, column := range version.AdditionalPrinterColumns {
			if column.Priority == 0 {
				narrow = append(narrow, column.Name)
			} else {
				wide = append(wide, column.Name)
			}
		}
		got[kind] = shown{
			Plural: definition.Spec.Names.Plural, Short: strings.Join(definition.Spec.Names.ShortNames, " "),
			Narrow: strings.Join(narrow, " "), Wide: strings.Join(wide, " "),
			Categories: definition.Spec.Names.Categories, Status: version.Subresources.Status != nil,
		}
	}
	for kind, w := range want {
		w.Categories, w.Status = []string{"homelab-autoscaler"}, true
		want[kind] = w
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
