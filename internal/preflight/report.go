// Package preflight reads a cluster and says what would break when homelab-autoscaler is upgraded from 0.1 to 0.2, or is
// already broken, and with which commands it is mended.
//
// What is said is decided by Judge, which is pure: a Snapshot in, a Report out. Read takes the snapshot and only reads.
package preflight

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	// Blocks is what must be done first: the upgrade would be refused, or would lose something, or 0.2 would not start.
	Blocks Severity = "blocks"
	// Warns is what will happen and may surprise.
	Warns Severity = "warns"
)

// Finding is one thing that a person should know.
type Finding struct {
	// Check is which check found it, Severity how much it matters.
	Check    string   `json:"check"`
	Severity Severity `json:"severity"`
	// About names the object or objects.
	About string `json:"about"`
	// Says is what is the matter and what comes of it.
	Says string `json:"says"`
	// Do are the commands that mend it, in their order.
	Do []string `json:"do,omitempty"`
}

// Verdict is the report in one word.
type Verdict string

// The verdicts.
const (
	// Ready is a cluster in which nothing stands in the way.
	Ready Verdict = "ready"
	// Blocked is one in which something does.
	Blocked Verdict = "blocked"
	// Unknown is one that could not be read completely, and in what was read nothing stands in the way.
	Unknown Verdict = "unknown"
)

// Report is what was found.
type Report struct {
	Verdict Verdict `json:"verdict"`
	// Kubernetes is the API server's version.
	Kubernetes string `json:"kubernetes"`
	// Installed says what of ours there is: nothing, 0.1, 0.2, or 0.1 and 0.2 in the middle of an upgrade.
	Installed string `json:"installed"`
	// Checks are the names of all checks, in the order in which they were made.
	Checks []string `json:"checks"`
	// Findings are in the order in which to deal with them.
	Findings []Finding `json:"findings"`
	// Unread is what could not be read, and why.
	Unread []string `json:"unread,omitempty"`
}

func (r *Report) count(severity Severity) int {
	n := 0
	for _, finding := range r.Findings {
		if finding.Severity == severity {
			n++
		}
	}
	return n
}

// JSON writes the report for programs.
func (r *Report) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(r)
}

// Text writes the report for people: a table of what was looked at, then each finding with what to do.
func (r *Report) Text(w io.Writer) error {
	var out strings.Builder
	fmt.Fprintf(&out, "Kubernetes %s, homelab-autoscaler installed: %s\n\n", r.Kubernetes, r.Installed)
	table := tabwriter.NewWriter(&out, 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(table, "CHECK\tRESULT\tABOUT")
	for _, check := range r.Checks {
		_, _ = fmt.Fprintln(table, check+"\t"+r.result(check)+"\t"+r.about(check))
	}
	_ = table.Flush()
	for _, finding := range r.Findings {
		fmt.Fprintf(&out, "\n%s %s: %s\n%s\n", strings.ToUpper(string(finding.Severity)), finding.Check, finding.About, wrap(finding.Says, "  "))
		for _, command := range finding.Do {
			out.WriteString("\n    " + strings.ReplaceAll(command, "\n", "\n    ") + "\n")
		}
	}
	for _, unread := range r.Unread {
		out.WriteString("\nNOT READ " + unread + "\n")
	}
	out.WriteString("\n" + r.summary() + "\n")
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Report) of(check string) []Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Check != check })
}

func (r *Report) result(check string) string {
	found := r.of(check)
	switch {
	case slices.ContainsFunc(found, func(f Finding) bool { return f.Severity == Blocks }):
		return "BLOCKS"
	case len(found) > 0:
		return "warns"
	}
	return "ok"
}

func (r *Report) about(check string) string {
	found := r.of(check)
	if len(found) == 0 {
		return "-"
	}
	if len(found) > 1 {
		return fmt.Sprintf("%s and %d more", found[0].About, len(found)-1)
	}
	return found[0].About
}

func (r *Report) summary() string {
	switch r.Verdict {
	case Blocked:
		return fmt.Sprintf("blocked: %d to mend before the upgrade, %d to know about; mend them from top to bottom and run this again",
			r.count(Blocks), r.count(Warns))
	case Unknown:
		return "unknown: not everything could be read, and without that nobody can say; run this as somebody who may read it"
	case Ready:
	}
	return fmt.Sprintf("ready: nothing stands in the way, %d to know about", r.count(Warns))
}

// wrap breaks a text into lines of a terminal's width.
func wrap(text, indent string) string {
	const width = 100
	var lines []string
	line := indent
	for word := range strings.FieldsSeq(text) {
		if len(line)+len(word) > width && line != indent {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += word + " "
	}
	return strings.Join(append(lines, strings.TrimRight(line, " ")), "\n")
}
