package main

import (
	"encoding/json"
	"errors"
	"os"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// strictly reads a dashboard with the panels and queries that ours has. The reader answers an empty list of errors where it
// found none in some values.
func strictly(into *dashboard.Dashboard, text []byte) error {
	known := cog.NewRuntime()
	known.RegisterDataqueryVariant(prometheus.VariantConfig())
	known.RegisterPanelcfgVariant(stat.VariantConfig())
	known.RegisterPanelcfgVariant(statetimeline.VariantConfig())
	known.RegisterPanelcfgVariant(timeseries.VariantConfig())
	err := into.UnmarshalJSONStrict(text)
	var faults cog.BuildErrors
	if errors.As(err, &faults) && len(faults) == 0 {
		return nil
	}
	return err
}

// TestTheDashboardIsOneByGrafanasSchema reads what is committed as strictly as Grafana's own types allow: no unknown field,
// no missing one, no value out of bounds.
func TestTheDashboardIsOneByGrafanasSchema(t *testing.T) {
	text, err := os.ReadFile("../../monitoring/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var committed dashboard.Dashboard
	if err := strictly(&committed, text); err != nil {
		t.Fatal(err)
	}
	if err := committed.Validate(); err != nil {
		t.Fatal(err)
	}
	if len(committed.Panels) < 10 {
		t.Errorf("%d panels", len(committed.Panels))
	}
}

// TestTheSchemaIsStrict shows that the check above can fail.
func TestTheSchemaIsStrict(t *testing.T) {
	built, err := build().Build()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(built)
	if err != nil {
		t.Fatal(err)
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	fields["panel"] = []any{}
	if text, err = json.Marshal(fields); err != nil {
		t.Fatal(err)
	}
	if err := strictly(&dashboard.Dashboard{}, text); err == nil {
		t.Error("a field that no dashboard has is taken")
	}
}
