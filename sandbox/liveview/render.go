package liveview

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Render draws the frame, one string per line of the screen, none wider than the style allows and not more of them.
// Tables come whole; what is left of the height goes to the checklist, then to the feeds.
func Render(f Frame, s Style) []string {
	lines := header(f, s)
	var tables []string
	for _, table := range f.Tables {
		tables = append(tables, renderTable(table, s)...)
	}
	room := s.Height - len(lines) - len(tables)
	steps := renderSteps(f.Steps, s, room-minFeed*len(f.Feeds))
	lines = append(append(lines, steps...), tables...)
	lines = append(lines, renderFeeds(f.Feeds, s, room-len(steps))...)
	return lines[:min(len(lines), max(s.Height, 0))]
}

// minFeed is the least height of a feed that is worth its title.
const minFeed = 3

func header(f Frame, s Style) []string {
	right := strings.TrimSpace(clock(f.Elapsed))
	left := cut(f.Title, s.Width-len(right)-1)
	return []string{s.paint(pad(left, s.Width-len(right)), bold) + right}
}

// renderSteps is the whole checklist if there is room, else one line that says how far it is and what comes next.
func renderSteps(steps []Step, s Style, room int) []string {
	if len(steps) == 0 {
		return nil
	}
	if len(steps)+1 > room {
		return []string{s.tone(cut("  "+progress(steps), s.Width), Busy)}
	}
	var lines []string
	next := true
	for _, step := range steps {
		switch {
		case step.Done:
			lines = append(lines, s.tone(cut(fmt.Sprintf("  ✓ %s  %s", clock(step.At), step.Text), s.Width), Good))
		case next:
			next = false
			lines = append(lines, s.tone(cut("  ▸           "+step.Text, s.Width), Busy))
		default:
			lines = append(lines, s.tone(cut("  ·           "+step.Text, s.Width), Dim))
		}
	}
	return append(lines, "")
}

func progress(steps []Step) string {
	open := slices.IndexFunc(steps, func(step Step) bool { return !step.Done })
	done := 0
	for _, step := range steps {
		if step.Done {
			done++
		}
	}
	if open < 0 {
		return fmt.Sprintf("✓ all %d steps seen", done)
	}
	return fmt.Sprintf("▸ %d of %d steps seen, next: %s", done, len(steps), steps[open].Text)
}

func renderTable(t Table, s Style) []string {
	lines := []string{s.paint(cut(strings.ToUpper(t.Name), s.Width), bold)}
	if len(t.Rows) == 0 {
		return append(lines, s.tone(cut("  "+t.Empty, s.Width), Dim))
	}
	widths := columnWidths(t)
	head := make([]Cell, len(t.Header))
	for i, title := range t.Header {
		head[i] = Cell{Text: title, Tone: Dim}
	}
	lines = append(lines, renderRow(head, widths, s))
	for _, row := range t.Rows {
		lines = append(lines, renderRow(row, widths, s))
	}
	return lines
}

func columnWidths(t Table) []int {
	widths := make([]int, len(t.Header))
	for i, title := range t.Header {
		widths[i] = utf8.RuneCountInString(title)
	}
	for _, row := range t.Rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell.Text))
		}
	}
	return widths
}

// renderRow cuts at the right edge of the screen: the columns that say most come first.
func renderRow(row []Cell, widths []int, s Style) string {
	var b strings.Builder
	b.WriteString("  ")
	left := s.Width - 2
	for i, cell := range row {
		if left <= 0 {
			break
		}
		text := cut(pad(cell.Text, widths[i]), left)
		left -= utf8.RuneCountInString(text) + 2
		b.WriteString(s.tone(text, cell.Tone))
		if left > 0 && i < len(row)-1 {
			b.WriteString("  ")
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// renderFeeds shares the room among the feeds, the last lines of each. A feed that says little leaves its room to the
// others.
func renderFeeds(feeds []Feed, s Style, room int) []string {
	var lines []string
	for i, feed := range feeds {
		share := (room - len(lines)) / (len(feeds) - i)
		if share < 2 {
			continue
		}
		lines = append(lines, s.paint(cut(strings.ToUpper(feed.Name), s.Width), bold))
		if len(feed.Lines) == 0 {
			lines = append(lines, s.tone(cut("  nothing yet", s.Width), Dim))
		}
		for _, line := range feed.Lines[max(0, len(feed.Lines)-share+1):] {
			lines = append(lines, s.tone(cut("  "+clock(line.At)+"  "+line.Text, s.Width), line.Tone))
		}
	}
	return lines
}
