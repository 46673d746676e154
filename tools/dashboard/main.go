// Dashboard writes the Grafana dashboard to standard output. Grafana's own typed builders make it, so that what is written
// fits its schema; they live in a module of their own, since nothing else needs them.
//
// The builders of the older form are used on purpose: every Grafana in use imports it.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	board, err := build().Build()
	if err != nil {
		return fmt.Errorf("building the dashboard: %w", err)
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(board); err != nil {
		return fmt.Errorf("writing the dashboard: %w", err)
	}
	return nil
}

// operators narrows a query to the namespace that is chosen on top of the dashboard, and mine to the groups as well.
const (
	operators = `namespace=~"$namespace"`
	mine      = operators + `,group=~"$group"`
)

func build() *dashboard.DashboardBuilder {
	b := dashboard.NewDashboardBuilder("homelab-autoscaler").Uid("homelab-autoscaler").
		Description("Machines that are switched on when pods need them and off when they do not.").
		Tags([]string{"kubernetes", "homelab-autoscaler"}).Refresh("30s").Time("now-24h", "now").Timezone("browser").
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		WithVariable(dashboard.NewQueryVariableBuilder("namespace").Label("Namespace").Datasource(source()).
			Query(dashboard.StringOrMap{String: cog.ToPtr("label_values(homelab_autoscaler_leader, namespace)")}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged)).
		WithVariable(dashboard.NewQueryVariableBuilder("group").Label("Group").Datasource(source()).
			Query(dashboard.StringOrMap{String: cog.ToPtr(`label_values(homelab_autoscaler_group_slots{` + operators + `}, group)`)}).
			Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Multi(true).IncludeAll(true))
	now(b)
	machines(b)
	switches(b)
	boots(b)
	cost(b)
	operator(b)
	return b
}

func source() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("$datasource")}
}

func query(expr, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().Datasource(source()).Expr(expr).LegendFormat(legend)
}

// number is a panel that shows one figure, coloured if there is any.
func number(title, description, expr, colour string) *stat.PanelBuilder {
	return stat.NewPanelBuilder().Title(title).Description(description).Datasource(source()).Height(4).Span(4).Unit("none").
		WithTarget(query(expr, "")).NoValue("0").
		Thresholds(dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps([]dashboard.Threshold{
			{Color: "text"}, {Color: colour, Value: cog.ToPtr(1.0)},
		}))
}

func graph(title, description, unit string, span uint32, queries ...*prometheus.DataqueryBuilder) *timeseries.PanelBuilder {
	panel := timeseries.NewPanelBuilder().Title(title).Description(description).Datasource(source()).Height(8).Span(span).
		Unit(unit).Min(0).FillOpacity(10)
	for _, q := range queries {
		panel.WithTarget(q)
	}
	return panel
}

func now(b *dashboard.DashboardBuilder) {
	b.WithRow(dashboard.NewRowBuilder("Now")).
		WithPanel(number("Wanted", "Machines that a live claim wants.", `sum(homelab_autoscaler_slot_wanted{`+mine+`})`, "blue")).
		WithPanel(number("Ready", "Machines that are up and usable.", `sum(homelab_autoscaler_group_ready{`+mine+`})`, "green")).
		WithPanel(number("Offerable", "Slots that could be handed out now.", `sum(homelab_autoscaler_group_offerable{`+mine+`})`, "blue")).
		WithPanel(number("Cooling off", "Slots that are kept back because their boots failed.", `sum(homelab_autoscaler_slot_cooling_off{`+mine+`})`, "red")).
		WithPanel(number("Unclaimed", "Machines that are on though nobody wants them.", `sum(homelab_autoscaler_slot_unclaimed{`+mine+`})`, "orange")).
		WithPanel(number("Held", "Slots that are held by a person or by Git.", `sum(homelab_autoscaler_slot_held{`+mine+`})`, "yellow"))
}

// phases of a slot as the numbers that the timeline maps back to words, each with its colour.
var phases = []struct{ name, colour string }{{"off", "dark-blue"}, {"pending", "yellow"}, {"booting", "orange"}, {"ready", "green"}, {"draining", "purple"}}

func machines(b *dashboard.DashboardBuilder) {
	expr, mapping := "", dashboard.NewValueMap()
	for i, phase := range phases {
		if i > 0 {
			if expr != "" {
				expr += " + ignoring (phase) "
			}
			expr += fmt.Sprintf("%d * homelab_autoscaler_slot_phase{%s,phase=%q}", i, mine, phase.name)
		}
		mapping.Options[fmt.Sprint(i)] = dashboard.ValueMappingResult{Text: &phase.name, Color: &phase.colour, Index: cog.ToPtr(int32(i))}
	}
	b.WithRow(dashboard.NewRowBuilder("Machines")).
		WithPanel(statetimeline.NewPanelBuilder().Title("Phase of each machine").Datasource(source()).Height(10).Span(24).
			Description("What each slot was doing. Off is on purpose: nobody wanted the machine.").
			Mappings([]dashboard.ValueMapping{{ValueMap: mapping}}).ShowValue(common.VisibilityModeNever).
			WithTarget(query("max by (slot) ("+expr+")", "{{slot}}"))).
		WithPanel(graph("Target and ready", "What cluster-autoscaler was told, and what there was.", "none", 12,
			query(`sum by (group) (homelab_autoscaler_group_target_size{`+mine+`})`, "{{group}} target"),
			query(`sum by (group) (homelab_autoscaler_group_ready{`+mine+`})`, "{{group}} ready"))).
		WithPanel(graph("Shutdown attempts", "Shutdown Jobs that started for a machine that still shows life. Three are followed by a pause.", "none", 12,
			query(`max by (slot) (homelab_autoscaler_slot_shutdown_attempts{`+mine+`})`, "{{slot}}")))
}

