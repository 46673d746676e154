// Package convert rewrites manifests of infra.homecluster.dev/v1alpha1 for v2alpha1, comments and order included, and says
// what it dropped and why. It is text in, text out: nothing is asked of a cluster.
//
// The intent of v1alpha1, spec.powerState, has no counterpart: a machine is wanted while a claim names its slot, and nobody
// can tell from a field who asked, when, and until when. Whatever else v2alpha1 has no field for is dropped as well.
package convert

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/schema"
)

// From is the version that is converted.
const From = "infra.homecluster.dev/v1alpha1"

// Note is something that a person should know about an object.
type Note struct {
	// Object is what it is about, as Node home/worker-01.
	Object string
	// Text says what was done, or what is wrong.
	Text string
	// Fault is whether the API server will refuse the object as it is.
	Fault bool
}

// String is the note on one line.
func (n Note) String() string {
	if n.Fault {
		return n.Object + ": ERROR: " + n.Text
	}
	return n.Object + ": " + n.Text
}

// Result is what became of the manifests.
type Result struct {
	// YAML are the manifests: those of v1alpha1 converted, all others as they were, lists taken apart. What a document says that
	// holds nothing but comments stands before the one that follows it.
	YAML []byte
	// Notes are in the order of the objects.
	Notes []Note
	// Converted counts the objects that were of v1alpha1.
	Converted int
}

// Faulty is whether something has to be done by hand.
func (r Result) Faulty() bool {
	return slices.ContainsFunc(r.Notes, func(n Note) bool { return n.Fault })
}

// maxNodes bounds what aliases may blow a document up to.
const maxNodes = 1_000_000

// Manifests converts a stream of YAML or JSON documents.
func Manifests(in io.Reader) (Result, error) {
	read, err := io.ReadAll(in)
	if err != nil {
		return Result{}, fmt.Errorf("reading manifests: %w", err)
	}
	kinds, err := schema.Ours()
	if err != nil {
		return Result{}, err
	}
	c := converter{schemas: map[string]schema.Schema{}}
	for _, kind := range kinds {
		c.schemas[kind.Name] = kind.Schema
	}
	var out bytes.Buffer
	to := yaml.NewEncoder(&out)
	to.SetIndent(2)
	documents := yaml.NewDecoder(bytes.NewReader(read))
	for n := 1; ; n++ {
		var document yaml.Node
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			if n == 1 {
				return Result{YAML: read}, nil // comments, or nothing at all
			}
			break
		}
		if err != nil {
			return Result{}, fmt.Errorf("reading document %d: %w", n, err)
		}
		if err := c.document(&document, to.Encode); err != nil {
			return Result{}, fmt.Errorf("converting document %d: %w", n, err)
		}
	}
	if out.Len() > 0 {
		if err := to.Close(); err != nil {
			return Result{}, fmt.Errorf("writing manifests: %w", err)
		}
	}
	if c.loose != "" {
		if out.Len() == 0 {
			return Result{YAML: read}, nil
		}
		out.WriteString("\n" + c.loose + "\n")
	}
	return Result{YAML: out.Bytes(), Notes: c.notes, Converted: c.converted}, nil
}

type converter struct {
	schemas   map[string]schema.Schema
	notes     []Note
	converted int
	// loose are the comments that no document has had yet.
	loose string
}

// document converts one document, or what is in its list, and writes it.
func (c *converter) document(document *yaml.Node, write func(any) error) error {
	budget := maxNodes
	if err := expand(document, &budget); err != nil {
		return err
	}
	root := document
	if document.Kind == yaml.DocumentNode && len(document.Content) == 1 {
		root = document.Content[0]
	}
	if isNull(root) {
		c.loose = remarks(c.loose, document.HeadComment, root.HeadComment, root.LineComment, root.FootComment, document.FootComment)
		return nil
	}
	if root.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: it is no object", root.Line)
	}
	if items := value(root, "items"); items != nil && isList(root) {
		return c.list(root, items, write)
	}
	if text(root, "apiVersion") == From {
		c.object(root)
	}
	if root.Style&yaml.FlowStyle != 0 { // JSON
		block(root)
	}
	document.HeadComment, c.loose = remarks(c.loose, document.HeadComment), ""
	return write(document)
}

