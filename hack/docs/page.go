// Package docs reads the project's pages as a forge shows them, for the tests that hold them to what is true: links and
// anchors here, and the commands of the first pages in the sandbox.
package docs

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Page is one Markdown file.
type Page struct {
	// File is where it was read from.
	File string
	// Headings are in the order of the page.
	Headings []Heading
	Links    []Link
	Blocks   []Block
	// Terms are the words of code in the first cells of its tables.
	Terms []string
}

// Heading is a heading, with the anchor under which a forge, and the site, finds it.
type Heading struct {
	Text, Anchor string
	Level        int
}

// Link is where a link or an image points, as it is written.
type Link struct {
	To   string
	Line int
}

// Block is a fenced block of code.
type Block struct {
	// Info is what follows the fence: a language, and words after it.
	Info string
	Text string
	// Line is that of the block's first line.
	Line int
}

// Language is the first word of the block's info.
func (b Block) Language() string {
	language, _, _ := strings.Cut(b.Info, " ")
	return language
}

// Read reads a page.
func Read(file string) (*Page, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a page: %w", err)
	}
	r := reader{page: &Page{File: file}, source: source, taken: map[string]int{}}
	root := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	if err := ast.Walk(root, r.visit); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return r.page, nil
}

// reader collects while it walks.
type reader struct {
	page   *Page
	source []byte
	taken  map[string]int
}

func (r *reader) visit(node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	switch n := node.(type) {
	case *ast.Heading:
		r.heading(n)
	case *ast.Link:
		r.link(n, string(n.Destination))
	case *ast.Image:
		r.link(n, string(n.Destination))
	case *ast.FencedCodeBlock:
		r.block(n)
	case *tables.TableCell:
		if n.PreviousSibling() == nil {
			r.terms(n)
		}
	}
	return ast.WalkContinue, nil
}

func (r *reader) heading(n *ast.Heading) {
	words := r.words(n)
	anchor := Anchor(words)
	r.taken[anchor]++
	if again := r.taken[anchor] - 1; again > 0 {
		anchor = fmt.Sprintf("%s-%d", anchor, again)
	}
	r.page.Headings = append(r.page.Headings, Heading{Text: words, Anchor: anchor, Level: n.Level})
}

func (r *reader) link(n ast.Node, to string) {
	r.page.Links = append(r.page.Links, Link{To: to, Line: r.line(n)})
}

func (r *reader) block(n *ast.FencedCodeBlock) {
	b := Block{Line: r.line(n)}
	if n.Info != nil {
		b.Info = string(n.Info.Value(r.source))
	}
	var code bytes.Buffer
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		code.Write(line.Value(r.source))
	}
	b.Text = code.String()
	r.page.Blocks = append(r.page.Blocks, b)
}

func (r *reader) terms(cell *tables.TableCell) {
	for child := cell.FirstChild(); child != nil; child = child.NextSibling() {
		if code, ok := child.(*ast.CodeSpan); ok {
			r.page.Terms = append(r.page.Terms, r.words(code))
		}
	}
}

// words is the text of a node without its markup.
func (r *reader) words(n ast.Node) string {
	var words strings.Builder
	for child := n.FirstChild(); child != nil; child = child.NextSibling() {
		if piece, ok := child.(*ast.Text); ok {
			words.Write(piece.Segment.Value(r.source))
			continue
		}
		words.WriteString(r.words(child))
	}
	return words.String()
}

// line is that of the first text in or around a node.
func (r *reader) line(n ast.Node) int {
	for ; n != nil; n = n.Parent() {
		if n.Type() == ast.TypeBlock && n.Lines() != nil && n.Lines().Len() > 0 {
			return 1 + bytes.Count(r.source[:n.Lines().At(0).Start], []byte("\n"))
		}
	}
	return 1
}

// Anchor is what a forge makes of a heading: lower case, blanks as hyphens, and no punctuation. The site does the same.
func Anchor(heading string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ':
			return '-'
		case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
			return unicode.ToLower(c)
		}
		return -1
	}, strings.TrimSpace(heading))
}

// Pages reads every page of the repository whose root this is: those of docs, and those beside it that people read.
func Pages(root string) (map[string]*Page, error) {
	var files []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	pages := map[string]*Page{}
	for _, file := range files {
		page, err := Read(file)
		if err != nil {
			return nil, err
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			return nil, err
		}
		pages[filepath.ToSlash(name)] = page
	}
	return pages, nil
}