func switches(b *dashboard.DashboardBuilder) {
	b.WithRow(dashboard.NewRowBuilder("Power switches")).
		WithPanel(graph("Age of the readings",
			"Since when nothing new was saved of what a machine's own switch says. More than five minutes count for nothing.", "s", 8,
			query(`max by (slot) (time() - homelab_autoscaler_slot_power_reading_timestamp_seconds{`+mine+`})`, "{{slot}}"))).
		WithPanel(graph("Rounds that came to nothing", "Rounds of asking a switch in which it could not be read, by what came of them.", "none", 8,
			query(`sum by (slot, result) (increase(homelab_autoscaler_power_polls_total{`+mine+`,result!="read"}[1h])) > 0`, "{{slot}} {{result}}"))).
		WithPanel(graph("Conflicts", "Machines whose switch says off while their kubelet reports.", "none", 8,
			query(`max by (slot) (homelab_autoscaler_slot_power_conflict{`+mine+`}) > 0`, "{{slot}}")))
}

func boots(b *dashboard.DashboardBuilder) {
	b.WithRow(dashboard.NewRowBuilder("Boots")).
		WithPanel(graph("Time to ready", "From the request for a machine to its readiness, 95th percentile, beside the time it has.", "s", 12,
			query(`histogram_quantile(0.95, sum by (group, le) (rate(homelab_autoscaler_boot_seconds_bucket{`+mine+`,outcome="ready"}[$__range])))`, "{{group}} p95"),
			query(`max by (group) (homelab_autoscaler_group_budget_seconds{`+mine+`})`, "{{group}} budget"))).
		WithPanel(graph("Part of the budget used", "The median boot, as a part of the time it had.", "percentunit", 6,
			query(`histogram_quantile(0.5, sum by (group, le) (rate(homelab_autoscaler_boot_budget_ratio_bucket{`+mine+`}[$__range])))`, "{{group}}"))).
		WithPanel(graph("Claims that ended", "By reason; without one, the machine was given back in good order.", "none", 6,
			query(`sum by (phase, reason) (increase(homelab_autoscaler_claims_finished_total{`+mine+`}[1h]))`, "{{phase}} {{reason}}")))
}

func cost(b *dashboard.DashboardBuilder) {
	b.WithRow(dashboard.NewRowBuilder("Cost")).
		WithPanel(graph("Machines on", "Machines whose kubelet or power switch says that they are on.", "none", 8,
			query(`sum by (group) (homelab_autoscaler_slot_power_state{`+mine+`,state="on"})`, "{{group}}"))).
		WithPanel(graph("Energy a day", "Hours on times spec.watts, over the last 24 hours.", "watth", 8,
			query(perDay("homelab_autoscaler_slot_watts"), "{{slot}}"))).
		WithPanel(graph("Cost a day", "Hours on times spec.pricing.hourlyRate, over the last 24 hours.", "none", 8,
			query(perDay("homelab_autoscaler_slot_hourly_rate"), "{{slot}}")))
}

// perDay is what each slot used in the last day of something that it uses by the hour.
func perDay(byHour string) string {
	return `sum by (slot) (increase(homelab_autoscaler_slot_on_seconds_total{` + mine + `}[1d]) / 3600 * on (namespace, group, slot, instance) ` + byHour + `)`
}

func operator(b *dashboard.DashboardBuilder) {
	b.WithRow(dashboard.NewRowBuilder("Operator")).
		WithPanel(graph("cluster-autoscaler's calls", "By gRPC code.", "reqps", 8,
			query(`sum by (code) (rate(homelab_autoscaler_provider_rpc_seconds_count{`+operators+`}[5m]))`, "{{code}}"))).
		WithPanel(graph("Time to answer", "99th percentile by call.", "s", 8,
			query(`histogram_quantile(0.99, sum by (method, le) (rate(homelab_autoscaler_provider_rpc_seconds_bucket{`+operators+`}[5m])))`, "{{method}}"))).
		WithPanel(graph("Power Jobs", "Jobs that ended, by operation and outcome.", "none", 8,
			query(`sum by (operation, outcome) (increase(homelab_autoscaler_lifecycle_jobs_finished_total{`+mine+`}[1h]))`, "{{operation}} {{outcome}}")))
}
