package controlplane

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// meter reads what `go build -v` says, one package a line as its compilation begins, and tells a person how far it is:
// a line that is rewritten on a terminal, a line now and then elsewhere.
type meter struct {
	out      io.Writer
	what     string
	total    int
	terminal bool
	begun    time.Time

	mu       sync.Mutex
	partial  []byte
	compiled int
	other    []string // what is not a package's name: compilers' complaints
}

// How often progress is told: on a terminal for the eye, elsewhere for a log that somebody reads afterwards.
const (
	onTerminal = time.Second
	elsewhere  = 30 * time.Second
)

func newMeter(out io.Writer, what string, total int) *meter {
	file, ok := out.(*os.File)
	return &meter{
		out: out, what: what, total: total, begun: time.Now(),
		terminal: ok && term.IsTerminal(int(file.Fd())),
	}
}

// Write takes the build's standard error.
func (m *meter) Write(text []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.partial = append(m.partial, text...)
	for {
		line, rest, found := bytes.Cut(m.partial, []byte("\n"))
		if !found {
			return len(text), nil
		}
		m.partial = rest
		if s := string(line); s != "" && !strings.ContainsAny(s, "# \t:") {
			m.compiled++
		} else {
			m.other = append(m.other, s)
		}
	}
}

// start tells progress until the returned function is called.
func (m *meter) start() func() {
	say(m.out, "building %s: %d packages if none is compiled yet; this happens once", m.what, m.total)
	every := elsewhere
	if m.terminal {
		every = onTerminal
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
				m.tell()
			}
		}
	}()
	return func() {
		close(quit)
		<-ended
		if m.terminal {
			m.rewrite("") // whatever is said next begins on a line of its own
		}
	}
}

func (m *meter) tell() {
	m.mu.Lock()
	line := fmt.Sprintf("building %s: %d of at most %d packages, %s", m.what, m.compiled, m.total, m.elapsed())
	m.mu.Unlock()
	if m.terminal {
		m.rewrite(line)
		return
	}
	say(m.out, "%s", line)
}

// rewrite replaces the terminal's last line.
func (m *meter) rewrite(line string) { _, _ = fmt.Fprint(m.out, "\r\x1b[K"+line) }

func (m *meter) done() {
	m.mu.Lock()
	defer m.mu.Unlock()
	say(m.out, "built %s in %s (%d packages compiled)", m.what, m.elapsed(), m.compiled)
}

func (m *meter) elapsed() time.Duration { return time.Since(m.begun).Round(time.Second) }

// complaints is what the compilers and the linker said.
func (m *meter) complaints() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := append(m.other, string(m.partial))
	return strings.Join(lines[max(0, len(lines)-tailLines):], "\n")
}

// say writes one line if anybody listens.
func say(out io.Writer, format string, args ...any) {
	if out != nil {
		_, _ = fmt.Fprintf(out, format+"\n", args...) // nobody is owed progress
	}
}
