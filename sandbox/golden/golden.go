// Package golden holds what tests print to files that are checked in. With -rewrite a test writes its files anew, to be read
// before they are committed.
package golden

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew, to be read before they are committed")

// Compare demands that a text is what the file holds.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("it differs from %s; -rewrite writes it anew (-want +got):\n%s", file, diff)
	}
}
