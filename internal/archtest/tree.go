package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

// Package is one package of ours with the syntax of its files.
type Package struct {
	*packages.Package
	// Rel is the import path below Module.
	Rel   string
	Files []File
}

// File is one parsed file.
type File struct {
	*ast.File
	// Name is the file's path, for the reader.
	Name string
	Test bool
}

// Load reads the packages of the module at dir that match the patterns, with everything they import. The overlay, by
// absolute path, replaces or adds files; it is how the tests plant violations.
func Load(dir string, overlay map[string][]byte, patterns ...string) ([]Package, error) {
	loaded, err := packages.Load(&packages.Config{
		Mode:    packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps,
		Dir:     dir,
		Overlay: overlay,
	}, patterns...)
	if err != nil {
		return nil, fmt.Errorf("listing packages: %w", err)
	}
	var found []Package
	for _, p := range loaded {
		rel, ok := relative(p.PkgPath)
		if !ok || len(p.GoFiles)+len(p.IgnoredFiles) == 0 {
			continue
		}
		files, err := parse(p, overlay)
		if err != nil {
			return nil, err
		}
		found = append(found, Package{Package: p, Rel: rel, Files: files})
	}
	return found, nil
}

func relative(path string) (string, bool) {
	if path == Module {
		return ".", true
	}
	return strings.CutPrefix(path, Module+"/")
}

// parse reads every Go file of the package's folder, whatever its build tags, tests included.
func parse(p *packages.Package, overlay map[string][]byte) ([]File, error) {
	names := slices.Concat(p.GoFiles, p.IgnoredFiles)
	ofTests := filepath.Join(filepath.Dir(names[0]), "*_test.go")
	tests, err := filepath.Glob(ofTests)
	if err != nil {
		return nil, fmt.Errorf("listing tests of %s: %w", p.PkgPath, err)
	}
	for name := range overlay {
		if planted, _ := filepath.Match(ofTests, name); planted {
			tests = append(tests, name)
		}
	}
	var files []File
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(names, tests...)))) {
		if filepath.Ext(name) != ".go" {
			continue
		}
		source, ok := overlay[name]
		if !ok {
			if source, err = os.ReadFile(name); err != nil {
				return nil, fmt.Errorf("reading a source of %s: %w", p.PkgPath, err)
			}
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("parsing a source of %s: %w", p.PkgPath, err)
		}
		files = append(files, File{File: syntax, Name: filepath.Base(name), Test: strings.HasSuffix(name, "_test.go")})
	}
	return files, nil
}

// matches is whether the path matches the pattern: equal, or below a trailing /..., where one * stands for one element.
func matches(path, pattern string) bool {
	if pattern == "..." {
		return true
	}
	prefix, tree := strings.CutSuffix(pattern, "/...")
	want, got := strings.Split(prefix, "/"), strings.Split(path, "/")
	if len(got) < len(want) || !tree && len(got) != len(want) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != got[i] {
			return false
		}
	}
	return true
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(path, pattern) })
}

// chain is the shortest way by imports from the package to one that matches the patterns, or nil.
func chain(from *packages.Package, patterns []string) []string {
	type step struct {
		at  *packages.Package
		via []string
	}
	seen := map[string]bool{from.PkgPath: true}
	for queue := []step{{from, []string{from.PkgPath}}}; len(queue) > 0; queue = queue[1:] {
		here := queue[0]
		for _, path := range slices.Sorted(keys(here.at.Imports)) {
			next := here.at.Imports[path]
			if seen[next.PkgPath] {
				continue
			}
			seen[next.PkgPath] = true
			via := append(slices.Clone(here.via), next.PkgPath)
			if matchesAny(next.PkgPath, patterns) {
				return via
			}
			queue = append(queue, step{next, via})
		}
	}
	return nil
}
