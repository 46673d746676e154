package liveview

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"homecluster.dev/autoscaler/sandbox/golden"
)

// frame is two machines coming up, one of them further than the other.
func frame() Frame {
	return Frame{
		Title:   "homelab-autoscaler sandbox: 0 → 2 → 0",
		Elapsed: 12300 * time.Millisecond,
		Steps: []Step{
			{Text: "2 pods are unschedulable", Done: true, At: 2100 * time.Millisecond},
			{Text: "2 claims are booting"},
			{Text: "2 pods run on machines"},
		},
		Tables: []Table{
			{Name: "slots", Noun: "slot", Header: []string{"SLOT", "GROUP", "PHASE", "POWER", "CLAIM"}, Rows: [][]Cell{
				{{Text: "worker-1"}, {Text: "workers"}, {Text: "booting", Tone: Busy}, {Text: "off", Tone: Dim}, {Text: "worker-1-0a1b2c"}},
				{{Text: "worker-2"}, {Text: "workers"}, {Text: "ready", Tone: Good}, {Text: "on", Tone: Good}, {Text: "worker-2-3d4e5f"}},
			}},
			{Name: "pods", Noun: "pod", Header: []string{"POD", "PHASE"}, Empty: "no pods yet"},
		},
		Feeds: []Feed{
			{Name: "events", Noun: "event", Lines: []Line{
				{At: 3 * time.Second, Text: "ClaimCreated worker-1-0a1b2c: asked by cluster-autoscaler"},
				{At: 4 * time.Second, Text: "ClaimBooting worker-1-0a1b2c: committed"},
				{At: 65500 * time.Millisecond, Text: "ClaimFailed worker-1-0a1b2c: no kubelet", Tone: Bad},
			}},
			{Name: "power log", Noun: "power"},
		},
	}
}

func TestRender(t *testing.T) {
	tests := map[string]Style{
		"roomy":  {Width: 100, Height: 40},
		"color":  {Width: 100, Height: 40, Color: true},
		"low":    {Width: 80, Height: 14},
		"narrow": {Width: 34, Height: 40},
		"tiny":   {Width: 20, Height: 5},
	}
	for name, style := range tests {
		t.Run(name, func(t *testing.T) {
			lines := Render(frame(), style)
			golden.Compare(t, filepath.Join("testdata", name+".txt"), strings.Join(lines, "\n")+"\n")
			if len(lines) > style.Height {
				t.Errorf("%d lines on a screen of %d", len(lines), style.Height)
			}
			for _, line := range lines {
				if n := utf8.RuneCountInString(escapes.ReplaceAllString(line, "")); n > style.Width {
					t.Errorf("line of %d columns on a screen of %d: %q", n, style.Width, line)
				}
			}
		})
	}
}

var escapes = regexp.MustCompile("\x1b\\[[0-9]*m")

func TestNoHeightIsTooSmall(t *testing.T) {
	for height := range 30 {
		for width := range 60 {
			if n := len(Render(frame(), Style{Width: width, Height: height})); n > height {
				t.Fatalf("%d lines on a screen of %d", n, height)
			}
		}
	}
}

func TestChanges(t *testing.T) {
	later := func(change func(*Frame)) Frame {
		f := frame()
		f.Elapsed = 20 * time.Second
		change(&f)
		return f
	}
	tests := map[string]struct {
		prev, next Frame
		want       []string
	}{
		"the same frame says nothing": {prev: frame(), next: later(func(*Frame) {}), want: []string{}},
		"a changed cell says from what to what": {
			prev: frame(),
			next: later(func(f *Frame) { f.Tables[0].Rows[0][3].Text, f.Tables[0].Rows[0][4].Text = "on", "" }),
			want: []string{"   20.0s  slot   worker-1: power off → on, claim worker-1-0a1b2c → –"},
		},
		"a new row says what it has, a lost one that it is gone": {
			prev: frame(),
			next: later(func(f *Frame) {
				f.Tables[0].Rows = f.Tables[0].Rows[1:]
				f.Tables[1].Rows = [][]Cell{{{Text: "web-1"}, {Text: "Pending"}}}
			}),
			want: []string{"   20.0s  slot   worker-1: gone", "   20.0s  pod    web-1: phase Pending"},
		},
		"what happened comes once, at its own time, with steps in between": {
			prev: frame(),
			next: later(func(f *Frame) {
				f.Steps[1].Done, f.Steps[1].At = true, 15*time.Second
				f.Feeds[1].Add(Line{At: 16 * time.Second, Text: "worker-1 on"})
				f.Feeds[1].Add(Line{At: 14 * time.Second, Text: "worker-2 on\x1b[2J"})
			}),
			want: []string{"   14.0s  power  worker-2 on [2J", "   15.0s  step   ✓ 2 claims are booting", "   16.0s  power  worker-1 on"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, Changes(test.prev, test.next)); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFeedForgetsButDoesNotRepeat(t *testing.T) {
	var f Feed
	for range feedLength + 10 {
		f.Add(Line{})
	}
	if got := len(f.Lines); got != feedLength {
		t.Errorf("the feed keeps %d lines, want %d", got, feedLength)
	}
	if got := len(f.Since(feedLength + 7)); got != 3 {
		t.Errorf("%d lines since the last three, want 3", got)
	}
}

func TestATerminalIsRedrawnInPlace(t *testing.T) {
	var out bytes.Buffer
	v := &View{out: &out, size: func() (int, int) { return 40, 10 }}
	v.Show(Frame{Title: "one"})
	first := out.String()
	v.Show(Frame{Title: "two"})
	second := strings.TrimPrefix(out.String(), first)
	v.Close()
	if !strings.HasPrefix(first, "\x1b[?25l") || !strings.Contains(first, "one") {
		t.Errorf("first picture: %q", first)
	}
	if !strings.HasPrefix(second, "\x1b[1A\r") || !strings.Contains(second, "two") {
		t.Errorf("the second picture does not go back over the first: %q", second)
	}
	if !strings.HasSuffix(out.String(), "\x1b[?25h") {
		t.Errorf("the cursor is not given back: %q", out.String())
	}
}

func TestElsewhereThereAreLines(t *testing.T) {
	var out bytes.Buffer
	v := &View{out: &out}
	v.Show(Frame{Steps: []Step{{Text: "pods wait", Done: true, At: time.Second}}})
	v.Show(Frame{Steps: []Step{{Text: "pods wait", Done: true, At: time.Second}}})
	if want := "    1.0s  step   ✓ pods wait\n"; out.String() != want {
		t.Errorf("lines %q, want %q", out.String(), want)
	}
}
