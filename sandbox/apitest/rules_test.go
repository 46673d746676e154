package apitest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// ruleCase breaks one rule.
type ruleCase struct {
	// at is where, below the rule's place; empty is the place itself.
	at string
	// value is what is put there, in YAML; empty takes away what is there.
	value string
	// before is put into the status that the object has before the change, in YAML.
	before string
}

// when says at which requests a rule can be broken: a rule that only compares speaks of updates, one that is lenient with
// what was there before of creation, and one that looks at what was there of both.
func when(rule apiextensionsv1.ValidationRule) (create, update bool) {
	compares := strings.Contains(rule.Rule, "oldSelf")
	lenient := rule.OptionalOldSelf != nil && *rule.OptionalOldSelf
	return !compares || lenient, !lenient || strings.Contains(rule.Rule, "oldSelf.value()")
}

// Every rule of every kind is broken in every way that is known: by hand, for each rule's message, at each place that has
// it. A rule without a case fails, and so does a case without a rule.
func TestEveryRuleRefusesWithItsSentence(t *testing.T) {
	c, namespace := server(t)
	rules, tried, used := 0, 0, map[string]bool{}
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			goods := fulls(t, kind, namespace)
			bases := map[string]*unstructured.Unstructured{}
			for _, p := range below(place{kind: kind, schema: definition(t, kind)}) {
				for _, rule := range p.schema.XValidations {
					rules++
					used[rule.Message] = true
					if len(ruleCases[rule.Message]) == 0 {
						t.Errorf("%s %s: no case breaks the rule %q", kind, p, rule.Message)
					}
					i, at := holding(goods, p)
					if at == nil {
						t.Errorf("testdata/full has no %s %s", kind, p)
						continue
					}
					for _, broken := range ruleCases[rule.Message] {
						key := fmt.Sprint(i, broken.before)
						if bases[key] == nil {
							bases[key] = stored(t, c, beforehand(t, goods[i], broken.before, len(bases)))
						}
						tried += breaks(t, c, at, rule, broken, goods[i], bases[key])
					}
				}
			}
		})
	}
	for message := range ruleCases {
		if !used[message] {
			t.Errorf("no rule says %q", message)
		}
	}
	t.Logf("%4d rules", rules)
	t.Logf("%4d requests that break one", tried)
}

// beforehand is a good object of another name and status.
func beforehand(t *testing.T, good *unstructured.Unstructured, status string, n int) *unstructured.Unstructured {
	t.Helper()
	object := good.DeepCopy()
	object.SetName(good.GetName() + "-" + string(rune('a'+n)))
	if status != "" {
		object.Object["status"] = parsed(t, status)
	}
	return object
}

// parsed is a value in YAML as JSON has it.
func parsed(t *testing.T, text string) any {
	t.Helper()
	raw, err := yaml.YAMLToJSONStrict([]byte(`value: ` + text))
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var object unstructured.Unstructured
	if err := object.UnmarshalJSON(append([]byte(`{"apiVersion": "v1", "kind": "Value", `), raw[1:]...)); err != nil {
		t.Fatal(err)
	}
	return object.Object["value"]
}

// steps reads a path as people write it: nodeTaints[0].key.
func steps(path string) []any {
	var at []any
	for _, step := range regexp.MustCompile(`[^.\[\]]+`).FindAllString(path, -1) {
		if step >= "0" && step <= "99" {
			at = append(at, int(step[0]-'0'))
			continue
		}
		at = append(at, step)
	}
	return at
}

// breaks tries a case where its rule speaks, and returns how often.
func breaks(t *testing.T, c client.Client, at []any, rule apiextensionsv1.ValidationRule, broken ruleCase, good, base *unstructured.Unstructured) int {
	t.Helper()
	var bad any = absent{}
	if broken.value != "" {
		bad = parsed(t, broken.value)
	}
	change := func(object *unstructured.Unstructured) *unstructured.Unstructured {
		below := append(append([]any{}, at...), steps(broken.at)...)
		return &unstructured.Unstructured{Object: put(object.Object, below, bad).(map[string]any)}
	}
	where := strings.TrimPrefix(field(at)+rule.FieldPath, ".")
	judge := func(how string, err error) {
		t.Helper()
		if why := told(err, where, rule.Message); why != "" {
			t.Errorf("%s with %s: %s should be refused at %s with %q: %s", how, broken.at, broken.value, where, rule.Message, why)
		}
	}
	create, update := when(rule)
	n := 0
	if create {
		made := good.DeepCopy()
		made.SetName("another")
		judge("create", c.Create(t.Context(), change(made), client.DryRunAll))
		n++
	}
	if update {
		judge("update", c.Update(t.Context(), change(base), client.DryRunAll))
		n++
	}
	return n
}
