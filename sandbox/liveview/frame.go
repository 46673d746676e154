package liveview

import "time"

// Frame is everything there is to see at one moment.
type Frame struct {
	Title   string
	Elapsed time.Duration
	Steps   []Step
	Tables  []Table
	Feeds   []Feed
}

// Step is one line of the checklist.
type Step struct {
	Text string
	Done bool
	// At is when it was done, counted from the start.
	At time.Duration
}

// Tone is what a cell means, shown as a colour where there are colours.
type Tone int

// The tones.
const (
	Plain Tone = iota
	// Good is as it should be, Busy on its way, Bad wrong, Dim at rest.
	Good
	Busy
	Bad
	Dim
)

// Cell is one value of a table.
type Cell struct {
	Text string
	Tone Tone
}

// Table is things of one kind, one per row. The first cell of a row names the thing.
type Table struct {
	// Name is the kind, Noun one of it: "slots", "slot".
	Name, Noun string
	Header     []string
	Rows       [][]Cell
	// Empty is said when there are no rows.
	Empty string
}

// Line is something that happened.
type Line struct {
	At   time.Duration
	Text string
	Tone Tone
}

// Feed is what happened, oldest first. It may have dropped its oldest lines, but remembers how many.
type Feed struct {
	Name, Noun string
	Lines      []Line
	Dropped    int
}

// feedLength is how many lines a feed keeps.
const feedLength = 400

// Add appends what happened.
func (f *Feed) Add(line Line) {
	f.Lines = append(f.Lines, line)
	if surplus := len(f.Lines) - feedLength; surplus > 0 {
		f.Lines = append([]Line(nil), f.Lines[surplus:]...)
		f.Dropped += surplus
	}
}

// Since are the lines that came after the first n.
func (f Feed) Since(n int) []Line { return f.Lines[min(max(n-f.Dropped, 0), len(f.Lines)):] }

// Total is how many lines there ever were.
func (f Feed) Total() int { return f.Dropped + len(f.Lines) }
