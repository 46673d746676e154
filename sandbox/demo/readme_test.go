package demo

import (
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// told is a line of the transcript in the README: a step, and when it was seen.
var told = regexp.MustCompile(`(?m)^  ✓ +[0-9.]+s  (.+)$`)

// TestTheFirstPageTellsThisStory holds the transcript in the README to the steps that the demo counts. Its times are those of
// the day on which it was taken.
func TestTheFirstPageTellsThisStory(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown, steps []string
	for _, line := range told.FindAllStringSubmatch(string(page), -1) {
		shown = append(shown, line[1])
	}
	for _, step := range NewChecklist(2).Steps {
		steps = append(steps, step.Text)
	}
	if diff := cmp.Diff(steps, shown); diff != "" {
		t.Errorf("the README shows other steps (-demo +README):\n%s", diff)
	}
}
