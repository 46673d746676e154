package liveview

import (
	"fmt"
	"slices"
	"strings"
)

// Changes says in plain lines what is in next and was not in prev, each with the time it is noted at.
func Changes(prev, next Frame) []string {
	var lines []Line
	for i, table := range next.Tables {
		var before Table
		if i < len(prev.Tables) {
			before = prev.Tables[i]
		}
		for _, text := range tableChanges(before, table) {
			lines = append(lines, Line{At: next.Elapsed, Text: text})
		}
	}
	for i, feed := range next.Feeds {
		seen := 0
		if i < len(prev.Feeds) {
			seen = prev.Feeds[i].Total()
		}
		for _, line := range feed.Since(seen) {
			lines = append(lines, Line{At: line.At, Text: label(feed.Noun) + line.Text})
		}
	}
	for i, step := range next.Steps {
		if step.Done && (i >= len(prev.Steps) || !prev.Steps[i].Done) {
			lines = append(lines, Line{At: step.At, Text: label("step") + "✓ " + step.Text})
		}
	}
	return format(lines)
}

// format puts the lines in the order in which they happened.
func format(lines []Line) []string {
	slices.SortStableFunc(lines, func(a, b Line) int { return int(a.At - b.At) })
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = clock(line.At) + "  " + strings.Map(printable, line.Text)
	}
	return out
}

func label(noun string) string { return pad(noun, 6) + " " }

// tableChanges compares row by row, each found again by its first cell.
func tableChanges(prev, next Table) []string {
	var lines []string
	for _, row := range next.Rows {
		before := find(prev.Rows, row[0].Text)
		if text := rowChange(next.Header, before, row); text != "" {
			lines = append(lines, label(next.Noun)+row[0].Text+": "+text)
		}
	}
	for _, row := range prev.Rows {
		if find(next.Rows, row[0].Text) == nil {
			lines = append(lines, label(next.Noun)+row[0].Text+": gone")
		}
	}
	return lines
}

func find(rows [][]Cell, name string) []Cell {
	for _, row := range rows {
		if row[0].Text == name {
			return row
		}
	}
	return nil
}

// rowChange says which columns changed, or what a new row has.
func rowChange(header []string, before, row []Cell) string {
	var parts []string
	for i := 1; i < len(row); i++ {
		title := strings.ToLower(header[i])
		switch {
		case before == nil && row[i].Text != "":
			parts = append(parts, title+" "+row[i].Text)
		case before != nil && before[i].Text != row[i].Text:
			parts = append(parts, fmt.Sprintf("%s %s → %s", title, orDash(before[i].Text), orDash(row[i].Text)))
		}
	}
	return strings.Join(parts, ", ")
}

func orDash(text string) string {
	if text == "" {
		return "–"
	}
	return text
}
