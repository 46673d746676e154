package plug

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"homecluster.dev/autoscaler/internal/power"
	"homecluster.dev/autoscaler/internal/power/web"
)

// Status is the request that reads the state, and how its answer is read. The value that is judged is what JSONPath
// leads to, or what Pattern finds (its first group, if it has one), or the whole answer. Above judges a number of watts;
// otherwise On and Off are compared with it.
type Status struct {
	Request
	// JSONPath leads to the value in a JSON answer: names and numbers in brackets, such as switch:0.output or relays[0].ison.
	JSONPath string `json:"jsonPath,omitempty"`
	// Pattern is a regular expression (RE2) that finds the value in an answer of any kind.
	Pattern string `json:"pattern,omitempty"`
	// On and Off are the values that mean so, compared without regard to case. Without them: on, true and 1; off, false
	// and 0. With On alone everything else is not understood, which is never off.
	On  string `json:"on,omitempty"`
	Off string `json:"off,omitempty"`
	// Above judges the value as a number: more is on, as much or less is off.
	Above string `json:"above,omitempty"`
}

// reader is a Status that was checked.
type reader struct {
	path    []step
	pattern *regexp.Regexp
	on, off []string
	above   *float64
	// clean makes what the switch said fit to be shown.
	clean func(string) string
}

func (s Status) reader(clean func(string) string) (*reader, error) {
	r := &reader{clean: clean, on: []string{"on", "true", "1"}, off: []string{"off", "false", "0"}}
	if s.On != "" {
		r.on = []string{s.On}
	}
	if s.Off != "" {
		r.off = []string{s.Off}
	}
	if s.On != "" && s.Off == "" {
		r.off = nil
	}
	if s.On != "" && strings.EqualFold(s.On, s.Off) {
		return nil, fmt.Errorf("on and off are the same: %q", s.On)
	}
	if s.JSONPath != "" && s.Pattern != "" {
		return nil, errors.New("a status has a jsonPath or a pattern, not both")
	}
	if s.JSONPath != "" {
		var err error
		if r.path, err = parsePath(s.JSONPath); err != nil {
			return nil, err
		}
	}
	if s.Pattern != "" {
		var err error
		if r.pattern, err = regexp.Compile(s.Pattern); err != nil {
			return nil, fmt.Errorf("the status pattern: %w", err)
		}
	}
	if s.Above != "" {
		limit, err := strconv.ParseFloat(s.Above, 64)
		if err != nil || math.IsNaN(limit) || math.IsInf(limit, 0) || s.On != "" || s.Off != "" {
			return nil, fmt.Errorf("above is a number, without on and off: %q", s.Above)
		}
		r.above = &limit
	}
	return r, nil
}

// read judges an answer. Its error is power.ErrGarbled.
func (r *reader) read(answer []byte) (power.State, error) {
	value, err := r.value(answer)
	if err != nil {
		return "", fmt.Errorf("%w: %w", power.ErrGarbled, err)
	}
	if r.above != nil {
		watts, err := strconv.ParseFloat(value, 64)
		switch {
		case err != nil || math.IsNaN(watts) || math.IsInf(watts, 0):
			return "", fmt.Errorf("%w: %q is no number", power.ErrGarbled, r.clean(value))
		case watts > *r.above:
			return power.On, nil
		}
		return power.Off, nil
	}
	for _, means := range []struct {
		words []string
		state power.State
	}{{r.on, power.On}, {r.off, power.Off}} {
		for _, word := range means.words {
			if strings.EqualFold(word, value) {
				return means.state, nil
			}
		}
	}
	return "", fmt.Errorf("%w: %q means neither on nor off", power.ErrGarbled, r.clean(value))
}

func (r *reader) value(answer []byte) (string, error) {
	if r.pattern != nil {
		found := r.pattern.FindSubmatch(answer)
		if found == nil {
			return "", fmt.Errorf("the pattern finds nothing in %q", r.clean(string(answer)))
		}
		return strings.TrimSpace(string(found[min(1, len(found)-1)])), nil
	}
	if r.path == nil {
		return strings.TrimSpace(string(answer)), nil
	}
	var document any
	if err := json.Unmarshal(answer, &document); err != nil {
		return "", fmt.Errorf("the answer is no JSON: %s", r.clean(err.Error()))
	}
	for _, s := range r.path {
		next, found := s.of(document)
		if !found {
			return "", fmt.Errorf("the answer has no %s", s)
		}
		document = next
	}
	switch value := document.(type) {
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64), nil
	}
	return "", errors.New("the jsonPath leads to no text, number or truth")
}

// step is one name, or one index, of a path.
type step struct {
	name  string
	index int
}

func (s step) String() string {
	if s.name != "" {
		return strconv.Quote(s.name)
	}
	return "[" + strconv.Itoa(s.index) + "]"
}

func (s step) of(document any) (any, bool) {
	if s.name != "" {
		object, _ := document.(map[string]any)
		value, found := object[s.name]
		return value, found
	}
	list, _ := document.([]any)
	if s.index >= len(list) {
		return nil, false
	}
	return list[s.index], true
}

// parsePath reads names parted by dots, with indexes in brackets; a leading $ or dot is allowed.
func parsePath(path string) ([]step, error) {
	var steps []step
	for _, part := range strings.Split(strings.TrimPrefix(strings.TrimPrefix(path, "$"), "."), ".") {
		name, rest, indexed := strings.Cut(part, "[")
		if name != "" {
			steps = append(steps, step{name: name})
		}
		if name == "" && !indexed {
			return nil, fmt.Errorf("the jsonPath %q has an empty part", web.Clean(path))
		}
		for indexed {
			var digits string
			digits, rest, indexed = strings.Cut(rest, "[")
			number, err := strconv.ParseUint(strings.TrimSuffix(digits, "]"), 10, 16)
			if err != nil || !strings.HasSuffix(digits, "]") {
				return nil, fmt.Errorf("the jsonPath %q has an index that is no number in brackets", web.Clean(path))
			}
			steps = append(steps, step{index: int(number)})
		}
	}
	return steps, nil
}
