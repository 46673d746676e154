package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// TestEveryReasonHasItsPlace: each reason, condition and event that an object can carry is explained in docs/reasons.md, and
// nothing else is.
func TestEveryReasonHasItsPlace(t *testing.T) {
	page, err := Read(root + "/docs/reasons.md")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for _, term := range page.Terms {
		explained[term] = true
	}
	for _, heading := range page.Headings {
		if heading.Level == 4 {
			explained[heading.Text] = true
		}
	}
	words := constants(t, "../../api/v2alpha1/reasons.go")
	if len(words) < 40 {
		t.Fatalf("only %d constants were read", len(words))
	}
	known := map[string]bool{}
	for name, word := range words {
		known[word] = true
		if !explained[word] {
			t.Errorf("docs/reasons.md does not say what %s (%s) means", word, name)
		}
	}
	for word := range explained {
		if !known[word] {
			t.Errorf("docs/reasons.md explains %s, which nothing says", word)
		}
	}
}

// constants are the string constants of a file by name, but for the action that all events share.
func constants(t *testing.T, file string) map[string]string {
	t.Helper()
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	ast.Inspect(tree, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || strings.HasSuffix(spec.Names[0].Name, "Action") {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}
		values[spec.Names[0].Name] = value
		return true
	})
	return values
}
