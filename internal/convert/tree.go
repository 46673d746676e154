package convert

import (
	"strings"

	"go.yaml.in/yaml/v3"
	sigsyaml "sigs.k8s.io/yaml"
)

// value is what a mapping has under a key, or nil.
func value(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// text is the scalar that a mapping has under a key, or nothing.
func text(mapping *yaml.Node, key string) string {
	if v := value(mapping, key); v != nil && v.Kind == yaml.ScalarNode && !isNull(v) {
		return v.Value
	}
	return ""
}

// drop takes a key out of a mapping and returns what it had, or nil.
func drop(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			dropped := mapping.Content[i+1]
			mapping.Content = append(mapping.Content[:i:i], mapping.Content[i+2:]...)
			return dropped
		}
	}
	return nil
}

// put adds a key with a string at the front of a mapping.
func put(mapping *yaml.Node, key, scalar string) {
	mapping.Content = append([]*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, {Kind: yaml.ScalarNode, Tag: "!!str", Value: scalar},
	}, mapping.Content...)
}

// keys are those of a mapping, in its order.
func keys(mapping *yaml.Node) []string {
	var names []string
	if mapping != nil && mapping.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(mapping.Content); i += 2 {
			names = append(names, mapping.Content[i].Value)
		}
	}
	return names
}

func isNull(node *yaml.Node) bool {
	return node.Kind == 0 || node.Kind == yaml.ScalarNode && node.Tag == "!!null"
}

// isString is whether kubectl takes a scalar without quotes for a string.
func isString(plain string) bool {
	var read any
	if err := sigsyaml.Unmarshal([]byte(plain), &read); err != nil {
		return false
	}
	s, ok := read.(string)
	return ok && s == plain
}

// quote makes a string of what kubectl would take for a number or a truth, and says whether it did.
func quote(scalar *yaml.Node) bool {
	if scalar.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 || isString(scalar.Value) {
		return false
	}
	scalar.Tag, scalar.Style = "!!str", yaml.DoubleQuotedStyle
	return true
}

// brief is a value on one short line.
func brief(node *yaml.Node) string {
	if node.Kind == yaml.ScalarNode {
		return node.Value
	}
	plain := *node
	plain.Style, plain.HeadComment, plain.FootComment = yaml.FlowStyle, "", ""
	out, err := yaml.Marshal(&plain)
	line := strings.Join(strings.Fields(string(out)), " ")
	const most = 60
	if err != nil || len(line) > most || strings.Contains(line, "#") {
		return "..."
	}
	return line
}
