package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestPollsAreToldForAsLongAsThereIsALine(t *testing.T) {
	polled := []Polled{{Group: "arm", Slot: "n1", Rounds: map[string]float64{"read": 3}, Failed: 0}, {Group: "arm", Slot: "n2", Rounds: map[string]float64{"unreachable": 2}, Failed: 2}}
	registry := prometheus.NewRegistry()
	polls, err := NewPolls(Of("home", registry), []string{"read", "unreachable"}, func() []Polled { return polled })
	if err != nil {
		t.Fatal(err)
	}
	polls.Took("ipmi", "read", 20*time.Millisecond)
	want := `
# HELP homelab_autoscaler_power_polls_failed_in_a_row Rounds in a row in which the slot's power switch could not be read.
# TYPE homelab_autoscaler_power_polls_failed_in_a_row gauge
homelab_autoscaler_power_polls_failed_in_a_row{group="arm",namespace="home",slot="n1"} 0
homelab_autoscaler_power_polls_failed_in_a_row{group="arm",namespace="home",slot="n2"} 2
# HELP homelab_autoscaler_power_polls_total Rounds of asking the slot's power switch, by what came of them.
# TYPE homelab_autoscaler_power_polls_total counter
homelab_autoscaler_power_polls_total{group="arm",namespace="home",result="read",slot="n1"} 3
homelab_autoscaler_power_polls_total{group="arm",namespace="home",result="unreachable",slot="n1"} 0
homelab_autoscaler_power_polls_total{group="arm",namespace="home",result="read",slot="n2"} 0
homelab_autoscaler_power_polls_total{group="arm",namespace="home",result="unreachable",slot="n2"} 2
`
	names := []string{"homelab_autoscaler_power_polls_total", "homelab_autoscaler_power_polls_failed_in_a_row"}
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), names...); err != nil {
		t.Error(err)
	}
	polled = nil
	if n, err := testutil.GatherAndCount(registry, names...); err != nil || n != 0 {
		t.Errorf("%d series outlive their slots, %v", n, err)
	}
	if n, err := testutil.GatherAndCount(registry, "homelab_autoscaler_power_poll_seconds"); err != nil || n != 1 {
		t.Errorf("%d series of the time it took, %v", n, err)
	}
}
