package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/yaml"
)

// printer writes in the format that was asked for.
type printer struct {
	io.Writer
	format string
}

func (p *printer) check() error {
	switch p.format {
	case "", "table", "wide", "json", "yaml":
		return nil
	}
	return fmt.Errorf("unknown output format %q: use table, wide, json or yaml", p.format)
}

// data writes a value for machines, and says whether that was what was asked for.
func (p *printer) data(value any) (bool, error) {
	var text []byte
	var err error
	switch p.format {
	case "json":
		text, err = json.MarshalIndent(value, "", "  ")
		text = append(text, '\n')
	case "yaml":
		text, err = yaml.Marshal(value)
	default:
		return false, nil
	}
	if err != nil {
		return true, fmt.Errorf("writing %s: %w", p.format, err)
	}
	_, err = p.Write(text)
	return true, err
}

func (p *printer) wide() bool { return p.format == "wide" }

func (p *printer) say(format string, args ...any) {
	_, _ = fmt.Fprintf(p, format+"\n", args...)
}

// table writes rows under a header, aligned as kubectl does.
func (p *printer) table(header []string, rows [][]string) {
	w := tabwriter.NewWriter(p, 0, 8, 3, ' ', 0)
	_, _ = fmt.Fprintln(w, strings.Join(header, "\t"))
	for _, row := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	_ = w.Flush()
}

// terminal is whether a person looks at the output, who may like a screen that is drawn anew.
func (p *printer) terminal() bool {
	file, ok := p.Writer.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colour paints text for a person who has not said NO_COLOR, and leaves it alone for a pipe.
func (p *printer) colour(code, text string) string {
	if !p.terminal() || os.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

const (
	bold   = "1"
	red    = "31"
	green  = "32"
	yellow = "33"
)

// ago is a span as kubectl writes ages; "-" when the start is not known.
func ago(since, now time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return duration.HumanDuration(now.Sub(since))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
