package kubelet

import "strings"

// expand replaces $(NAME) by the value of NAME; $$ stands for one dollar sign, and a reference to an unknown name
// stays as it is.
func expand(text string, values map[string]string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed:
			if value, known := values[name]; known {
				out.WriteString(value)
			} else {
				out.WriteString("$(" + name + ")")
			}
			text = rest
		default:
			out.WriteByte('$')
			text = after
		}
	}
}

// mount says which path of the host stands for a path of the container.
type mount struct{ path, host string }

// relocate replaces every mention of a container's path by the host's path that stands for it, in one pass and the
// longest path first. A mention is the path itself or something below it: /etc/power is not mentioned by
// /etc/powerful, nor by /opt/etc/power.
func relocate(text string, mounts []mount) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		m, found := mentioned(text, at, mounts)
		if !found {
			out.WriteByte(text[at])
			at++
			continue
		}
		out.WriteString(m.host)
		at += len(m.path)
	}
	return out.String()
}

func mentioned(text string, at int, mounts []mount) (longest mount, found bool) {
	if at > 0 && inPath(text[at-1]) {
		return mount{}, false
	}
	for _, m := range mounts {
		rest, has := strings.CutPrefix(text[at:], m.path)
		whole := rest == "" || rest[0] == '/' || !inPath(rest[0])
		if has && whole && len(m.path) > len(longest.path) {
			longest, found = m, true
		}
	}
	return longest, found
}

func inPath(c byte) bool {
	return c == '/' || c == '.' || c == '_' || c == '-' ||
		'0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
