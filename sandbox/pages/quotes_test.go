package pages

import (
	"bufio"
	"os"
	"regexp"
	"strings"
	"testing"
)

// row is a row of a page's table of last lines: what it quotes, and what to look at.
var row = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| ")

// elsewhere are the sources and tests that hold the words of lines that the table of lies does not have.
var elsewhere = []string{
	"../../internal/power/ipmi/ipmi.go", "../../internal/power/redfish/redfish.go", "../../internal/power/web/web.go",
	"../../internal/power/plug/status.go", "../../internal/power/plug/plug.go", "../../internal/power/shell/hosts.go",
	"../../internal/power/shell/shell_test.go", "../../internal/power/cli/run_test.go", "../bmc/testdata/lies.txt",
}

// TestWhatThePagesQuoteIsSaid holds the quotes of last lines to what the program power says.
func TestWhatThePagesQuoteIsSaid(t *testing.T) {
	var said strings.Builder
	for _, file := range elsewhere {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		said.Write(text)
	}
	quotes := 0
	for file, text := range texts(t) {
		_, table, found := strings.Cut(text, "## What it says when it does not work")
		if !found {
			continue
		}
		for _, quote := range row.FindAllStringSubmatch(table, -1) {
			quotes++
			if !strings.Contains(said.String(), quote[1]) {
				t.Errorf("%s quotes %q, which nothing says", file, quote[1])
			}
		}
	}
	if quotes < 20 {
		t.Errorf("only %d quotes were found", quotes)
	}
}

var link = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]+))?\)`)

// TestLinksLeadSomewhere follows the links of the pages about switches, to files and headings.
func TestLinksLeadSomewhere(t *testing.T) {
	for file, text := range texts(t) {
		folder := file[:strings.LastIndex(file, "/")+1]
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			target, heading := folder+found[1], found[2]
			if found[1] == "" {
				target = file
			}
			there, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s links to %s: %v", file, found[1], err)
			} else if heading != "" && !headings(string(there))[heading] {
				t.Errorf("%s links to %s, which has no heading %s", file, target, heading)
			}
		}
	}
}

// headings are the anchors of a page.
func headings(text string) map[string]bool {
	anchors := map[string]bool{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if title := strings.TrimLeft(lines.Text(), "#"); title != lines.Text() {
			var b strings.Builder
			for _, r := range strings.ToLower(strings.TrimSpace(title)) {
				switch {
				case r == ' ':
					b.WriteByte('-')
				case r == '-' || r == '_' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
					b.WriteRune(r)
				}
			}
			anchors[b.String()] = true
		}
	}
	return anchors
}
