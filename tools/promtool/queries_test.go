// Package promtool_test reads every query of the dashboard as Prometheus does. It stands here because the parser comes with
// promtool, and nothing else needs it.
package promtool_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

// TestPrometheusUnderstandsTheDashboardsQueries: with Grafana's variables filled in, each query is PromQL.
func TestPrometheusUnderstandsTheDashboardsQueries(t *testing.T) {
	text, err := os.ReadFile("../../monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	filled := strings.NewReplacer("$namespace", "home", "$group", "arm", "$__range", "1h")
	read := 0
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			read++
			expr := filled.Replace(target.Expr)
			if strings.Contains(expr, "$") {
				t.Errorf("%s: a variable that Grafana does not know: %s", panel.Title, expr)
			}
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(expr); err != nil {
				t.Errorf("%s: %v: %s", panel.Title, err, expr)
			}
		}
	}
	if read < 20 {
		t.Errorf("only %d queries were read", read)
	}
}
