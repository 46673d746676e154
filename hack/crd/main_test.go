package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParagraphs(t *testing.T) {
	tests := map[string]struct{ text, want string }{
		"nothing":                             {"", ""},
		"a line":                              {"One.", "One."},
		"a paragraph of two lines":            {"One\ntwo.", "One two."},
		"two paragraphs":                      {"One\ntwo.\n\nThree.", "One two.\n\nThree."},
		"two paragraphs far apart":            {"One.\n\n\nTwo.", "One.\n\nTwo."},
		"a list":                              {"These:\n- one\n- two\nof them.\n* three", "These:\n- one\n- two of them.\n* three"},
		"a numbered list":                     {"These:\n1. one\n2. two", "These:\n1. one\n2. two"},
		"an indented line":                    {"These:\n  one\n  two", "These:\n  one\n  two"},
		"a line that begins with a number":    {"It takes\n12 minutes.", "It takes 12 minutes."},
		"a line that begins with a short one": {"It is of\n1s or more.", "It is of 1s or more."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, paragraphs(tt.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestBoundsReachTheirFields(t *testing.T) {
	root := schema{"properties": schema{"spec": schema{"properties": schema{
		"nodeTaints": schema{"items": schema{"properties": schema{"key": schema{"type": "string"}}}},
		"at":         schema{"format": "date-time"},
		"n":          schema{"format": "int32", "minimum": 1},
	}}}}
	walk("", root, map[string]bool{})
	fields := root["properties"].(schema)["spec"].(schema)["properties"].(schema)
	want := schema{
		"nodeTaints": schema{"items": schema{"properties": schema{"key": schema{"type": "string", "minLength": 1, "maxLength": 317}}}},
		"at":         schema{"format": "date-time", "pattern": timePattern, "maxLength": 64},
		"n":          schema{"minimum": 1, "maximum": 2147483647},
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Error(diff)
	}
}
