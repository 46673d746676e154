package plugin

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"

	v2 "homecluster.dev/autoscaler/api/v2alpha1"
	"homecluster.dev/autoscaler/internal/core/facts"
)

// glance is one slot in the status table.
type glance struct {
	Group    string        `json:"group"`
	Slot     string        `json:"slot"`
	Phase    v2.SlotPhase  `json:"phase"`
	Power    v2.PowerState `json:"power"`
	Since    *time.Time    `json:"since,omitempty"`
	Claim    string        `json:"claim,omitempty"`
	AskedBy  string        `json:"askedBy,omitempty"`
	Attempt  int32         `json:"attempt,omitempty"`
	KubeNode string        `json:"kubeNode"`
	Notes    []string      `json:"notes,omitempty"`
}

func (s *session) status() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show the pool at a glance", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := s.load(cmd.Context())
			if err != nil {
				return err
			}
			return s.printStatus(p)
		},
	}
}

func (s *session) printStatus(p *pool) error {
	glances := p.glances(s.clock.Now())
	if done, err := s.out.data(glances); done {
		return err
	}
	if len(glances) == 0 {
		s.out.say("There is no slot here%s.", strings.TrimPrefix(p.hint(), ", nor any other"))
		return nil
	}
	for i := range p.groups {
		g := &p.groups[i]
		s.out.say("%s %d ready of %d wanted, %d more to offer, %d slots", s.out.colour(bold, g.Name+":"),
			g.Status.Ready, g.Status.TargetSize, g.Status.Offerable, g.Status.Slots)
	}
	header := []string{"SLOT", "GROUP", "PHASE", "POWER", "FOR", "CLAIM", "NOTES"}
	if s.out.wide() {
		header = []string{"SLOT", "GROUP", "PHASE", "POWER", "FOR", "CLAIM", "ASKED-BY", "ATTEMPT", "KUBENODE", "NOTES"}
	}
	var rows [][]string
	for _, g := range glances {
		rows = append(rows, s.row(g))
	}
	s.out.table(header, rows)
	return nil
}

func (s *session) row(g glance) []string {
	since := "-"
	if g.Since != nil {
		since = ago(*g.Since, s.clock.Now())
	}
	notes := orDash(strings.Join(g.Notes, ", "))
	row := []string{g.Slot, orDash(g.Group), string(g.Phase), string(g.Power), since, orDash(g.Claim)}
	if s.out.wide() {
		row = append(row, orDash(g.AskedBy), fmt.Sprint(g.Attempt), g.KubeNode)
	}
	return append(row, notes)
}

// noted are the conditions of a slot that a person wants to know of when they are true.
var noted = []struct{ kind, word string }{
	{v2.ConditionHeld, "held"}, {v2.ConditionCoolingOff, "cooling off"}, {v2.ConditionUnclaimedMachine, "nobody wants it"},
	{v2.ConditionGroupMissing, "group missing"}, {v2.ConditionProviderIDMismatch, "other providerID"},
	{v2.ConditionCapacityDrift, "offers less than declared"}, {v2.ConditionPowerConflict, "kubelet and switch disagree"},
}

func (p *pool) glances(now time.Time) []glance {
	glances := []glance{}
	for _, slot := range p.slots {
		g := glance{Group: slot.Labels[v2.LabelGroup], Slot: slot.Name, Phase: slot.Status.Phase, Power: slot.Status.PowerState,
			KubeNode: slot.Spec.KubernetesNodeName}
		if g.Phase == "" {
			g.Phase, g.Power = v2.SlotOff, v2.PowerUnknown
		}
		if at := slot.Status.PowerStateSince; at != nil {
			g.Since = &at.Time
		}
		if claim := facts.NewestLive(p.claims[slot.Name]); claim != nil {
			g.Claim, g.AskedBy, g.Attempt = claim.Name, claim.Spec.RequestedBy, claim.Status.Attempt
		}
		for _, n := range noted {
			if meta.IsStatusConditionTrue(slot.Status.Conditions, n.kind) {
				g.Notes = append(g.Notes, n.word)
			}
		}
		if hold := facts.HoldOf(slot, now); hold.Held && !meta.IsStatusConditionTrue(slot.Status.Conditions, v2.ConditionHeld) {
			g.Notes = append(g.Notes, "held")
		}
		glances = append(glances, g)
	}
	return glances
}

// watch shows the status until it is told to stop.
func (s *session) watch() *cobra.Command {
	return &cobra.Command{
		Use: "watch", Short: "Show the pool, and show it again whenever something changes", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.follow(cmd.Context()) },
	}
}

// follow shows the status and follows the changes. The API server ends every watch after a while, and then there is another.
func (s *session) follow(ctx context.Context) error {
	for ctx.Err() == nil {
		changes, stop, err := s.changes(ctx)
		if err == nil {
			err = s.showUntil(ctx, changes)
			stop()
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// showUntil shows the status now and at each change, until there are no more.
func (s *session) showUntil(ctx context.Context, changes <-chan struct{}) error {
	for open := true; open; {
		p, err := s.load(ctx)
		if err != nil {
			return err
		}
		if s.out.terminal() {
			_, _ = fmt.Fprint(s.out, "\x1b[H\x1b[2J")
		}
		if err := s.printStatus(p); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case _, open = <-changes:
		}
	}
	return nil
}
