package metrics

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	described = regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: \{([a-z_,]*)\}`)
	mentioned = regexp.MustCompile(namespace + `_[a-z_]+`)
	parts     = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// TestEveryMetricThatIsUsedExists: alerts, dashboard and documentation name only what a scrape can tell.
func TestEveryMetricThatIsUsedExists(t *testing.T) {
	known := known(t)
	if len(known) < 30 {
		t.Fatalf("only %d metrics are known: %v", len(known), known)
	}
	for _, pattern := range []string{"monitoring/*", "docs/*.md", "docs/runbooks/*.md"} {
		files, err := filepath.Glob("../../" + pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range mentioned.FindAllString(string(text), -1) {
				if !known[name] && !known[parts.ReplaceAllString(name, "")] {
					t.Errorf("%s uses %s, which nothing tells", file, name)
				}
			}
		}
	}
}

// TestQueriesUseLabelsThatThereAre: a matcher on a label that a metric has not, and a grouping by one that nothing has,
// would find nothing and say nothing.
func TestQueriesUseLabelsThatThereAre(t *testing.T) {
	matchers := regexp.MustCompile(`(` + namespace + `_[a-z_]+)\{([^}]*)\}`)
	matcher := regexp.MustCompile(`([a-z_]+)(?:=~|!~|!=|=)`)
	grouping := regexp.MustCompile(`\b(?:by|on|ignoring) \(([a-z_, ]+)\)`)
	labels, anywhere := labelsOfAll(t), map[string]bool{"instance": true}
	for _, of := range labels {
		for label := range of {
			anywhere[label] = true
		}
	}
	checked := 0
	for _, file := range []string{"alerts.yaml", "dashboard.json"} {
		text, err := os.ReadFile("../../monitoring/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range matchers.FindAllStringSubmatch(strings.ReplaceAll(string(text), `\"`, `"`), -1) {
			of := labels[match[1]]
			if of == nil {
				of = labels[parts.ReplaceAllString(match[1], "")]
			}
			for _, label := range matcher.FindAllStringSubmatch(match[2], -1) {
				if checked++; !of[label[1]] {
					t.Errorf("%s asks %s for the label %s", file, match[1], label[1])
				}
			}
		}
		for _, match := range grouping.FindAllStringSubmatch(string(text), -1) {
			for label := range strings.SplitSeq(match[1], ",") {
				if checked++; !anywhere[strings.TrimSpace(label)] {
					t.Errorf("%s groups by the label %s", file, label)
				}
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d labels were checked", checked)
	}
}

// known are the names of all metrics, as the collectors describe them.
func known(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for name := range labelsOfAll(t) {
		names[name] = true
	}
	return names
}

// labelsOfAll are the labels of each metric, that of its namespace and of a histogram's buckets included.
func labelsOfAll(t *testing.T) map[string]map[string]bool {
	t.Helper()
	registry := &collecting{}
	if _, err := New(registry); err != nil {
		t.Fatal(err)
	}
	registry.MustRegister(NewState(nil), BuildInfo("v0"))
	if _, err := NewPolls(registry, nil, nil); err != nil {
		t.Fatal(err)
	}
	labels := map[string]map[string]bool{}
	for _, collector := range registry.collectors {
		descriptions := make(chan *prometheus.Desc, 100)
		collector.Describe(descriptions)
		close(descriptions)
		for description := range descriptions {
			match := described.FindStringSubmatch(description.String())
			if match == nil {
				t.Fatalf("%s is not read", description)
			}
			of := map[string]bool{"namespace": true, "le": true}
			for label := range strings.SplitSeq(match[2], ",") {
				of[label] = true
			}
			labels[match[1]] = of
		}
	}
	return labels
}

// collecting is a registry that only remembers.
type collecting struct{ collectors []prometheus.Collector }

func (c *collecting) Register(collector prometheus.Collector) error {
	c.collectors = append(c.collectors, collector)
	return nil
}

func (c *collecting) MustRegister(collectors ...prometheus.Collector) {
	c.collectors = append(c.collectors, collectors...)
}

func (c *collecting) Unregister(prometheus.Collector) bool { return false }

// TestEveryAlertHasARunbook: each alert names a page that exists, and each page belongs to an alert.
func TestEveryAlertHasARunbook(t *testing.T) {
	alerts, err := os.ReadFile("../../monitoring/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{"README": true}
	for _, match := range regexp.MustCompile(`runbook: (\S+)`).FindAllStringSubmatch(string(alerts), -1) {
		pages[match[1]] = true
	}
	if alert, runbook := strings.Count(string(alerts), "- alert: "), len(pages)-1; alert != runbook || alert == 0 {
		t.Errorf("%d alerts name %d runbooks", alert, runbook)
	}
	files, err := filepath.Glob("../../docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		page := strings.TrimSuffix(filepath.Base(file), ".md")
		if !pages[page] {
			t.Errorf("no alert names %s", file)
		}
		delete(pages, page)
	}
	for page := range pages {
		t.Errorf("there is no runbook %s", page)
	}
}