// remarks puts comments one below the other.
func remarks(comments ...string) string {
	return strings.Join(slices.DeleteFunc(comments, func(c string) bool { return c == "" }), "\n")
}

// isList is whether an object is kubectl's list, or one of ours. Another kind whose name ends so may be an object like any.
func isList(root *yaml.Node) bool {
	kind := text(root, "kind")
	return kind == "List" || strings.HasPrefix(text(root, "apiVersion"), ourPrefix) && strings.HasSuffix(kind, "List")
}

// list converts what is in a list. Items of a list of one kind need not repeat what the list says of them.
func (c *converter) list(root, items *yaml.Node, write func(any) error) error {
	if items.Kind != yaml.SequenceNode && !isNull(items) {
		return fmt.Errorf("line %d: the items of a list are none", items.Line)
	}
	kind := strings.TrimSuffix(text(root, "kind"), "List")
	for _, item := range items.Content {
		if kind != "" && item.Kind == yaml.MappingNode && value(item, "kind") == nil && value(item, "apiVersion") == nil {
			put(item, "kind", kind)
			put(item, "apiVersion", text(root, "apiVersion"))
		}
		if err := c.document(item, write); err != nil {
			return err
		}
	}
	return nil
}

// object converts an object of v1alpha1 in place.
func (c *converter) object(root *yaml.Node) {
	metadata := value(root, "metadata")
	o := object{root: root, metadata: metadata, kind: text(root, "kind"), name: text(metadata, "name"), namespace: text(metadata, "namespace")}
	known, ok := c.schemas[o.kind]
	if !ok || o.kind == "NodeClaim" {
		o.fault("v1alpha1 had no kind %s: it is left as it is", o.kind)
		c.notes = append(c.notes, o.notes...)
		return
	}
	c.converted++
	value(root, "apiVersion").Value = v2.GroupVersion.String()
	o.tidyMetadata()
	o.quoteMetadata()
	o.dropIntent()
	o.dropStatus()
	if o.kind == "Node" {
		o.completeSlot()
	}
	if spec := value(root, "spec"); spec != nil {
		o.fit("spec", spec, schema.Properties(known)["spec"])
	}
	o.check()
	c.notes = append(c.notes, o.notes...)
}

// expand puts copies where a document refers to what it said before: each object must stand alone.
func expand(node *yaml.Node, budget *int) error {
	if *budget--; *budget < 0 {
		return fmt.Errorf("line %d: its aliases make it too large", node.Line)
	}
	if node.Kind == yaml.AliasNode {
		target := *node.Alias
		target.HeadComment, target.LineComment, target.FootComment = node.HeadComment, node.LineComment, node.FootComment
		*node = target
	}
	// Children are copied as well: what an alias stood for is not shared with what it referred to.
	node.Content = slices.Clone(node.Content)
	for i, child := range node.Content {
		node.Content[i] = new(*child)
	}
	node.Anchor = ""
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 && child.Tag == "!!merge" {
			return fmt.Errorf("line %d: the merge key << is not understood: write out what it merges", child.Line)
		}
		if err := expand(child, budget); err != nil {
			return err
		}
	}
	return nil
}

// block writes what came as JSON as YAML is written by hand.
func block(node *yaml.Node) {
	node.Style &^= yaml.FlowStyle | yaml.DoubleQuotedStyle
	if node.Kind == yaml.ScalarNode && node.Tag == "!!str" && !isString(node.Value) {
		node.Style = yaml.DoubleQuotedStyle
	}
	for _, child := range node.Content {
		block(child)
	}
}
