package pages

import (
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
