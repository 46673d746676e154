package apitest

import (
	"cmp"
	"fmt"
	"strings"
)

// fault is one way in which a value can be wrong, and what the API server must say about it.
type fault struct {
	name  string
	value any
	want  string
}

// faults are all ways in which the value of a place can be wrong by its schema alone.
func faults(p place, good any) []fault {
	var found []fault
	add := func(name string, value any, want string) { found = append(found, fault{name, value, want}) }
	if p.required {
		add("absent", absent{}, "Required value")
	}
	s := p.schema
	switch {
	case s.XIntOrString:
		add("of the wrong type", true, "must be of type integer,string")
	case s.Type == "integer":
		add("of the wrong type", "seven", "must be of type integer")
		add("larger than any integer", 1e19, "must be of type "+cmp.Or(s.Format, s.Type))
		add("with a fraction", 1.5, "must be of type "+cmp.Or(s.Format, s.Type))
	default:
		add("of the wrong type", wrongType[s.Type], "must be of type "+cmp.Or(s.Format, s.Type))
	}
	if s.MaxLength != nil {
		add("too long", strings.Repeat("a", int(*s.MaxLength)+1), fmt.Sprintf("may not be more than %d", *s.MaxLength))
	}
	if s.MinLength != nil && *s.MinLength > 0 {
		add("too short", "", fmt.Sprintf("should be at least %d chars long", *s.MinLength))
	}
	if s.MaxItems != nil {
		add("with too many items", repeat(good, int(*s.MaxItems)+1), fmt.Sprintf("must have at most %d items", *s.MaxItems))
	}
	if s.MaxProperties != nil {
		many := map[string]any{}
		for i := range int(*s.MaxProperties) + 1 {
			many[fmt.Sprintf("x%d", i)] = "1"
		}
		add("with too many keys", many, fmt.Sprintf("must have at most %d", *s.MaxProperties))
	}
	if s.Minimum != nil {
		add("too small", int64(*s.Minimum)-1, fmt.Sprintf("should be greater than or equal to %d", int64(*s.Minimum)))
	}
	if s.Maximum != nil {
		add("too large", int64(*s.Maximum)+1, fmt.Sprintf("should be less than or equal to %d", int64(*s.Maximum)))
	}
	if len(s.Enum) > 0 {
		add("not of the list", "NoSuchValue", "supported values: "+string(s.Enum[0].Raw))
	}
	if s.Format == "date-time" {
		add("no time", "tomorrow", "must be of type date-time")
	}
	if s.Pattern != "" {
		add("of another spelling", "!", "should match")
	}
	return found
}

// wrongType has for the other types a value that they are not.
var wrongType = map[string]any{"string": int64(7), "boolean": "yes", "array": "one", "object": "all"}

// repeat is a list of so many items like the first.
func repeat(list any, n int) []any {
	items := make([]any, n)
	for i := range items {
		items[i] = list.([]any)[0]
	}
	return items
}
