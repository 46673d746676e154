package liveview

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Style is how wide and high the picture may be, and whether it has colours.
type Style struct {
	Width, Height int
	Color         bool
}

const (
	bold  = "\x1b[1m"
	reset = "\x1b[0m"
)

var colors = map[Tone]string{Good: "\x1b[32m", Busy: "\x1b[33m", Bad: "\x1b[31m", Dim: "\x1b[2m"}

// paint colours text that has already been cut to its width, so that no escape is ever cut in two.
func (s Style) paint(text string, code string) string {
	if !s.Color || code == "" || text == "" {
		return text
	}
	return code + text + reset
}

func (s Style) tone(text string, tone Tone) string { return s.paint(text, colors[tone]) }

// cut is the text in at most width columns, the loss marked.
func cut(text string, width int) string {
	text = strings.Map(printable, text)
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	if width <= 1 {
		return strings.Repeat("…", max(width, 0))
	}
	return string([]rune(text)[:width-1]) + "…"
}

// printable keeps what others wrote from steering the terminal.
func printable(r rune) rune {
	if r < ' ' || r == 0x7f {
		return ' '
	}
	return r
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text)))
}

// clock is an elapsed time, right-aligned to eight columns.
func clock(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%7.1fs", d.Seconds())
	}
	return fmt.Sprintf("%2dm%02d.%ds", int(d.Minutes()), int(d.Seconds())%60, d.Milliseconds()%1000/100)
}
