package docs

import (
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func pages(t *testing.T) map[string]*Page {
	t.Helper()
	read, err := Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(read) < 30 {
		t.Fatalf("only %d pages were read", len(read))
	}
	return read
}

// TestLinksLeadSomewhere: each relative link names a file of the repository and, after #, a heading of that page.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	links := 0
	for name, page := range all {
		for _, link := range page.Links {
			if err := follow(all, name, link.To); err != nil {
				t.Errorf("%s:%d: %v", name, link.Line, err)
			}
			links++
		}
	}
	if links < 80 {
		t.Errorf("only %d links were followed", links)
	}
}

// follow says what is wrong with a link of a page.
func follow(all map[string]*Page, from, link string) error {
	to, err := url.Parse(link)
	if err != nil {
		return err
	}
	if to.Scheme != "" {
		if to.Scheme != "https" || to.Host == "" {
			return fmt.Errorf("%s is not a link by https", link)
		}
		return nil
	}
	target := from
	if to.Path != "" {
		target = path.Join(path.Dir(from), to.Path)
	}
	if path.IsAbs(to.Path) || strings.HasPrefix(target, "../") {
		return fmt.Errorf("%s leaves the repository", link)
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return fmt.Errorf("%s leads nowhere", link)
	}
	if to.Fragment == "" {
		return nil
	}
	page := all[target]
	if page == nil {
		return fmt.Errorf("%s names a heading of what is no page", link)
	}
	for _, heading := range page.Headings {
		if heading.Anchor == to.Fragment {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading #%s", target, to.Fragment)
}

func TestABadLinkIsFound(t *testing.T) {
	all := map[string]*Page{
		"docs/install.md": {Headings: []Heading{{Anchor: "there"}}},
		"docs/power.md":   {},
	}
	for name, test := range map[string]struct {
		link string
		want string
	}{
		"no such file":           {"nowhere.md", "nowhere.md leads nowhere"},
		"no such heading":        {"install.md#here", "docs/install.md has no heading #here"},
		"no such heading here":   {"#here", "docs/power.md has no heading #here"},
		"a heading of no page":   {"../go.mod#here", "../go.mod#here names a heading of what is no page"},
		"out of the repository":  {"../../go.mod", "../../go.mod leaves the repository"},
		"from the root":          {"/go.mod", "/go.mod leaves the repository"},
		"not encrypted":          {"http://example.org", "http://example.org is not a link by https"},
		"a heading":              {"../docs/install.md#there", "<nil>"},
		"a folder":               {"adr", "<nil>"},
		"a page of somebody":     {"https://example.org/a#b", "<nil>"},
		"a file that is no page": {"../go.mod", "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprint(follow(all, "docs/power.md", test.link)); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// TestEveryPageIsFoundFromTheFirst: whoever begins with the README gets to every page by links alone.
func TestEveryPageIsFoundFromTheFirst(t *testing.T) {
	all := pages(t)
	seen, next := map[string]bool{"README.md": true}, []string{"README.md"}
	for len(next) > 0 {
		from := next[0]
		next = next[1:]
		for _, link := range all[from].Links {
			file, _, _ := strings.Cut(link.To, "#")
			to := path.Join(path.Dir(from), file)
			if all[to] == nil {
				to = path.Join(to, "README.md")
			}
			if all[to] != nil && !seen[to] {
				seen[to], next = true, append(next, to)
			}
		}
	}
	for name := range all {
		if !seen[name] && name != "AGENTS.md" {
			t.Errorf("no link leads to %s", name)
		}
	}
}

func TestAnchorsAreThoseOfAForge(t *testing.T) {
	for heading, want := range map[string]string{
		"DeadlineExceeded":                          "deadlineexceeded",
		"A boot ends with X, and no kubelet":        "a-boot-ends-with-x-and-no-kubelet",
		"What happened last night?":                 "what-happened-last-night",
		"k3s: `--node-label` & more":                "k3s---node-label--more",
		"Übergröße_2":                               "übergröße_2",
		"https://example.org/a.b":                   "httpsexampleorgab",
		"  blanks around are nobody's business    ": "blanks-around-are-nobodys-business",
	} {
		if got := Anchor(heading); got != want {
			t.Errorf("%q is at #%s, want #%s", heading, got, want)
		}
	}
}
