package liveview

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// View shows frames on a file: redrawn in place where it is a terminal, as lines of change elsewhere.
type View struct {
	out io.Writer
	// size is the terminal's, asked for at every frame because a window can be resized; nil: not a terminal.
	size  func() (width, height int)
	color bool

	mu    sync.Mutex
	last  Frame
	drawn int
}

// New is a view on the writer. Plain forces lines of change on a terminal too. NO_COLOR is respected.
func New(out io.Writer, plain bool) *View {
	v := &View{out: out}
	file, isFile := out.(*os.File)
	if !plain && isFile && term.IsTerminal(int(file.Fd())) && os.Getenv("TERM") != "dumb" {
		v.color = os.Getenv("NO_COLOR") == ""
		v.size = func() (int, int) { return sizeOf(file) }
	}
	return v
}

// sizeOf is the size of the terminal, or the size every terminal once had.
func sizeOf(out *os.File) (int, int) {
	width, height, err := term.GetSize(int(out.Fd()))
	if err != nil || width <= 0 || height <= 0 {
		return 80, 24
	}
	return width, height
}

// Live is whether frames are redrawn in place.
func (v *View) Live() bool { return v.size != nil }

// Show brings the view up to the frame.
func (v *View) Show(f Frame) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.Live() {
		v.draw(f)
	} else {
		for _, line := range Changes(v.last, f) {
			_, _ = fmt.Fprintln(v.out, line)
		}
	}
	v.last = f
}

// draw goes back to the first line of the last picture and writes over it. One write, so that nothing flickers.
func (v *View) draw(f Frame) {
	width, height := v.size()
	// The last line of the terminal stays free for the cursor: writing into it would scroll.
	lines := Render(f, Style{Width: width, Height: height - 1, Color: v.color})
	var b strings.Builder
	if v.drawn == 0 {
		b.WriteString("\x1b[?25l")
	} else {
		// A picture higher than the window (it was made smaller) has scrolled away as far as it could.
		fmt.Fprintf(&b, "\x1b[%dA\r", min(v.drawn, height-1))
	}
	for _, line := range lines {
		b.WriteString(line + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	v.drawn = len(lines)
	_, _ = io.WriteString(v.out, b.String())
}

// Close leaves the last picture standing and gives the cursor back. The view may be shown again.
func (v *View) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.drawn > 0 {
		_, _ = io.WriteString(v.out, "\x1b[?25h")
		v.drawn = 0
	}
}
