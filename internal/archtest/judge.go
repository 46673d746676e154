package archtest

import (
	"fmt"
	"go/ast"
	"iter"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Violation is one breach of the law.
type Violation struct {
	// Where is the package, and the file where one is at fault.
	Where string
	// What was done there.
	What string
	// Why it is not wanted.
	Why string
}

// String is the violation with its reason.
func (v Violation) String() string { return v.Where + " " + v.What + "\n\twhy not: " + v.Why }

// Judge holds the packages to the law and returns every violation, in a stable order.
func Judge(found []Package) []Violation {
	var all []Violation
	for _, p := range found {
		for _, rule := range []func(Package) []Violation{direction, foreign, timeless, named, manners} {
			all = append(all, rule(p)...)
		}
	}
	slices.SortFunc(all, func(a, b Violation) int { return strings.Compare(a.String(), b.String()) })
	return slices.Compact(all)
}

// direction judges the imports between our own packages, those of tests included: a test that needs a higher layer tests
// that layer. A test may import the package it stands beside.
func direction(p Package) []Violation {
	row := slices.IndexFunc(layers, func(l layer) bool { return matches(p.Rel, l.from) })
	if row < 0 {
		return []Violation{{p.Rel, "has no row in the import law", "decide first where a package belongs: internal/archtest/law.go"}}
	}
	var broken []Violation
	for file, imported := range imports(p) {
		rel, ours := relative(imported)
		if !ours || rel == p.Rel || matches(rel, "sandbox/...") || matches(rel, subtree(p.Rel, layers[row].from)) ||
			matchesAny(rel, layers[row].may) {
			continue
		}
		broken = append(broken, Violation{p.Rel + "/" + file.Name, "imports " + rel, layers[row].why})
	}
	return broken
}

// subtree is the part of the row's pattern that a package may call its own: for internal/controller/*/... one controller.
func subtree(rel, pattern string) string {
	prefix, tree := strings.CutSuffix(pattern, "/...")
	if !tree {
		return pattern
	}
	own := strings.Split(rel, "/")[:strings.Count(prefix, "/")+1]
	return strings.Join(own, "/") + "/..."
}

// foreign judges the imports of packages that are not ours.
func foreign(p Package) []Violation {
	var broken []Violation
	for _, ban := range bans {
		if !matches(p.Rel, ban.from) {
			continue
		}
		if ban.transitive {
			if via := chain(p.Package, ban.imports); via != nil {
				broken = append(broken, Violation{p.Rel, "reaches " + strings.Join(via, " → "), ban.why})
			}
		}
		for file, imported := range imports(p) {
			if (!file.Test || ban.tests) && matchesAny(imported, ban.imports) {
				broken = append(broken, Violation{p.Rel + "/" + file.Name, "imports " + imported, ban.why})
			}
		}
	}
	if !matches(p.Rel, "api/...") {
		return broken
	}
	for file, imported := range imports(p) {
		if _, ours := relative(imported); !ours && !file.Test && !standard(imported) && !matchesAny(imported, onlyAPI) {
			broken = append(broken, Violation{p.Rel + "/" + file.Name, "imports " + imported,
				"the API stands on k8s.io/api and k8s.io/apimachinery alone, so that anybody can import it"})
		}
	}
	return broken
}

// standard is whether an import path is of the standard library: those have no dot in their first element.
func standard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// timeless judges who names a clock, called or handed on as a value.
func timeless(p Package) []Violation {
	if slices.Contains(clockHomes, p.Rel) {
		return nil
	}
	var broken []Violation
	for _, file := range p.Files {
		if file.Test && !matches(p.Rel, timelessTests) {
			continue
		}
		where := p.Rel + "/" + file.Name
		clockNames := map[string]string{} // as the file calls the package -> its path
		for _, spec := range file.Imports {
			imported := pathOf(spec)
			if _, ok := clocks[imported]; !ok {
				continue
			}
			name := path.Base(imported)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if name == "." {
				broken = append(broken, Violation{where, "imports the names of " + imported + " into its own", clockWhy})
			}
			clockNames[name] = imported
		}
		ast.Inspect(file.File, func(n ast.Node) bool {
			selector, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := selector.X.(*ast.Ident); ok && slices.Contains(clocks[clockNames[x.Name]], selector.Sel.Name) {
				broken = append(broken, Violation{where, "uses " + x.Name + "." + selector.Sel.Name, clockWhy})
			}
			return true
		})
	}
	return broken
}

// named judges the words of the import path.
func named(p Package) []Violation {
	for _, word := range append(strings.Split(p.Rel, "/"), p.Name) {
		if slices.Contains(unnamed, word) {
			return []Violation{{p.Rel, "is called " + word, "a name says what is inside; this one collects what has no home"}}
		}
	}
	return nil
}

// manners judges what a package does by being imported: nothing, but for generated code.
func manners(p Package) []Violation {
	var broken []Violation
	for _, file := range p.Files {
		if file.Test || ast.IsGenerated(file.File) {
			continue
		}
		for _, declared := range file.Decls {
			if f, ok := declared.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
				broken = append(broken, Violation{p.Rel + "/" + file.Name, "has an init function",
					"importing a package does nothing; what must be set up is set up by the manager, in sight"})
			}
		}
	}
	return broken
}

// imports are the direct imports of the package, file by file.
func imports(p Package) iter.Seq2[File, string] {
	return func(yield func(File, string) bool) {
		for _, file := range p.Files {
			for _, spec := range file.Imports {
				if !yield(file, pathOf(spec)) {
					return
				}
			}
		}
	}
}

func pathOf(spec *ast.ImportSpec) string {
	unquoted, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		panic(fmt.Sprintf("the parser let an import through that is no string: %s", spec.Path.Value))
	}
	return unquoted
}

func keys[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
