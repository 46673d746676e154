package plugin

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/duration"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
)

// spent is what a machine that is on has used since it went on. What is not known is absent, never zero.
type spent struct {
	Group string        `json:"group"`
	Slot  string        `json:"slot"`
	On    time.Duration `json:"-"`
	// OnSeconds is how long the machine has been on.
	OnSeconds int64    `json:"onSeconds"`
	Watts     *int32   `json:"watts,omitempty"`
	WattHours *float64 `json:"wattHours,omitempty"`
	Rate      *float64 `json:"hourlyRate,omitempty"`
	Cost      *float64 `json:"cost,omitempty"`
}

func (s *session) top() *cobra.Command {
	return &cobra.Command{
		Use: "top", Short: "Show which machines are on, for how long, and what that has cost since they went on", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := s.load(cmd.Context())
			if err != nil {
				return err
			}
			all := p.spent(s.clock.Now())
			if done, err := s.out.data(all); done {
				return err
			}
			s.printSpent(all)
			return nil
		},
	}
}

func (p *pool) spent(now time.Time) []spent {
	all := []spent{}
	for _, slot := range p.slots {
		since := slot.Status.PowerStateSince
		if slot.Status.PowerState != v2.PowerOn || since == nil {
			continue
		}
		on := now.Sub(since.Time)
		use := spent{Group: slot.Labels[v2.LabelGroup], Slot: slot.Name, On: on, OnSeconds: int64(on.Seconds()), Watts: slot.Spec.Watts}
		if use.Watts != nil {
			use.WattHours = new(float64(*use.Watts) * on.Hours())
		}
		if slot.Spec.Pricing != nil {
			if rate, err := strconv.ParseFloat(slot.Spec.Pricing.HourlyRate, 64); err == nil {
				use.Rate, use.Cost = &rate, new(rate*on.Hours())
			}
		}
		all = append(all, use)
	}
	return all
}

func (s *session) printSpent(all []spent) {
	if len(all) == 0 {
		s.out.say("No machine is on.")
		return
	}
	var rows [][]string
	var watts, wattHours, rate, cost float64
	for _, use := range all {
		row := []string{use.Slot, orDash(use.Group), duration.HumanDuration(use.On), "-", "-", "-", "-"}
		if use.Watts != nil {
			row[3], row[4] = fmt.Sprintf("%d", *use.Watts), fmt.Sprintf("%.0f", *use.WattHours)
			watts, wattHours = watts+float64(*use.Watts), wattHours+*use.WattHours
		}
		if use.Rate != nil {
			row[5], row[6] = fmt.Sprintf("%.4g", *use.Rate), fmt.Sprintf("%.2f", *use.Cost)
			rate, cost = rate+*use.Rate, cost+*use.Cost
		}
		rows = append(rows, row)
	}
	rows = append(rows, []string{"all", "", "", fmt.Sprintf("%.0f", watts), fmt.Sprintf("%.0f", wattHours), fmt.Sprintf("%.4g", rate), fmt.Sprintf("%.2f", cost)})
	s.out.table([]string{"SLOT", "GROUP", "ON", "WATTS", "WH", "RATE/H", "COST"}, rows)
}
